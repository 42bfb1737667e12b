// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Import.h"
#include "compiler/Import/Onnx/Counted.h"
#include "compiler/Import/Onnx/Torch/Metadata.h"
#include "compiler/Import/Onnx/TrainingForm.h"
#include "dialects/Train/IR/Names.h"
#include "dialects/Train/IR/Ranges.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include <set>
#include <utility>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

Import::Import(MLIRContext *context, const ImportOptions &options, ImportReport &report)
    : context(context), options(options), report(report), builder(context), stopGradient(options.stopGradient) {
  // Later stages use these symbols. The last is no tensor's name in a safetensors file, and checkpoints name tensors by
  // the symbols.
  symbols = {"forward", "main", "eval", "predict", "init", "rng.seed", "rng.step", "__metadata__"};
}

void Import::problem(ImportProblem problem) {
  if (problem.node.empty()) // the problem is about a tensor or value without a name
    problem.node = current->name;
  report.problems.push_back(std::move(problem));
}

std::string Import::takeDiagnostics() {
  std::string text = std::move(diagnostics);
  diagnostics.clear();
  // The graph op's own name means nothing to the user of an ONNX file.
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

void Import::noteKept(const std::string &op, Location node) {
  if (!options.forwardOnly && options.mode == TrainingMode::Auto)
    note(op + " stays in its inference form, since the file was exported for training (--mode=train lets it train)",
         node);
}

void Import::needConstants(Value value) {
  llvm::SetVector<Value> from;
  from.insert(value);
  for (size_t i = 0; i < from.size(); ++i) {
    if (Operation *op = from[i].getDefiningOp()) {
      from.insert(op->operand_begin(), op->operand_end());
    } else if (auto argument = dyn_cast<BlockArgument>(from[i]); argument && argument.getOwner() == &function.front()) {
      auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), train::kNameAttr);
      if (name && !llvm::is_contained(report.neededConstants, name.str()))
        report.neededConstants.push_back(name.str());
    }
  }
}

//===-- Values -------------------------------------------------------------------------===//

