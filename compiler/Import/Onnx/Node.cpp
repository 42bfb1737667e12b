// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Node.h"
#include "compiler/Import/Onnx/Import.h"
#include "mlir/IR/Verifier.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

Node::Node(Import &import, onnx::NodeProto &proto, int64_t opset, Location loc, int64_t index,
           std::vector<Entry *> inputs)
    : proto(proto), opset(opset), loc(loc), index(index), b(import.builder), context(import.context), import(import),
      inputs(std::move(inputs)) {}

void Node::fail(const Twine &why, const Twine &hint, const Twine &attribute) {
  ImportError error;
  error.problem.why = why.str();
  error.problem.hint = hint.str();
  error.problem.attribute = attribute.str();
  throw error; // the importer adds node, op and opset
}

static const char *const kLimitHint =
    "this is a limit of mpc; compute the same in the module with other ops (docs/ops.md lists them)";

void Node::limit(const Twine &why, const Twine &hint, const Twine &attribute) {
  const std::string own = hint.str();
  fail(why, own.empty() ? Twine(kLimitHint) : Twine(own), attribute);
}

void Node::unsupported(const Twine &why, const Twine &hint, const Twine &attribute) {
  ImportProblem problem;
  problem.attribute = attribute.str();
  problem.why = why.str();
  problem.hint = hint.str();
  if (problem.hint.empty())
    problem.hint = kLimitHint;
  auto same = [&](const ImportProblem &other) { return other.why == problem.why; };
  if (llvm::none_of(import.unsupported, same))
    import.unsupported.push_back(problem);
}

void Node::failWithDiagnostics() {
  std::string text = import.takeDiagnostics();
  if (import.rebound)
    fail(text.empty() ? "its operands do not fit together" : text,
         "--batch changed the batch from " + Twine(import.rebound->first) +
             "; a constant of this node or before it may hold the old one");
  fail(text.empty() ? "its operands do not fit together" : text, "check the shapes of its inputs");
}

//===-- Inputs ------------------------------------------------------------------------===//

Entry &Node::entry(size_t i) {
  if (!has(i))
    fail("input " + Twine(i) + " is missing");
  if (isSequence(i))
    fail("input " + Twine(i) + " is a sequence, not a tensor",
         "take its elements with SequenceAt, or join them with ConcatFromSequence");
  return *inputs[i];
}

const std::vector<Entry> &Node::sequence(size_t i) {
  if (!has(i))
    fail("input " + Twine(i) + " is missing");
  if (!isSequence(i))
    fail("input " + Twine(i) + " is a tensor, not a sequence");
  return *inputs[i]->sequence;
}

void Node::replaceInput(size_t i, Entry entry) { inputs[i] = &replaced.emplace_back(std::move(entry)); }

Value Node::in(size_t i) { return import.materialize(entry(i)); }

Value Node::floatIn(size_t i) {
  if (!isa<FloatType>(element(i))) {
    std::string text;
    llvm::raw_string_ostream(text) << element(i);
    limit("input " + Twine(i) + " is " + text + "; only floats are supported",
          "cast it to a float type before the node");
  }
  return in(i);
}

const HostTensor &Node::constant(size_t i, StringRef what) {
  Entry &e = entry(i);
  if (!e.constant && e.value)
    import.needConstants(e.value);
  if (!e.constant)
    fail(Twine(what) + " (input " + Twine(i) + ", '" + printable(proto.input(int(i))) +
             "') is not known at compile time",
         e.variable.empty() ? "shapes are static in mpc: make it a constant of the model"
                            : "it is a trained parameter: keep it as it is with --freeze",
         what);
  return *e.constant;
}

