#include "compiler/Import/Onnx/Import.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

static std::string typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

Import::Import(MLIRContext *context, const ImportOptions &options, ImportReport &report)
    : context(context), options(options), report(report), builder(context) {
  // Symbols that later stages take.
  symbols = {"forward", "main", "eval", "predict", "init", "rng.seed", "rng.step"};
}

void Import::problem(ImportProblem problem) { report.problems.push_back(std::move(problem)); }

std::string Import::takeDiagnostics() {
  std::string text = std::move(diagnostics);
  diagnostics.clear();
  // The op's own name means nothing to the user of an ONNX file.
  if (StringRef(text).starts_with("'graph.")) {
    size_t end = text.find("' op ");
    if (end != std::string::npos)
      text = text.substr(end + 5);
  }
  return text;
}

void Import::note(const std::string &text, const std::string &node) {
  auto [it, isNew] = noted.try_emplace(text, 0, node);
  ++it->second.first;
  if (isNew)
    noteOrder.push_back(text);
}

void Import::needConstant(const std::string &name) {
  for (const auto &input : current->proto.graph().input())
    if (input.name() == name && !llvm::is_contained(report.neededConstants, name))
      report.neededConstants.push_back(name);
}

//===-- Values -------------------------------------------------------------------------===//

void Import::define(const std::string &name, Entry entry) {
  if (name.empty())
    return;
  auto [it, isNew] = values.try_emplace(name, entry);
  if (isNew)
    return;
  if (it->second.poison) { // a failed node's outputs may be set once
    it->second = std::move(entry);
    return;
  }
  ImportError error;
  error.problem.why = "value '" + printable(name) + "' is made twice";
  error.problem.hint = "every value of an ONNX graph has one producer; export the model again";
  throw error;
}

Value Import::materialize(Entry &entry) {
  assert(!entry.poison && "users of poison are not converted");
  if (!entry.value) {
    if (!entry.variable.empty())
      entry.value = read(entry.variable);
    else
      entry.value = ConstantOp::create(builder, builder.getUnknownLoc(), entry.constant->attribute("constant"));
  }
  return entry.value;
}

Value Import::read(const std::string &variable) {
  Value &value = reads[variable];
  if (!value) {
    auto op = module.lookupSymbol<train::VariableOp>(variable);
    value = train::ReadOp::create(builder, op.getLoc(), op.getTensorType(), FlatSymbolRefAttr::get(context, variable));
  }
  return value;
}

//===-- Variables ------------------------------------------------------------------------===//

OpBuilder Import::variableBuilder() { return OpBuilder(function); } // before the function

std::string Import::symbolFor(const std::string &name, bool &renamed) {
  std::string shown = printable(name);
  std::string symbol = shown;
  for (int i = 0; !symbols.insert(symbol).second; ++i)
    symbol = shown + "_" + std::to_string(i);
  renamed = symbol != name;
  return symbol;
}

std::string Import::addVariable(const std::string &name, train::Role role, RankedTensorType type, Attribute init) {
  bool renamed;
  std::string symbol = symbolFor(name, renamed);
  OpBuilder b = variableBuilder();
  auto loc = NameLoc::get(StringAttr::get(context, symbol));
  auto op = train::VariableOp::create(b, loc, b.getStringAttr(symbol), train::RoleAttr::get(context, role),
                                      TypeAttr::get(type), init, FlatSymbolRefAttr(), FlatSymbolRefAttr());
  if (renamed)
    op->setAttr(train::kNameAttr, b.getStringAttr(name));
  return symbol;
}

std::string Import::ownStatistics(Entry &entry, Location loc) {
  if (entry.variable.empty() && !entry.constant)
    return "";
  if (entry.variable.empty())
    return addVariable("running/" + cast<NameLoc>(loc).getName().str(), train::Role::buffer, entry.type, entry.constant->attribute("running"));
  auto variable = module.lookupSymbol<train::VariableOp>(entry.variable);
  if (variable.getRole() != train::Role::buffer)
    return "";
  if (!assigned.count(entry.variable))
    return entry.variable;
  // Exporters merge equal tensors, so two normalisations may name one buffer; their statistics part ways.
  return addVariable(entry.variable + "@" + cast<NameLoc>(loc).getName().str(), train::Role::buffer, entry.type, variable.getInit());
}

