//===- Bind.cpp - turns initializers and graph inputs into variables, constants and arguments ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every dimension gets its extent here: fixed ones keep theirs, named ones get it from --dim, leading ones of
// data from --batch.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Onnx/Import.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::onnx_import;

static std::string typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

//===-- Initializers -----------------------------------------------------------===//

/// Whether the values are sinusoids of positions, [length, width]: the sines and cosines of 0 are in the
/// first row, and no value exceeds 1.
static bool isSinusoid(ArrayRef<int64_t> shape, ArrayRef<double> values) {
  if (shape.size() < 2 || shape[shape.size() - 2] < 2 || shape.back() < 2)
    return false;
  int64_t zeros = 0, ones = 0, width = shape.back();
  for (double v : values.take_front(size_t(width)))
    v == 0 ? ++zeros : v == 1 ? ++ones : 0;
  return zeros > 0 && ones > 0 && zeros + ones == width &&
         llvm::all_of(values, [](double v) { return std::abs(v) <= 1; }) &&
         llvm::any_of(values, [](double v) { return v != 0 && v != 1; });
}

/// Adds notes on what a file without torch's metadata cannot tell, but its values make likely.
void Import::noteSuspicious(const std::string &name, const HostTensor &tensor, size_t uses) {
  constexpr int64_t kLargest = int64_t(1) << 22; // the most elements that are examined
  if (tensor.size() < 2 || tensor.size() > kLargest)
    return;
  std::vector<double> values = tensor.doubles();
  if (uses > 1 && llvm::all_equal(values))
    note("exporters merge equal tensors, and this one has one value and several uses, which train as one "
         "(--untie=REGEX gives each its own)",
         name);
  const bool isZeroOrOne = llvm::all_of(values, [](double v) { return v == 0 || v == 1; }) && !llvm::all_equal(values);
  if (*llvm::min_element(values) <= -1e4 || isZeroOrOne)
    note("trained, though its values are those of a mask (--freeze=REGEX keeps them)", name);
  else if (isSinusoid(tensor.shape(), values))
    note("trained, though its values are those of a table of positions (--freeze=REGEX keeps them)", name);
}

/// Whether a name that torch's exporter wrote is a name of the module. Tensors that the exporter makes itself
/// are called "onnx::Add_12" or the like, by a number or by a node.
static bool isModuleName(StringRef name) {
  return !name.empty() && (llvm::isAlpha(name[0]) || name[0] == '_') && !name.contains("::");
}

void Import::bindInitializers() {
  std::string untrained;
  const bool named = current->proto.producer_name() == "pytorch" && !current->restored.known && !options.forwardOnly;
  for (auto &proto : *current->proto.mutable_graph()->mutable_initializer()) {
    const std::string &name = proto.name();
    const std::string shown = printable(name);
    try {
      if (name.empty())
        fail(current->name, "an initializer has no name");
      HostTensor tensor = current->tensor(context, proto, shown);
      Verdict verdict = roles.ofInitializer(name, tensor.element(), tensor.shape());
      anyFrozen |= verdict.role == Role::Frozen;
      anyTrained |= verdict.role == Role::Parameter;
      Entry entry;
      entry.type = tensor.type;
      TensorVerdict line{shown, typeText(tensor.type), "constant", verdict.why};
      if (verdict.role == Role::Parameter && !current->restored.known && !options.forwardOnly)
        noteSuspicious(shown, tensor, useCount[name]);
      if (verdict.role == Role::Constant && verdict.unusual && named && isModuleName(name))
        untrained += (untrained.empty() ? "'" : ", '") + shown + "'";
      const bool written = !options.forwardOnly && llvm::any_of(current->restored.written,
                                                                [&](const auto &pair) { return pair.second == name; });
      // A frozen parameter is a variable, however small it is: checkpoints have it.
      if (!written && verdict.role == Role::Constant) {
        entry.constant = std::move(tensor);
      } else {
        if (options.forwardOnly) // nothing changes it, so it may be a scale of Resize as well
          entry.constant = tensor;
        bool trained = verdict.role == Role::Parameter;
        line.role = trained ? "parameter" : "buffer";
        entry.variable = addVariable(name, trained ? train::Role::parameter : train::Role::buffer, tensor.type,
                                     tensor.attribute(shown));
      }
      report.tensors.push_back(std::move(line));
      define(name, std::move(entry));
    } catch (ImportError &error) {
      if (error.problem.node.empty())
        error.problem.node = shown;
      problem(error.problem);
      Entry poison;
      poison.poison = true;
      values.try_emplace(name, poison);
    }
  }
  if (!untrained.empty())
    report.notes.push_back("not trained, for parameters of torch modules rarely stand where these do "
                           "(--trainable=+REGEX trains them as well, --freeze=REGEX says that they "
                           "are constants): " +
                           untrained);
  for (const auto &sparse : current->proto.graph().sparse_initializer())
    problem({printable(sparse.values().name()), "", 0, "", "sparse initializers are not supported",
             "export dense weights"});
}