void Import::define(const std::string &name, Entry entry) {
  if (name.empty())
    return;
  auto [it, isNew] = values.try_emplace(name, entry);
  if (isNew)
    return;
  if (it->second.poison) { // the outputs of a failed node may be set once
    it->second = std::move(entry);
    return;
  }
  ImportError error;
  error.problem.why = "value '" + printable(name) + "' is made twice";
  error.problem.hint = current->proto.producer_name() == "pytorch"
                           ? "torch's exporter gives a value the name of a parameter or buffer; export the module with "
                             "tools/torch/export.py, or rename the parameter"
                           : "every value of an ONNX graph has one producer; export the model again";
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

std::string Import::symbolFor(const std::string &name) {
  std::string symbol = name;
  for (int i = 0; !symbols.insert(symbol).second; ++i)
    symbol = name + "_" + std::to_string(i);
  return symbol;
}

static train::VariableOp createVariable(OpBuilder b, const std::string &symbol, const std::string &shown,
                                        train::Role role, Type type, Attribute init) {
  return train::VariableOp::create(b, NameLoc::get(b.getStringAttr(shown)), b.getStringAttr(symbol),
                                   train::RoleAttr::get(b.getContext(), role), TypeAttr::get(type), init,
                                   FlatSymbolRefAttr(), FlatSymbolRefAttr());
}

std::string Import::addVariable(const std::string &name, train::Role role, RankedTensorType type, Attribute init) {
  std::string shown = printable(name), symbol = symbolFor(shown);
  auto op = createVariable(variableBuilder(), symbol, shown, role, type, init);
  if (symbol != shown)
    op->setAttr(train::kNameAttr, builder.getStringAttr(shown));
  return symbol;
}

std::string Import::addBuffer(const std::string &name, const std::string &value, Node &node, size_t input,
                              Attribute init) {
  std::string symbol = symbolFor(name);
  auto op = createVariable(variableBuilder(), symbol, symbol, train::Role::buffer, node.type(input), init);
  op->setAttr(train::kNameAttr, builder.getStringAttr(value));
  op->setAttr(train::kInputAttr, builder.getI64IntegerAttr(int64_t(input)));
  // Names of nodes are optional and may repeat, but a value has one producer.
  auto first = llvm::find_if(node.proto.output(), [](const std::string &output) { return !output.empty(); });
  bool found = !inFunction && first != node.proto.output().end();
  op->setAttr(train::kNodeAttr, builder.getStringAttr(found ? printable(*first) : ""));
  if (!found)
    note("running statistics of a normalisation in a function have no place in the model: it trains, and mpc "
         "export will refuse what was trained",
         node.loc);
  return symbol;
}

std::string Import::ownStatistics(Node &node, size_t input) {
  Entry &entry = node.entry(input);
  const std::string shown = cast<NameLoc>(node.loc).getName().str();
  if (entry.variable.empty() && entry.constant)
    return addBuffer("running/" + shown, printable(node.proto.input(int(input))), node, input,
                     entry.constant->attribute("running"));
  if (entry.variable.empty())
    return "";
  auto variable = module.lookupSymbol<train::VariableOp>(entry.variable);
  if (variable.getRole() != train::Role::buffer)
    return "";
  if (!assigned.count(entry.variable) ||
      current->restored.known) // in the second case the module itself is called twice
    return entry.variable;
  // Exporters merge equal tensors, so two normalisations may name one buffer; but their statistics become different.
  return addBuffer(entry.variable + "@" + shown, train::userName(variable).str(), node, input, variable.getInit());
}

void Import::assign(const std::string &variable, Value value, Location loc) {
  train::AssignOp &op = assigned[variable];
  if (op)
    op.erase();
  op = train::AssignOp::create(builder, loc, FlatSymbolRefAttr::get(context, variable), value);
}

void Import::dropAssignments(Operation *within) {
  std::erase_if(assigned, [&](auto &known) { return within->isProperAncestor(known.second); });
}

Value Import::latest(const std::string &variable) {
  auto it = assigned.find(variable);
  return it == assigned.end() ? read(variable) : it->second.getValue();
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

/// The part [from, to) of a tensor; all of it where they are empty.
struct Import::Part {
  Shape from, to;
};

bool Import::boundData(Value x, Part part, llvm::function_ref<void(NamedAttrList &)> bound) {
  while (Operation *op = x.getDefiningOp()) {
    // A cast to a narrow type (such as a truth value) is not a view, since it gives other numbers.
    bool cast = isa<CastOp>(op) && (elementOf(x).isInteger(32) || elementOf(x).isInteger(64));
    auto slice = dyn_cast<SliceOp>(op);
    if (slice && llvm::all_of(slice.getStrides(), [](int64_t stride) { return stride == 1; })) {
      bool first = part.from.empty();
      part.from.resize(slice.getStarts().size());
      if (first)
        part.to.assign(slice.getSizes().begin(), slice.getSizes().end());
      for (auto [d, start] : llvm::enumerate(slice.getStarts())) {
        part.from[d] += start;
        part.to[d] += start;
      }
    } else if (!cast && (!rearranges(op) || !part.from.empty())) {
      return false; // this includes ops that move the dimensions of which a part was taken
    }
    x = op->getOperand(0);
  }
  auto argument = dyn_cast<BlockArgument>(x);
  if (!argument || !isa<IntegerType>(elementOf(x)))
    return false;
  // A bound of each slice that a scan reads is a bound of the whole tensor.
  if (auto scan = dyn_cast<ScanOp>(argument.getOwner()->getParentOp()))
    return scan.isStacked(argument.getArgNumber()) && part.from.empty() &&
           boundData(scan.getOperand(argument.getArgNumber()), {}, bound);
  ArrayRef<int64_t> from = part.from, to = part.to;
  if (!from.empty() && to[0] - from[0] != shapeOf(x)[0])
    return false; // data are checked before they are divided into batches, so the part must be the same for all samples
  NamedAttrList attributes(function.getArgAttrDict(argument.getArgNumber()));
  if (from.empty())
    bound(attributes);
  else
    train::boundPart(attributes, context, from.drop_front(), to.drop_front(), bound);
  function.setArgAttrs(argument.getArgNumber(), attributes);
  return true;
}

void Import::markLabels(Value labels, int64_t classes, std::optional<int64_t> ignoreIndex) {
  // Language models shift labels: they append a label that does not count, and drop the first.
  Value shifted = labels;
  while (Operation *op = shifted.getDefiningOp()) {
    if (auto pad = dyn_cast<PadOp>(op); pad && ignoreIndex && isa<IntegerType>(elementOf(shifted)) &&
                                        pad.getValue().convertToDouble() == double(*ignoreIndex))
      return markLabels(pad.getX(), classes,
                        ignoreIndex); // this covers all labels that may be read, since the dropped ones are labels too
    if (!isa<SliceOp, ReshapeOp, CastOp>(op))
      break;
    shifted = op->getOperand(0);
  }
  boundData(labels, {},
            [&](NamedAttrList &attributes) { train::boundLabels(attributes, context, classes, ignoreIndex); });
}

/// Whether data determine the values of indices. The result of ArgMax is excluded, since it is an index of
/// ArgMax's operand.
static bool comesFromData(Value indices) {
  llvm::SmallPtrSet<Value, 16> seen;
  SmallVector<Value> todo = {indices};
  while (!todo.empty()) {
    Value x = todo.pop_back_val();
    if (!seen.insert(x).second)
      continue;
    if (isa<BlockArgument>(x))
      return true;
    if (Operation *op = x.getDefiningOp(); !isa<ArgMaxOp, CompareOp>(op))
      llvm::append_range(todo, op->getOperands());
  }
  return false;
}

/// Returns the number of iterations if the indices are the numbers of a loop's iterations.
static std::optional<int64_t> iterationsOf(Value indices) {
  while (Operation *op = indices.getDefiningOp()) {
    if (!isa<CastOp>(op) && !rearranges(op))
      return std::nullopt;
    indices = op->getOperand(0);
  }
  auto argument = cast<BlockArgument>(indices);
  auto scan = dyn_cast<ScanOp>(argument.getOwner()->getParentOp());
  if (!scan || !scan.isStacked(argument.getArgNumber()))
    return std::nullopt;
  auto iota = scan.getOperand(argument.getArgNumber()).getDefiningOp<IotaOp>();
  return iota && typeOf(iota).getRank() == 1 ? std::optional<int64_t>(scan.getTrips()) : std::nullopt;
}

static const char *const kUnchecked = "indices that are computed from data cannot be checked beforehand; one "
                                      "that is out of range takes another element";

void Import::markIndices(Value indices, int64_t extent, Location node) {
  if (std::optional<int64_t> iterations = iterationsOf(indices)) {
    if (*iterations <= extent)
      return;
    ImportError error;
    error.problem.why = "the loop around it has " + std::to_string(*iterations) +
                        " iterations, whose numbers it takes as indices of " + std::to_string(extent) + " elements";
    error.problem.hint = "repeat as often as there are elements";
    throw error;
  }
  auto bound = [&](NamedAttrList &attributes) { train::boundIndices(attributes, context, extent); };
  if (!boundData(indices, {}, bound) && comesFromData(indices))
    note(kUnchecked, node);
}

void Import::markLengths(Value lengths, int64_t extent, Location node) {
  auto bound = [&](NamedAttrList &attributes) { train::boundLengths(attributes, context, extent); };
  if (!boundData(lengths, {}, bound) && comesFromData(lengths))
    note("lengths that are computed from data cannot be checked beforehand; one beyond the last element counts as all "
         "elements, a negative one as none",
         node);
}

void Import::markIndices(Value indices, ArrayRef<int64_t> extents, Location node) {
  if (llvm::all_equal(extents))
    return markIndices(indices, extents.front(), node);
  bool bounded = true;
  for (auto [j, extent] : llvm::enumerate(extents)) {
    Part part{Shape(shapeOf(indices).size(), 0), Shape(shapeOf(indices))};
    part.from.back() = int64_t(j);
    part.to.back() = int64_t(j) + 1;
    bounded &= boundData(indices, part, [&, extent = extent](NamedAttrList &attributes) {
      train::boundIndices(attributes, context, extent);
    });
  }
  if (bounded)
    return;
  // The columns are not parts of the data's samples, so no index may exceed the largest extent.
  int64_t largest = *llvm::max_element(extents);
  boundData(indices, {}, [&](NamedAttrList &attributes) { train::boundIndices(attributes, context, largest); });
  if (comesFromData(indices))
    note(kUnchecked, node);
}

//===-- Nodes --------------------------------------------------------------------------------===//

/// Refuses inputs or outputs beyond the op's last one, which no converter would read. Empty names at the end
/// do not count.
static void checkCount(const char *what, const google::protobuf::RepeatedPtrField<std::string> &names, int most) {
  int count = names.size();
  while (count > 0 && names.Get(count - 1).empty())
    --count;
  if (count <= most)
    return;
  ImportError error;
  error.problem.why =
      "is given " + std::to_string(count) + " " + what + "; at this opset it has at most " + std::to_string(most);
  error.problem.hint = "the model is not valid ONNX; export it again";
  throw error;
}

void Import::convert(onnx::NodeProto &proto, int64_t opset, const std::string &location, int64_t index) {
  auto loc = NameLoc::get(StringAttr::get(context, location));
  const std::string op = printable(proto.op_type());
  ++report.opCount[op];
  try {
    const OpRow *row = rowOf(proto.domain(), proto.op_type(), opset);
    if (!row && !proto.domain().empty() && proto.domain() != "ai.onnx") {
      ImportError error;
      error.problem.why = "domain '" + printable(proto.domain()) + "' is not supported";
      error.problem.hint = "export with standard ONNX operators, or give the function's body in the model";
      throw error;
    }
    if (!row) {
      ImportError error;
      const OpRow *other = findOpAnyVersion(proto.op_type());
      error.problem.why = other ? "is not supported at this opset" : "is not supported";
      error.problem.hint =
          other ? "supported from opset " + std::to_string(other->since) + " to " + std::to_string(other->until)
                : insteadOf(proto.op_type()).str();
      if (error.problem.hint.empty())
        error.problem.hint = "docs/ops.md lists the supported operators";
      throw error;
    }
    checkCount("inputs", proto.input(), row->inputs.at(opset));
    checkCount("outputs", proto.output(), row->outputs.at(opset));
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
        return standIn(proto, loc);
      inputs.push_back(&it->second);
    }
    Node node(*this, proto, opset, loc, index, std::move(inputs));
    diagnostics.clear();
    const bool shape = proto.op_type() == "Expand" && node.has(1) && node.inputs[1]->shapeOf;
    if (shape || llvm::any_of(node.inputs, [](const Entry *e) { return e && e->counted; }))
      convertCounted(node, *row);
    else if (!fold(node))
      row->convert(node);
    node.checkAttributesAsked();
    for (size_t i = 0; i < node.numOutputs(); ++i)
      if (node.used(i) && !values.count(proto.output(int(i))))
        node.limit("output " + std::to_string(i) + " ('" + printable(proto.output(int(i))) + "') is not supported",
                   "this is a limit of mpc: export a module that does not use this output");
    finishOutputs(proto, loc);
  } catch (ImportError &error) {
    unsupported.push_back(error.problem);
  } catch (FollowsFailure &) {
  }
  for (ImportProblem &found : std::exchange(unsupported, {})) {
    if (found.node.empty())
      found.node = location;
    found.op = op;
    found.opset = opset;
    problem(found);
  }
  standIn(proto, loc); // for results that the conversion has not set
}

bool Import::stopsGradient(const std::string &value) {
  bool matched = !options.stopGradient.empty() && stopGradient.match(value);
  anyStopped |= matched;
  return matched || current->restored.stopped.count(value) != 0;
}

void Import::finishOutputs(const onnx::NodeProto &proto, Location loc) {
  if (options.forwardOnly)
    return;
  const bool detached = torch::Metadata::stopsGradient(proto);
  for (const std::string &name : proto.output()) {
    auto it = values.find(name);
    if (name.empty() || it == values.end() || it->second.poison || it->second.sequence)
      continue;
    Entry &entry = it->second;
    const bool isFloat = isa<FloatType>(entry.type.getElementType());
    if ((stopsGradient(name) || detached) && isFloat && !(entry.constant && entry.variable.empty())) {
      entry.value = StopGradientOp::create(builder, loc, materialize(entry));
      entry.variable.clear();
      entry.constant.reset();
      note("the gradient ends at this value", loc);
    }
    auto written = current->restored.written.find(name);
    if (written == current->restored.written.end())
      continue;
    auto buffer = values.find(written->second);
    if (buffer == values.end() || buffer->second.variable.empty())
      continue;
    const std::string &variable = buffer->second.variable;
    auto op = module.lookupSymbol<train::VariableOp>(variable);
    auto type = op.getTensorType();
    if (op.getRole() == train::Role::parameter) {
      ImportError error;
      error.problem.why = "forward updates '" + printable(written->second) + "', so the optimizer cannot";
      error.problem.hint = "leave it out of --trainable, or export a module that does not change its parameters";
      throw error;
    }
    if (type != entry.type) {
      ImportError error;
      error.problem.why =
          "its result is written to the buffer '" + printable(written->second) + "', which has another type or shape";
      throw error;
    }
    // The evaluation form puts the stored value in the place of what stands behind the barrier.
    Value next = BarrierOp::create(builder, loc, entry.type, materialize(entry), ValueRange(),
                                   builder.getI64IntegerAttr(barriers++));
    entry.value = next;
    entry.variable.clear();
    entry.constant.reset();
    assign(variable, next, loc);
    note("each step updates a buffer of the torch module; eval and predict use its stored value",
         printable(written->second));
  }
}

void Import::convertNodes(std::vector<FlatNode> &nodes) {
  for (FlatNode &node : nodes) {
    inFunction = node.inFunction;
    convert(node.proto, node.opset, node.location, nodeIndex++);
  }
}

std::vector<Entry> Import::inlineGraph(onnx::GraphProto &graph, int64_t opset, Location loc, ArrayRef<Entry> inputs) {
  std::vector<const onnx::NodeProto *> protos;
  for (const auto &node : graph.node())
    protos.push_back(&node);
  std::vector<size_t> order = topologicalOrder(protos);
  if (order.size() < protos.size())
    fail("", "the branch has a cycle");

  // The branch's own values end with it: other branches may use the same names, but values around it may not
  // have them.
  std::set<std::string> own;
  for (const auto &initializer : graph.initializer())
    own.insert(initializer.name());
  for (const auto &input : graph.input())
    own.insert(input.name());
  for (const auto &node : graph.node())
    own.insert(node.output().begin(), node.output().end());
  own.erase("");
  for (const std::string &name : own)
    if (values.count(name))
      fail("", "the branch makes value '" + printable(name) + "', which the graph around it has",
           "names in a branch differ from those outside; export the model again");
  std::vector<std::string> uses;
  for (const auto &node : graph.node())
    collectUses(node, uses);
  for (const auto &output : graph.output())
    uses.push_back(output.name());
  llvm::erase_if(uses, [&](const std::string &use) { return !own.count(use); });
  for (const std::string &use : uses)
    ++useCount[use];
  llvm::scope_exit leave([&] {
    for (const std::string &name : own)
      values.erase(name);
    for (const std::string &use : uses)
      if (auto it = useCount.find(use); --it->second == 0)
        useCount.erase(it);
  });

  for (auto [input, entry] : llvm::zip(graph.input(), inputs))
    define(input.name(), entry);
  for (auto &initializer : *graph.mutable_initializer()) {
    Entry entry;
    entry.constant = current->tensor(context, initializer, printable(initializer.name()));
    entry.type = entry.constant->type;
    define(initializer.name(), std::move(entry));
  }
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

/// Adds a note where the file states another shape for an output than its nodes make: another program may read the
/// file in another way.
static void noteOtherShape(const onnx::ValueInfoProto &output, ArrayRef<int64_t> made, ImportReport &report) {
  if (!output.type().has_tensor_type() || !output.type().tensor_type().has_shape())
    return;
  const auto &dims = output.type().tensor_type().shape().dim();
  bool same = size_t(dims.size()) == made.size();
  for (int i = 0; same && i < dims.size(); ++i)
    same = !dims[i].has_dim_value() || dims[i].dim_value() == made[size_t(i)];
  if (same)
    return;
  std::string stated;
  for (const auto &dim : dims)
    stated += (stated.empty() ? "" : ",") + (dim.has_dim_value()       ? std::to_string(dim.dim_value())
                                             : dim.dim_param().empty() ? "?"
                                                                       : printable(dim.dim_param()));
  report.notes.push_back("the file states the shape [" + stated + "] for output '" + printable(output.name()) +
                         "', but its nodes make [" +
                         llvm::join(llvm::map_range(made, [](int64_t d) { return std::to_string(d); }), ",") + "]");
}

bool Import::countsSamples(const onnx::ValueInfoProto &output, ArrayRef<int64_t> made) const {
  const auto &dims = output.type().tensor_type().shape().dim();
  if (batchName.empty() || !batch || size_t(dims.size()) != made.size() || made.empty() || made[0] != *batch)
    return false;
  auto isBatch = [&](const auto &dim) { return dim.dim_param() == batchName; };
  return isBatch(dims[0]) && llvm::count_if(dims, isBatch) == 1;
}

void Import::bindOutputs() {
  const auto &graph = current->proto.graph();
  if (graph.output_size() == 0)
    problem({current->name, "", 0, "", "the graph has no outputs", "export a model with outputs"});
  SmallVector<Value> results;
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  std::set<std::string> names;
  std::vector<std::pair<std::string, Value>> counts; // of the outputs whose number of rows the data say
  for (const auto &output : graph.output()) {
    auto it = values.find(output.name());
    if (output.name().empty()) {
      outputsAreWhole = false;
      problem({current->name, "", 0, "", "graph output " + std::to_string(names.size()) + " has no name",
               "give each output the name of a value"});
      continue;
    }
    if (!names.insert(output.name()).second) {
      problem({printable(output.name()), "", 0, "", "this graph output is named twice",
               "give each output a name of its own"});
      continue;
    }
    if (it == values.end()) {
      outputsAreWhole = false;
      problem({printable(output.name()), "", 0, "", "this graph output is made by no node",
               "the model is incomplete; export it again"});
      continue;
    }
    if (it->second.poison) {
      outputsAreWhole = false;
      continue;
    }
    if (it->second.sequence) {
      outputsAreWhole = false;
      problem({printable(output.name()), "", 0, "", "this graph output is a sequence of tensors",
               "give its elements out, each under a name of its own (SequenceAt)"});
      continue;
    }
    results.push_back(materialize(it->second));
    if (it->second.counted) {
      if (!options.forwardOnly) {
        outputsAreWhole = false;
        problem({printable(output.name()), "", 0, "", "this graph output has as many rows as the data say",
                 "leave it out of the model, or give out a number or a fixed number of rows: a sum, a mean, a mask"});
        results.pop_back();
        continue;
      }
      std::string count = output.name() + ".count";
      while (values.count(count))
        count = "_" + count;
      counts.push_back({count, it->second.counted->count});
      report.notes.push_back("the data say how many rows output '" + printable(output.name()) + "' has: '" +
                             printable(counts.back().first) +
                             "' is their number, and the rows behind them mean nothing");
    }
    if (!rebound) // the file states shapes for the batch that it was exported with
      noteOtherShape(output, shapeOf(results.back()), report);
    types.push_back(results.back().getType());
    NamedAttrList stated;
    stated.set(train::kNameAttr, builder.getStringAttr(output.name()));
    stated.set(train::kRoleAttr, builder.getStringAttr("output"));
    if (countsSamples(output, shapeOf(results.back())))
      stated.set(train::kBatchedAttr, builder.getUnitAttr());
    attributes.push_back(stated.getDictionary(context));
  }
  for (auto &[name, count] : counts) {
    results.push_back(count);
    types.push_back(count.getType());
    attributes.push_back(
        builder.getDictionaryAttr({builder.getNamedAttr(train::kNameAttr, builder.getStringAttr(name)),
                                   builder.getNamedAttr(train::kRoleAttr, builder.getStringAttr("output"))}));
  }
  func::ReturnOp::create(builder, function.getLoc(), results);
  function.setFunctionType(builder.getFunctionType(function.getArgumentTypes(), types));
  for (auto [i, dictionary] : llvm::enumerate(attributes))
    function.setResultAttrs(unsigned(i), dictionary);
}

void Import::recordValues() {
  for (const FlatNode &node : current->nodes)
    for (const std::string &name : node.proto.output())
      if (auto it = values.find(name); it != values.end() && it->second.value)
        report.values.push_back({name, node.location, printable(node.proto.op_type()), it->second.value});
}

OwningOpRef<ModuleOp> Import::run(Model &model) {
  // MLIR's own diagnostics are collected as text for the problems.
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
    problem(
        {"--init", "", 0, "", "'" + printable(options.init) + "' is no initialisation", "kaiming, xavier or normal"});
  for (const FlatNode &node : model.nodes) {
    std::vector<std::string> uses;
    collectUses(node.proto, uses);
    for (const std::string &use : uses)
      ++useCount[use];
  }
  for (const auto &output : model.proto.graph().output())
    ++useCount[output.name()];
  if (!options.forwardOnly)
    modeOfInference = options.mode != TrainingMode::Auto ? options.mode
                      : exportedForTraining(model)       ? TrainingMode::AsExported
                                                         : TrainingMode::Train;
  roles.analyse(model, options, report);
  collectStatedTypes();
  bindInitializers();
  bindInputs();
  checkPatterns();
  convertNodes(model.nodes);
  if (std::string malformed; !options.stopGradient.empty() && stopGradient.isValid(malformed) && !anyStopped)
    problem({"--stop-gradient", "", 0, "", "'" + printable(options.stopGradient) + "' matches no value of a node",
             "the names are those of the nodes' outputs; a parameter is kept as it is with --freeze"});
  bindOutputs();
  if (options.recordValues)
    recordValues();
  for (const std::string &text : noteOrder) {
    auto [count, node] = noted[text];
    report.notes.push_back(text + ": " +
                           (count == 1 ? "'" + node + "'" : std::to_string(count) + ", the first '" + node + "'"));
  }
  if (!report.ok() && !(options.keepGoing && outputsAreWhole && succeeded(verify(module))))
    return {};
  diagnostics.clear();
  if (report.ok() && failed(verify(module))) {
    problem({model.name, "", 0, "", "the imported module is not valid: " + takeDiagnostics(),
             "this is a defect of mpc; please report it"});
    return {};
  }
  return owner;
}