void Import::assign(const std::string &variable, Value value, Location loc) {
  assert(!assigned.count(variable) && "ownStatistics gives each node its own");
  assigned.insert(variable);
  train::AssignOp::create(builder, loc, FlatSymbolRefAttr::get(context, variable), value);
}

static const char *const kSeed = "rng.seed", *const kStep = "rng.step";

Value Import::rngSeed() {
  if (!module.lookupSymbol(kSeed)) {
    OpBuilder b = variableBuilder();
    auto type = RankedTensorType::get({}, b.getI64Type());
    auto zero = DenseElementsAttr::get(type, b.getI64IntegerAttr(0));
    for (auto [name, role] : {std::pair(kSeed, train::Role::rng), std::pair(kStep, train::Role::counter)})
      train::VariableOp::create(b, b.getUnknownLoc(), b.getStringAttr(name), train::RoleAttr::get(context, role),
                                TypeAttr::get(type), zero, FlatSymbolRefAttr(), FlatSymbolRefAttr());
  }
  return read(kSeed);
}
Value Import::rngStep() {
  (void)rngSeed();
  return read(kStep);
}

void Import::markLabels(Value labels, int64_t classes, std::optional<int64_t> ignoreIndex) {
  // An ignored label may be any number; then the bound says nothing.
  if (ignoreIndex && *ignoreIndex >= classes)
    return;
  while (Operation *op = labels.getDefiningOp()) {
    if (!isa<CastOp, ReshapeOp, TransposeOp, SliceOp>(op))
      return;
    labels = op->getOperand(0);
  }
  auto argument = dyn_cast<BlockArgument>(labels);
  if (!argument || !isa<IntegerType>(elementOf(labels)))
    return;
  unsigned i = argument.getArgNumber();
  auto old = function.getArgAttrOfType<IntegerAttr>(i, train::kLabelsBelowAttr);
  if (!old || old.getInt() > classes)
    function.setArgAttr(i, train::kLabelsBelowAttr, builder.getI64IntegerAttr(classes));
}

//===-- Initializers and inputs -----------------------------------------------------------===//