/// Reads the declared type of a graph input.
static Import::Input readInput(MLIRContext *context, const onnx::ValueInfoProto &info) {
  Import::Input input;
  input.name = info.name();
  const std::string shown = printable(info.name());
  if (info.name().empty())
    fail("graph", "a graph input has no name");
  if (!info.type().has_tensor_type())
    fail(shown, "this graph input is no tensor", "sequences, maps and optional values are not supported");
  const auto &type = info.type().tensor_type();
  input.element = elementType(context, type.elem_type());
  if (!input.element)
    fail(shown, "element type " + onnxTypeName(type.elem_type()) + " is not supported",
         "inputs are floats, integers or booleans: turn other data into numbers before the network");
  if (!type.has_shape())
    fail(shown, "this graph input has no shape", "export the model with input shapes; shapes are static in mpc");
  for (const auto &dim : type.shape().dim()) {
    Import::InputDim d;
    d.name = dim.dim_param();
    if (dim.has_dim_value() && dim.dim_value() != -1)
      d.value = dim.dim_value();
    if (d.value && *d.value < 0)
      fail(shown, "dimension " + std::to_string(input.dims.size()) + " is " + std::to_string(*d.value));
    input.dims.push_back(d);
  }
  return input;
}

/// The fixed dimensions; open ones are -1.
static Shape knownShape(const Import::Input &input) {
  Shape shape;
  for (const Import::InputDim &d : input.dims)
    shape.push_back(d.value.value_or(-1));
  return shape;
}

void Import::bindGivenConstants() {
  for (const auto &[name, data] : options.constants) {
    int64_t bytes = data.type.getNumElements() * elementBytes(data.type.getElementType());
    bool isInput = llvm::any_of(current->proto.graph().input(),
                                [&, &name = name](const auto &info) { return info.name() == name; });
    if (!isInput || values.count(name) || int64_t(data.bytes.size()) != bytes) {
      problem({printable(name), "", 0, "", "a constant is given for what is no graph input, or it is malformed", ""});
      continue;
    }
    Entry entry;
    entry.type = data.type;
    entry.constant = HostTensor{data.type, std::make_shared<const std::string>(data.bytes), false};
    report.tensors.push_back({printable(name), typeText(data.type), "constant", "value given"});
    values.emplace(name, std::move(entry));
  }
}

/// The value that the options give a named dimension.
static std::optional<int64_t> valueOf(const ImportOptions &options, const std::string &dim) {
  for (const auto *values : {&options.dims, &options.openDims})
    if (auto it = values->find(dim); it != values->end() && !dim.empty())
      return it->second;
  return std::nullopt;
}

void Import::findBatch(ArrayRef<Input> inputs) {
  if (options.batch && *options.batch < 1)
    problem({"--batch", "", 0, "", "a batch of " + std::to_string(*options.batch) + " is not possible",
             "give a positive number"});
  const Input *first = nullptr;
  for (const Input &input : inputs) {
    if (input.dims.empty() || roles.ofInput(input.name, input.element, knownShape(input), {}).role != Role::Data)
      continue;
    exportedBatch = input.dims[0].value;
    batchName = input.dims[0].name;
    first = &input;
    break;
  }
  chosenBatch = options.batch;
  batch = options.batch ? options.batch : exportedBatch;
  if (!batch)
    batch = valueOf(options, batchName);
  if (!batch && first && options.openBatch) {
    batch = chosenBatch = options.openBatch;
    report.assumed.push_back((llvm::Twine("--batch=") + llvm::Twine(*batch) + ": the leading dimension of '" +
                              printable(first->name) + "' is open")
                                 .str());
  } else if (!options.batch && exportedBatch && options.openBatch) {
    report.assumed.push_back((llvm::Twine("--batch=") + llvm::Twine(*exportedBatch) + ": as exported").str());
  }
  if (options.batch && exportedBatch && *options.batch != *exportedBatch)
    rebound = {*exportedBatch, *options.batch};
}

std::optional<int64_t> Import::extentOf(const Input &input, size_t i, bool isData) {
  const InputDim &dim = input.dims[i];
  if (dim.value)
    return isData && i == 0 && rebound && *dim.value == rebound->first ? rebound->second : *dim.value;
  const std::string name = printable(dim.name);
  if (std::optional<int64_t> value = valueOf(options, dim.name))
    return value;
  if (chosenBatch && isData && (i == 0 || (!name.empty() && dim.name == batchName)))
    return *chosenBatch;
  const std::string shown = printable(input.name), position = std::to_string(i);
  std::string hint =
      name.empty() ? "export the model with a fixed or a named dimension" : "bind it with --dim " + name + "=N";
  if (i == 0 && isData)
    hint = "bind it with --batch=N" + (name.empty() ? "" : " or --dim " + name + "=N");
  report.unboundDims.push_back(shown + "[" + position + "]" + (name.empty() ? "" : " (" + name + ")"));
  problem(
      {shown, "", 0, "", "dimension " + position + (name.empty() ? "" : " ('" + name + "')") + " has no value", hint});
  return std::nullopt;
}