Shape Node::constantInts(size_t i, StringRef what) {
  const HostTensor &t = constant(i, what);
  if (isa<FloatType>(t.element()))
    fail(Twine(what) + " (input " + Twine(i) + ") must be integers", "", what);
  if (t.type.getRank() > 1)
    fail(Twine(what) + " (input " + Twine(i) + ") must be a list", "", what);
  if (t.size() > 1 << 20)
    fail(Twine(what) + " (input " + Twine(i) + ") has " + Twine(t.size()) + " elements", "", what);
  std::vector<int64_t> values = t.ints();
  return Shape(values.begin(), values.end());
}

double Node::constantNumber(size_t i, StringRef what) {
  const HostTensor &t = constant(i, what);
  if (t.size() != 1)
    fail(Twine(what) + " (input " + Twine(i) + ") must be one number, not " + Twine(t.size()), "", what);
  return t.doubles()[0];
}

int64_t Node::constantInt(size_t i, StringRef what) {
  double value = constantNumber(i, what);
  const HostTensor &t = constant(i, what);
  if (!isa<FloatType>(t.element()))
    return t.ints()[0];
  if (!(std::abs(value) <= 0x1p53) || value != std::trunc(value))
    fail(Twine(what) + " (input " + Twine(i) + ") must be an integer", "", what);
  return int64_t(value);
}

//===-- Attributes ----------------------------------------------------------------------===//

/// Whether an attribute holds this type, in a file that does not state the types of attributes.
static bool holds(const onnx::AttributeProto &a, int type) {
  switch (type) {
  case onnx::AttributeProto::FLOAT:
    return a.has_f();
  case onnx::AttributeProto::INT:
    return a.has_i();
  case onnx::AttributeProto::STRING:
    return a.has_s();
  case onnx::AttributeProto::TENSOR:
    return a.has_t();
  case onnx::AttributeProto::GRAPH:
    return a.has_g();
  case onnx::AttributeProto::FLOATS:
    return a.floats_size() > 0;
  case onnx::AttributeProto::INTS:
    return a.ints_size() > 0;
  default:
    return false;
  }
}

onnx::AttributeProto *Node::attribute(StringRef name, ArrayRef<int> types) {
  asked.insert(name.str());
  for (auto &attribute : *proto.mutable_attribute()) {
    if (attribute.name() != name.str())
      continue;
    for (int type : types)
      if (attribute.type() == type || (attribute.type() == onnx::AttributeProto::UNDEFINED && holds(attribute, type)))
        return &attribute;
    fail("attribute '" + Twine(name) + "' has the wrong type", "", name);
  }
  return nullptr;
}

bool Node::hasAttribute(StringRef name) {
  asked.insert(name.str());
  return llvm::any_of(proto.attribute(), [&](const auto &a) { return a.name() == name.str(); });
}

int64_t Node::intAttribute(StringRef name, std::optional<int64_t> fallback) {
  if (auto *a = attribute(name, {onnx::AttributeProto::INT}))
    return a->i();
  if (!fallback)
    fail("attribute '" + Twine(name) + "' is missing", "", name);
  return *fallback;
}
double Node::floatAttribute(StringRef name, std::optional<double> fallback) {
  if (auto *a = attribute(name, {onnx::AttributeProto::FLOAT}))
    return double(a->f());
  if (!fallback)
    fail("attribute '" + Twine(name) + "' is missing", "", name);
  return *fallback;
}
std::string Node::stringAttribute(StringRef name, std::optional<std::string> fallback) {
  if (auto *a = attribute(name, {onnx::AttributeProto::STRING}))
    return a->s();
  if (!fallback)
    fail("attribute '" + Twine(name) + "' is missing", "", name);
  return *fallback;
}
std::optional<Shape> Node::intsAttribute(StringRef name) {
  auto *a = attribute(name, {onnx::AttributeProto::INTS});
  return a ? std::optional<Shape>(Shape(a->ints().begin(), a->ints().end())) : std::nullopt;
}
std::optional<std::vector<double>> Node::floatsAttribute(StringRef name) {
  auto *a = attribute(name, {onnx::AttributeProto::FLOATS});
  return a ? std::optional<std::vector<double>>(std::in_place, a->floats().begin(), a->floats().end()) : std::nullopt;
}
void Node::ignore(ArrayRef<StringRef> names) {
  for (StringRef name : names)
    asked.insert(name.str());
}