void Import::bindInitializers() {
  for (auto &proto : *current->proto.mutable_graph()->mutable_initializer()) {
    const std::string &name = proto.name();
    const std::string shown = printable(name);
    try {
      if (name.empty())
        fail(current->name, "an initializer has no name");
      HostTensor tensor = current->tensor(context, proto, shown);
      Verdict verdict = roles.ofInitializer(name, tensor.element(), tensor.shape());
      Entry entry;
      entry.type = tensor.type;
      TensorVerdict line{shown, typeText(tensor.type), "constant", verdict.why};
      bool small = tensor.size() * elementBytes(tensor.element()) < 64;
      if (verdict.role == Role::Constant || (verdict.role == Role::Frozen && small)) {
        entry.constant = std::move(tensor);
      } else {
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
  for (const auto &sparse : current->proto.graph().sparse_initializer())
    problem({printable(sparse.values().name()), "", 0, "", "sparse initializers are not supported", "export dense weights"});
}

namespace {
struct InputDim {
  std::optional<int64_t> value;
  std::string name;
};
struct Input {
  std::string name;
  Type element;
  std::vector<InputDim> dims;
  bool ok = false;
};
} // namespace

/// Reads a graph input's declared type.
static Input readInput(MLIRContext *context, const onnx::ValueInfoProto &info) {
  Input input;
  input.name = info.name();
  const std::string shown = printable(info.name());
  if (info.name().empty())
    fail("graph", "a graph input has no name");
  if (!info.type().has_tensor_type())
    fail(shown, "this graph input is no tensor", "sequences, maps and optional values are not supported");
  const auto &type = info.type().tensor_type();
  input.element = elementType(context, type.elem_type());
  if (!input.element)
    fail(shown, "element type " + onnxTypeName(type.elem_type()) + " is not supported");
  if (!type.has_shape())
    fail(shown, "this graph input has no shape", "export the model with input shapes; shapes are static in mpc");
  for (const auto &dim : type.shape().dim()) {
    InputDim d;
    d.name = dim.dim_param();
    if (dim.has_dim_value() && dim.dim_value() != -1)
      d.value = dim.dim_value();
    if (d.value && *d.value < 0)
      fail(shown, "dimension " + std::to_string(input.dims.size()) + " is " + std::to_string(*d.value));
    input.dims.push_back(d);
  }
  input.ok = true;
  return input;
}

void Import::bindInputs() {
  std::vector<Input> inputs;
  for (const auto &[name, data] : options.constants) {
    Entry entry;
    entry.type = data.type;
    entry.constant = HostTensor{data.type, std::make_shared<const std::string>(data.bytes), false};
    bool isInput = llvm::any_of(current->proto.graph().input(), [&, &name = name](const auto &info) { return info.name() == name; });
    if (!isInput || values.count(name) || int64_t(data.bytes.size()) != data.type.getNumElements() * elementBytes(data.type.getElementType())) {
      problem({printable(name), "", 0, "", "a constant is given for what is no graph input, or it is malformed", ""});
      continue;
    }
    report.tensors.push_back({printable(name), typeText(data.type), "constant", "value given"});
    values.emplace(name, std::move(entry));
  }
  for (const auto &info : current->proto.graph().input()) {
    auto known = values.find(info.name());
    if (known != values.end() && !info.name().empty())
      continue; // an initializer or an option gives its value
    try {
      inputs.push_back(readInput(context, info));
    } catch (ImportError &error) {
      problem(error.problem);
      Entry poison;
      poison.poison = true;
      values.try_emplace(info.name(), poison);
    }
  }
  auto leadingShape = [](const Input &input) {
    Shape shape;
    for (const InputDim &d : input.dims)
      shape.push_back(d.value.value_or(-1));
    return shape;
  };
  // The batch is the leading dimension of the first data input.
  std::string batchName;
  for (const Input &input : inputs) {
    if (input.dims.empty() || roles.ofInput(input.name, input.element, leadingShape(input), {}).role != Role::Data)
      continue;
    fixedBatch = input.dims[0].value;
    batchName = input.dims[0].name;
    break;
  }
  std::optional<int64_t> batch = options.batch ? options.batch : fixedBatch;
  if (!options.batch && !fixedBatch && options.dims.count(batchName))
    batch = options.dims.at(batchName);
  if (options.batch && *options.batch < 1)
    problem({"--batch", "", 0, "", "a batch of " + std::to_string(*options.batch) + " is not possible", "give a positive number"});
  if (options.batch && fixedBatch && *options.batch != *fixedBatch)
    rebound = {*fixedBatch, *options.batch};

  std::set<std::string> knownDims;
  for (const Input &input : inputs) {
    const std::string shown = printable(input.name);
    Verdict verdict = roles.ofInput(input.name, input.element, leadingShape(input), fixedBatch);
    bool isData = verdict.role == Role::Data;
    Shape shape;
    bool bound = true;
    for (auto [i, dim] : llvm::enumerate(input.dims)) {
      if (!dim.name.empty())
        knownDims.insert(dim.name);
      if (dim.value) {
        shape.push_back(isData && i == 0 && rebound && *dim.value == rebound->first ? rebound->second : *dim.value);
      } else if (auto it = options.dims.find(dim.name); !dim.name.empty() && it != options.dims.end()) {
        shape.push_back(it->second);
      } else if (options.batch && isData && (i == 0 || (!dim.name.empty() && dim.name == batchName))) {
        shape.push_back(*options.batch);
      } else {
        bound = false;
        std::string text = shown + "[" + std::to_string(i) + "]" + (dim.name.empty() ? "" : " (" + printable(dim.name) + ")");
        report.unboundDims.push_back(text);
        problem({shown, "", 0, "", "dimension " + std::to_string(i) + (dim.name.empty() ? "" : " ('" + printable(dim.name) + "')") + " has no value",
                 i == 0 && isData ? "bind it with --batch=N" + (dim.name.empty() ? std::string() : " or --dim " + printable(dim.name) + "=N")
                 : dim.name.empty() ? "export the model with a fixed or a named dimension"
                                    : "bind it with --dim " + printable(dim.name) + "=N"});
      }
    }
    Entry entry;
    if (bound && !elementCount(shape)) {
      problem({shown, "", 0, "", "has a negative dimension or more than 2^33 elements", ""});
      bound = false;
    }
    if (!bound) {
      entry.poison = true;
      values.try_emplace(input.name, entry);
      continue;
    }
    entry.type = RankedTensorType::get(shape, input.element);
    TensorVerdict line{shown, typeText(entry.type), "data", verdict.why};
    if (isData) {
      unsigned i = function.getNumArguments();
      NamedAttrList attributes;
      attributes.append(train::kNameAttr, builder.getStringAttr(input.name));
      if (!shape.empty() && batch && shape[0] == *batch)
        attributes.append(train::kBatchedAttr, builder.getUnitAttr());
      auto loc = NameLoc::get(builder.getStringAttr(shown));
      if (failed(function.insertArgument(i, entry.type, attributes.getDictionary(context), loc))) {
        problem({shown, "", 0, "", "cannot be an argument", ""});
        continue;
      }
      entry.value = function.getArgument(i);
      entry.fromData = true;
    } else {
      bool trained = verdict.role == Role::Parameter;
      line.role = trained ? "parameter" : "buffer";
      entry.variable = addVariable(input.name, trained ? train::Role::parameter : train::Role::buffer, entry.type,
                                   Roles::initialValue(verdict, shape, options, context));
      note(std::string("graph inputs are taken for ") + (trained ? "parameters, initialised by --init=" + options.init : "running statistics"), shown);
    }
    report.tensors.push_back(std::move(line));
    try {
      define(input.name, std::move(entry));
    } catch (ImportError &error) {
      error.problem.node = shown;
      problem(error.problem);
    }
  }
  for (const auto &[name, value] : options.dims)
    if (!knownDims.count(name) && !inputs.empty()) {
      std::string list = llvm::join(knownDims, ", ");
      problem({"--dim " + name, "", 0, "", "no input has a dimension of this name",
               list.empty() ? "the model has no named dimensions" : "the model's are: " + printable(list)});
    }
}

//===-- Nodes --------------------------------------------------------------------------------===//

void Import::convert(onnx::NodeProto &proto, int64_t opset, const std::string &location, int64_t index) {
  auto poisonOutputs = [&] {
    for (const auto &output : proto.output()) {
      Entry poison;
      poison.poison = true;
      if (!output.empty())
        values.try_emplace(output, poison);
    }
  };
  const std::string op = printable(proto.op_type());
  ++report.opCount[op];
  try {
    if (!proto.domain().empty() && proto.domain() != "ai.onnx") {
      ImportError error;
      error.problem.why = "domain '" + printable(proto.domain()) + "' is not supported";
      error.problem.hint = "export with standard ONNX operators, or give the function's body in the model";
      throw error;
    }
    const OpRow *row = findOp(proto.op_type(), opset);
    if (!row) {
      ImportError error;
      const OpRow *other = findOpAnyVersion(proto.op_type());
      error.problem.why = other ? "is not supported at this opset" : "is not supported";
      error.problem.hint = other ? "supported from opset " + std::to_string(other->since) + " to " + std::to_string(other->until)
                                 : "docs/ops.md lists the supported operators";
      throw error;
    }
    std::vector<Entry *> inputs;
    for (const auto &input : proto.input()) {
      if (input.empty()) {
        inputs.push_back(nullptr);
        continue;
      }
      auto it = values.find(input);
      if (it == values.end()) {
        ImportError error;
        error.problem.why = "input '" + printable(input) + "' is made by no node, input or initializer";
        error.problem.hint = "the model is incomplete; export it again";
        throw error;
      }
      if (it->second.poison)
        return poisonOutputs();
      inputs.push_back(&it->second);
    }
    auto loc = NameLoc::get(StringAttr::get(context, location));
    Node node(*this, proto, opset, loc, index, std::move(inputs));
    diagnostics.clear();
    if (!fold(node))
      row->convert(node);
    node.checkAttributesAsked();
    for (size_t i = 0; i < node.numOutputs(); ++i)
      if (node.used(i) && !values.count(proto.output(int(i))))
        node.fail("output " + std::to_string(i) + " ('" + printable(proto.output(int(i))) + "') is not supported");
  } catch (ImportError &error) {
    if (error.problem.node.empty())
      error.problem.node = location;
    error.problem.op = op;
    error.problem.opset = opset;
    problem(error.problem);
    poisonOutputs();
  }
}

void Import::convertNodes(std::vector<FlatNode> &nodes) {
  for (FlatNode &node : nodes)
    convert(node.proto, node.opset, node.location, nodeIndex++);
}

std::vector<Entry> Import::inlineGraph(onnx::GraphProto &graph, int64_t opset, Location loc) {
  for (auto &initializer : *graph.mutable_initializer()) {
    Entry entry;
    entry.constant = current->tensor(context, initializer, printable(initializer.name()));
    entry.type = entry.constant->type;
    define(initializer.name(), std::move(entry));
  }
  std::vector<const onnx::NodeProto *> protos;
  for (const auto &node : graph.node())
    protos.push_back(&node);
  std::vector<size_t> order = topologicalOrder(protos);
  if (order.size() < protos.size())
    fail("", "the branch has a cycle");
  const std::string prefix = cast<NameLoc>(loc).getName().str() + "/";
  for (size_t i : order) {
    onnx::NodeProto &node = *graph.mutable_node(int(i));
    convert(node, opset, prefix + printable(node.name().empty() ? node.op_type() : node.name()), nodeIndex++);
  }
  std::vector<Entry> results;
  for (const auto &output : graph.output()) {
    auto it = values.find(output.name());
    if (it == values.end())
      fail("", "the branch's output '" + printable(output.name()) + "' is made by no node");
    results.push_back(it->second);
  }
  return results;
}

//===-- Outputs, and the whole -----------------------------------------------------------------===//

void Import::bindOutputs() {
  const auto &graph = current->proto.graph();
  if (graph.output_size() == 0)
    problem({current->name, "", 0, "", "the graph has no outputs", "export a model with outputs"});
  SmallVector<Value> results;
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  for (const auto &output : graph.output()) {
    auto it = values.find(output.name());
    if (it == values.end()) {
      problem({printable(output.name()), "", 0, "", "this graph output is made by no node", "the model is incomplete; export it again"});
      continue;
    }
    if (it->second.poison)
      continue;
    results.push_back(materialize(it->second));
    types.push_back(results.back().getType());
    attributes.push_back(builder.getDictionaryAttr({builder.getNamedAttr(train::kNameAttr, builder.getStringAttr(output.name())),
                                                    builder.getNamedAttr(train::kRoleAttr, builder.getStringAttr("output"))}));
  }
  func::ReturnOp::create(builder, function.getLoc(), results);
  function.setFunctionType(builder.getFunctionType(function.getArgumentTypes(), types));
  for (auto [i, dictionary] : llvm::enumerate(attributes))
    function.setResultAttrs(unsigned(i), dictionary);
}

OwningOpRef<ModuleOp> Import::run(Model &model) {
  // MLIR's own diagnostics become text of the problems.
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && diagnostics.size() < 1000) {
      if (!diagnostics.empty())
        diagnostics += "; ";
      diagnostics += diagnostic.str();
    }
    return success();
  });
  current = &model;
  auto loc = NameLoc::get(builder.getStringAttr(model.name));
  OwningOpRef<ModuleOp> owner = ModuleOp::create(builder, loc);
  module = *owner;
  builder.setInsertionPointToEnd(module.getBody());
  function = func::FuncOp::create(builder, loc, "forward", builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  if (options.init != "kaiming" && options.init != "xavier" && options.init != "normal")
    problem({"--init", "", 0, "", "'" + printable(options.init) + "' is no initialisation", "kaiming, xavier or normal"});
  for (const FlatNode &node : model.nodes) {
    std::vector<std::string> uses;
    collectUses(node.proto, uses);
    for (const std::string &use : uses)
      ++useCount[use];
  }
  for (const auto &output : model.proto.graph().output())
    ++useCount[output.name()];
  roles.analyse(model, options, report);
  bindInitializers();
  bindInputs();
  convertNodes(model.nodes);
  bindOutputs();
  for (const std::string &text : noteOrder) {
    auto [count, node] = noted[text];
    report.notes.push_back(text + ": " + (count == 1 ? "'" + node + "'" : std::to_string(count) + ", the first '" + node + "'"));
  }
  if (!report.ok())
    return {};
  diagnostics.clear();
  if (failed(verify(module))) {
    problem({model.name, "", 0, "", "the imported module is not valid: " + takeDiagnostics(), "this is a defect of mpc; please report it"});
    return {};
  }
  return owner;
}