void Import::bindInput(const Input &input) {
  const std::string shown = printable(input.name);
  Verdict verdict = roles.ofInput(input.name, input.element, knownShape(input), exportedBatch);
  anyFrozen |= verdict.role == Role::Frozen;
  anyTrained |= verdict.role == Role::Parameter;
  bool isData = verdict.role == Role::Data, bound = true;
  Shape shape;
  for (size_t i = 0; i < input.dims.size(); ++i) {
    std::optional<int64_t> extent = extentOf(input, i, isData);
    bound &= extent.has_value();
    shape.push_back(extent.value_or(0));
  }
  if (bound && !elementCount(shape)) {
    problem({shown, "", 0, "", "has a negative dimension or more than 2^33 elements",
             "take a smaller batch, or correct the shape of the input"});
    bound = false;
  }
  Entry entry;
  if (!bound) {
    entry.poison = true;
    values.try_emplace(input.name, entry);
    return;
  }
  entry.type = RankedTensorType::get(shape, input.element);
  TensorVerdict line{shown, typeText(entry.type), "data", verdict.why};
  if (isData) {
    NamedAttrList attributes;
    attributes.append(train::kNameAttr, builder.getStringAttr(input.name));
    if (!shape.empty() && batch && shape[0] == *batch)
      attributes.append(train::kBatchedAttr, builder.getUnitAttr());
    auto loc = NameLoc::get(builder.getStringAttr(shown));
    unsigned i = function.getNumArguments();
    LogicalResult inserted = function.insertArgument(i, entry.type, attributes.getDictionary(context), loc);
    assert(succeeded(inserted) && "a new argument fits");
    (void)inserted;
    entry.value = function.getArgument(i);
    entry.fromData = true;
  } else {
    bool trained = verdict.role == Role::Parameter;
    line.role = trained ? "parameter" : "buffer";
    entry.variable = addVariable(input.name, trained ? train::Role::parameter : train::Role::buffer, entry.type,
                                 Roles::initialValue(verdict, shape, options, context));
    note(trained ? "graph inputs are taken for parameters, initialised by --init=" + options.init
                 : "graph inputs are taken for running statistics",
         shown);
  }
  report.tensors.push_back(std::move(line));
  try {
    define(input.name, std::move(entry));
  } catch (ImportError &error) {
    error.problem.node = shown;
    problem(error.problem);
  }
}

void Import::bindInputs() {
  bindGivenConstants();
  std::vector<Input> inputs;
  std::set<std::string> dimNames;
  for (const auto &info : current->proto.graph().input()) {
    if (values.count(info.name()) && !info.name().empty())
      continue; // an initializer or an option gives its value
    try {
      inputs.push_back(readInput(context, info));
    } catch (ImportError &error) {
      problem(error.problem);
      Entry poison;
      poison.poison = true;
      values.try_emplace(info.name(), poison);
      continue;
    }
    for (const InputDim &dim : inputs.back().dims)
      if (!dim.name.empty())
        dimNames.insert(dim.name);
  }
  findBatch(inputs);
  for (const Input &input : inputs)
    bindInput(input);
  for (const auto &[name, value] : options.dims)
    if (!dimNames.count(name)) {
      std::string list = printable(llvm::join(dimNames, ", "));
      problem({"--dim " + printable(name), "", 0, "", "no input has a dimension of this name",
               list.empty() ? "the model has no named dimensions" : "the model's are: " + list});
    }
}

//===-- Patterns -----------------------------------------------------------------===//

void Import::checkPatterns() {
  std::string malformed; // Roles::analyse reports it
  auto named = [&](const std::string &pattern, function_ref<bool(const Entry &)> concerns) {
    llvm::Regex regex(pattern);
    return pattern.empty() || !regex.isValid(malformed) ||
           llvm::any_of(values, [&](const auto &value) { return concerns(value.second) && regex.match(value.first); });
  };
  auto refuse = [&](const char *option, const std::string &pattern, StringRef what, StringRef hint) {
    problem({option, "", 0, "", ("'" + llvm::Twine(printable(pattern)) + "' " + what).str(), hint.str()});
  };
  const char *const lists = "`mpc check` without the option lists the model's tensors";
  auto canBeTrained = [](const Entry &entry) {
    return entry.poison || (!entry.fromData && isa<FloatType>(entry.type.getElementType()));
  };
  // An initializer keeps its value, whether --params names it or not, so that models with and without values
  // can use the same pattern.
  if (!named(options.params, [](const Entry &) { return true; }))
    refuse("--params", options.params, "matches no graph input and no initializer", lists);
  bool trainable = named(StringRef(options.trainable).ltrim('+').str(), canBeTrained),
       freeze = named(options.freeze, canBeTrained);
  if (!trainable)
    refuse("--trainable", options.trainable, "matches no float initializer: there is nothing to train", lists);
  if (!freeze)
    refuse("--freeze", options.freeze, "matches no float initializer", lists);
  if (trainable && freeze && !options.freeze.empty() && anyFrozen && !anyTrained && !options.forwardOnly)
    refuse("--freeze", options.freeze, "freezes every parameter: there is nothing to train",
           "leave out what is to be trained; `mpc check` without the option lists it");
}