void Node::checkAttributesAsked() {
  for (const auto &attribute : proto.attribute())
    if (!asked.count(attribute.name()))
      unsupported("attribute '" + printable(attribute.name()) + "' is not supported at this opset",
                  "leave it out where it has no effect, or export at an opset whose op has no such attribute",
                  printable(attribute.name()));
}

int64_t Node::axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    fail("axis " + Twine(axis) + " is out of range for rank " + Twine(rank), "", "axis");
  return axis < 0 ? axis + rank : axis;
}

Shape Node::axes(ArrayRef<int64_t> axes, int64_t rank) {
  Shape result;
  for (int64_t a : axes)
    result.push_back(axis(a, rank));
  llvm::sort(result);
  for (size_t i = 1; i < result.size(); ++i)
    if (result[i] == result[i - 1])
      fail("axis " + Twine(result[i]) + " is given twice", "", "axes");
  return result;
}

//===-- Outputs -----------------------------------------------------------------------------===//

bool Node::used(size_t i) const { return named(i) && import.isUsed(proto.output(int(i))); }

static bool anyFromData(ArrayRef<Entry *> inputs) {
  return llvm::any_of(inputs, [](Entry *e) { return e && e->fromData; });
}

void Node::out(size_t i, Value value) {
  if (!named(i))
    return;
  Entry entry;
  entry.type = mlir::cast<RankedTensorType>(value.getType());
  entry.value = value;
  entry.fromData = anyFromData(inputs);
  import.define(proto.output(int(i)), std::move(entry));
}
void Node::out(size_t i, HostTensor tensor) {
  if (!named(i))
    return;
  Entry entry;
  entry.type = tensor.type;
  entry.constant = std::move(tensor);
  import.define(proto.output(int(i)), std::move(entry));
}
void Node::out(size_t i, Entry entry) {
  if (named(i))
    import.define(proto.output(int(i)), std::move(entry));
}
void Node::out(size_t i, std::vector<Entry> elements) {
  Entry entry;
  entry.fromData = llvm::any_of(elements, [](const Entry &e) { return e.fromData; });
  entry.sequence = std::make_shared<const std::vector<Entry>>(std::move(elements));
  out(i, std::move(entry));
}
Entry &Node::made(size_t i) { return import.values.at(proto.output(int(i))); }
void Node::count(size_t i, const Counted &counted) {
  if (named(i))
    made(i).counted = counted;
}
void Node::forward(size_t i, size_t input) { out(i, Entry(isSequence(input) ? *inputs[input] : entry(input))); }

void Node::adopt(ArrayRef<Entry> entries) {
  for (size_t i = 0; i < numOutputs(); ++i)
    if (named(i))
      import.define(proto.output(int(i)), entries[i]);
}

//===-- Building ---------------------------------------------------------------------------===//

RankedTensorType Node::tensorType(ArrayRef<int64_t> shape, Type element) {
  if (!elementCount(shape)) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::interleave(shape, stream, "x");
    fail("its result [" + text + "] has a negative dimension or more than 2^33 elements",
         "take a smaller batch where the shape is meant, or correct the node's attributes");
  }
  return RankedTensorType::get(shape, element);
}

Operation *Node::finish(OperationState &state, ArrayRef<Type> types) {
  for (Type type : types)
    (void)tensorType(mlir::cast<RankedTensorType>(type).getShape(),
                     mlir::cast<RankedTensorType>(type).getElementType());
  state.addTypes(types);
  Operation *op = b.create(state);
  if (failed(verify(op, /*verifyRecursively=*/false))) {
    op->erase();
    failWithDiagnostics();
  }
  return op;
}

Value Node::broadcast(Value x, ArrayRef<int64_t> shape) {
  if (shapeOf(x) == shape)
    return x;
  return make<BroadcastOp>(x, {}, tensorType(shape, elementOf(x))).getResult();
}
Value Node::reshape(Value x, ArrayRef<int64_t> shape) {
  if (shapeOf(x) == shape)
    return x;
  return make<ReshapeOp>(x, {}, tensorType(shape, elementOf(x))).getResult();
}
Value Node::cast(Value x, Type element) {
  if (elementOf(x) == element)
    return x;
  return make<CastOp>(x, {}, Type(typeOf(x).clone(element))).getResult();
}
Value Node::transpose(Value x, ArrayRef<int64_t> permutation) {
  bool identity = int64_t(permutation.size()) == typeOf(x).getRank();
  for (auto [i, p] : llvm::enumerate(permutation))
    identity &= int64_t(i) == p;
  if (identity)
    return x;
  return make<TransposeOp>(x, [&](auto &p) { p.permutation = b.getDenseI64ArrayAttr(permutation); }).getResult();
}
Value Node::slice(Value x, ArrayRef<int64_t> starts, ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides) {
  if (shapeOf(x) == sizes && llvm::all_of(strides, [](int64_t s) { return s == 1; }))
    return x;
  return make<SliceOp>(x,
                       [&](auto &p) {
                         p.starts = b.getDenseI64ArrayAttr(starts);
                         p.sizes = b.getDenseI64ArrayAttr(sizes);
                         p.strides = b.getDenseI64ArrayAttr(strides);
                       })
      .getResult();
}
Value Node::gather(Value x, Value indices, int64_t axis) {
  if (!elementOf(indices).isInteger(32) && !elementOf(indices).isInteger(64))
    indices = cast(indices, b.getI64Type());
  return make<GatherOp>(ValueRange{x, indices}, [&](auto &p) { p.axis = b.getI64IntegerAttr(axis); }).getResult();
}
Value Node::iota(RankedTensorType type, int64_t axis) {
  return make<IotaOp>(
             ValueRange(), [&](auto &p) { p.axis = b.getI64IntegerAttr(axis); },
             tensorType(type.getShape(), type.getElementType()))
      .getResult();
}
Value Node::numbersAlong(int64_t rank, int64_t dim, int64_t extent) {
  Shape thin(rank, 1);
  thin[dim] = extent;
  return iota(tensorType(thin, b.getI64Type()), dim);
}
Value Node::concat(ArrayRef<Value> values, int64_t axis) {
  if (values.size() == 1)
    return values[0];
  return make<ConcatOp>(values, [&](auto &p) { p.axis = b.getI64IntegerAttr(axis); }).getResult();
}
Value Node::select(Value condition, Value x, Value y) {
  return make<SelectOp>(ValueRange{condition, x, y}).getResult();
}
Value Node::compare(Predicate predicate, Value x, Value y) {
  return make<CompareOp>(ValueRange{x, y}, [&](auto &p) { p.predicate = PredicateAttr::get(context, predicate); })
      .getResult();
}
Value Node::constantValue(const HostTensor &tensor) {
  StringRef name = proto.output_size() ? StringRef(proto.output(0)) : StringRef("constant");
  return make<ConstantOp>(ValueRange(), [&](auto &p) { p.value = tensor.attribute(printable(name)); }).getResult();
}
Value Node::number(double value, Type element) { return scalar(b, loc, element, value); }
Value Node::i64(int64_t value) { return scalar(b, loc, b.getI64Type(), double(value)); }
Value Node::sum(Value x, ArrayRef<int64_t> axes, bool keepdims) { return reduce<ReduceSumOp>(x, axes, keepdims); }
Value Node::mean(Value x, ArrayRef<int64_t> axes, bool keepdims) { return reduce<ReduceMeanOp>(x, axes, keepdims); }
