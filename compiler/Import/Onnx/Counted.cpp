//===- Counted.cpp - tensors whose number of rows the data say ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Counted.h"
#include "compiler/Import/Onnx/Import.h"
#include "dialects/Interfaces/Indexing.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

//===-- Positions -----------------------------------------------------------------------===//

Positions onnx_import::positionsOf(Node &n, Value mask) {
  const int64_t length = shapeOf(mask)[0];
  Value ones = n.cast(mask, n.b.getI64Type());
  Value before = n.reshape(runningSums(n, n.reshape(ones, {1, length, 1}), /*exclusive=*/true, false), {length});
  // Elements that are not true go to a place of their own behind the others.
  Value place = n.select(mask, before, n.i64(length));
  Value numbers = n.iota(typeOf(ones), 0);
  Value all = n.make<ScatterOp>(
                   ValueRange{numbers, place}, [&](auto &p) { p.axis = n.b.getI64IntegerAttr(0); },
                   Type(n.tensorType({length + 1}, n.b.getI64Type())))
                  .getY();
  Value count = n.sum(ones, {0}, /*keepdims=*/false);
  Value first = n.slice(all, {0}, {length ? 1 : 0}, {1});
  Value found = n.slice(all, {0}, {length}, {1});
  Value positions = length ? n.select(n.compare(Predicate::lt, numbers, count), found, first) : found;
  return {positions, count};
}

Value onnx_import::rowsThere(Node &n, RankedTensorType type, const Counted &counted) {
  Value row = n.numbersAlong(type.getRank(), counted.dim, type.getDimSize(counted.dim));
  return n.broadcast(n.compare(Predicate::lt, row, counted.count), type.getShape());
}

void onnx_import::refuseCounted(Node &n, ArrayRef<Entry> results) {
  for (const Entry &entry : results)
    if (entry.counted)
      n.limit("a result of its body has as many rows as the data say (NonZero, Compress, NonMaxSuppression, x[mask])",
              "give a number or a fixed number of rows out of the body: a sum, a mean, a mask");
}

//===-- Rules ---------------------------------------------------------------------------===//

namespace {
/// This is a node with what its rule needs.
struct Conversion {
  Node &n;
  const OpRow &row;

  StringRef op() const { return n.proto.op_type(); }
  const Counted *counted(size_t i) { return n.has(i) && n.entry(i).counted ? &*n.entry(i).counted : nullptr; }
  /// Converts the node as if all rows were there.
  void whole() { row.convert(n); }
  void mark(size_t output, int64_t dim, Value count) {
    if (!n.named(output))
      return;
    if (dim < 0 || dim >= n.made(output).type.getRank())
      refuse("output " + Twine(output) + " loses the dimension whose number of elements the data say");
    n.made(output).counted = Counted{dim, count};
  }
  void markAll(int64_t dim, Value count) {
    for (size_t i = 0; i < n.numOutputs(); ++i)
      mark(i, dim, count);
  }
  [[noreturn]] void refuse(const Twine &why) {
    n.limit(why,
            "the data say how many rows it has (NonZero, Compress, NonMaxSuppression, x[mask]); take the rows that "
            "do not count out of the result by a mask (torch.where(mask, x, 0)) instead");
  }
};
} // namespace

/// Operands are aligned at their last dimensions. One that is not counted must have one element in the counted
/// dimension.
static void elementwise(Conversion &c) {
  Node &n = c.n;
  int64_t rank = 0, fromEnd = 0;
  Value count;
  for (size_t i = 0; i < n.numInputs(); ++i)
    if (n.has(i))
      rank = std::max(rank, n.rank(i));
  for (size_t i = 0; i < n.numInputs(); ++i) {
    const Counted *counted = c.counted(i);
    if (!counted)
      continue;
    const int64_t at = n.rank(i) - counted->dim;
    if (count && (at != fromEnd || counted->count != count))
      c.refuse("two operands may have different numbers of rows, which the data say");
    fromEnd = at;
    count = counted->count;
  }
  for (size_t i = 0; i < n.numInputs(); ++i)
    if (n.has(i) && !c.counted(i) && n.rank(i) >= fromEnd && n.shape(i)[n.rank(i) - fromEnd] != 1)
      c.refuse("input " + Twine(i) + " has " + Twine(n.shape(i)[n.rank(i) - fromEnd]) +
               " rows, and the data say how many the other operand has");
  c.whole();
  c.markAll(rank - fromEnd, count);
}

/// Of CastLike's inputs the second says a type alone.
static void castLike(Conversion &c) {
  const std::optional<Counted> own = c.n.entry(0).counted;
  c.whole();
  if (own)
    c.mark(0, own->dim, own->count);
}

/// Split may divide another dimension.
static void split(Conversion &c) {
  const Counted own = *c.counted(0);
  if (c.n.axis(c.n.intAttribute("axis", 0), c.n.rank(0)) == own.dim)
    c.refuse("it divides rows whose number the data say");
  c.whole();
  c.markAll(own.dim, own.count);
}

/// Where rows are transformed one by one, the results have as many.
template <int64_t input>
static void rowsOf(Conversion &c) {
  if (!c.counted(input))
    c.refuse("the data say how many samples it has, but not how many regions");
  const Counted counted = *c.counted(input);
  for (size_t i = 0; i < c.n.numInputs(); ++i)
    if (c.counted(i) && (c.counted(i)->dim != 0 || c.counted(i)->count != counted.count))
      c.refuse("a dimension other than the first has a number of elements that the data say");
  c.whole();
  c.markAll(0, counted.count);
}

/// Resize may change the dimensions behind the rows.
static void resize(Conversion &c) {
  const bool crops = c.n.hasAttribute("coordinate_transformation_mode") &&
                     c.n.stringAttribute("coordinate_transformation_mode") == "tf_crop_and_resize";
  const int64_t rows = c.n.shape(0)[0];
  rowsOf<0>(c);
  if (crops || c.n.made(0).type.getDimSize(0) != rows)
    c.refuse("it changes the number of rows, which the data say");
}

static void transpose(Conversion &c) {
  const Counted counted = *c.counted(0);
  Shape order = c.n.intsAttribute("perm").value_or(Shape());
  if (order.empty())
    for (int64_t d = c.n.rank(0) - 1; d >= 0; --d)
      order.push_back(d);
  c.whole();
  c.mark(0, llvm::find(order, counted.dim) - order.begin(), counted.count);
}

/// Follows the counted dimension through a change of shape. Merged with dimensions behind it, it has as many rows times
/// their elements.
static void reshape(Conversion &c) {
  Node &n = c.n;
  const Counted counted = *c.counted(0);
  const Shape from(n.shape(0));
  c.whole();
  ArrayRef<int64_t> to = n.made(0).type.getShape();
  const int64_t extent = from[counted.dim], outer = llvm::product_of(ArrayRef(from).take_front(counted.dim));
  size_t dim = 0;
  int64_t before = 1;
  while (dim < to.size() && before < outer)
    before *= to[dim++];
  while (dim < to.size() && to[dim] == 1 && extent > 1)
    ++dim;
  if (before != outer || dim == to.size() || extent == 0 || to[dim] % extent != 0)
    c.refuse("the new shape divides the dimension whose number of elements the data say");
  const int64_t times = to[dim] / extent;
  int64_t merged = 1;
  for (size_t d = counted.dim + 1; d < from.size() && merged < times; ++d)
    merged *= from[d];
  if (merged != times)
    c.refuse("the new shape divides the dimension whose number of elements the data say");
  c.mark(0, int64_t(dim), times == 1 ? counted.count : n.mul(counted.count, n.i64(times)));
}

/// Expand goes to the shape of a counted value, or takes a counted value to a shape of which only the extents that it
/// has already are not known.
static void expand(Conversion &c) {
  Node &n = c.n;
  const Counted *counted = c.counted(0);
  const Entry &target = n.entry(1);
  if (const Entry *like = target.shapeOf.get()) {
    const Shape shape = broadcastShapes(n.shape(0), like->type.getShape()).value_or(Shape());
    const int64_t likeFromEnd = like->type.getRank() - like->counted->dim;
    const bool same = !counted || (counted->count == like->counted->count && n.rank(0) - counted->dim == likeFromEnd);
    if (shape.empty() || !same || (!counted && n.rank(0) >= likeFromEnd && n.shape(0)[n.rank(0) - likeFromEnd] != 1))
      c.refuse("the operand does not have the rows of the shape");
    n.out(0, n.broadcast(n.in(0), shape));
    return c.mark(0, int64_t(shape.size()) - like->type.getRank() + like->counted->dim, like->counted->count);
  }
  if (counted && !target.constant) {
    if (target.type.getNumElements() > n.rank(0))
      c.refuse("the new shape has more dimensions, and is not known at compile time");
    for (auto [d, extent] : llvm::enumerate(n.shape(0)))
      if (extent == 1 && int64_t(d) != counted->dim)
        c.refuse("dimension " + Twine(d) + " may become longer, and the new shape is not known at compile time");
    return n.forward(0, 0);
  }
  if (!counted)
    c.refuse("the shape is computed from a number of rows that the data say");
  const Counted own = *counted;
  c.whole();
  const int64_t dim = n.made(0).type.getRank() - (n.rank(0) - own.dim);
  if (n.made(0).type.getDimSize(dim) != n.shape(0)[own.dim])
    c.refuse("rows whose number the data say are repeated");
  c.mark(0, dim, own.count);
}

static void matmul(Conversion &c) {
  Node &n = c.n;
  if (c.op() == "Gemm" && n.intAttribute("transA", 0) != 0)
    c.refuse("only the rows of the first operand may have a number that the data say");
  const Counted own = *c.counted(0);
  const int64_t rank = n.rank(0), other = n.rank(1), aligned = other - (rank - own.dim);
  if (own.dim == rank - 1)
    c.refuse("the data say how many terms its sums have");
  if (own.dim < rank - 2 && aligned >= 0 && n.shape(1)[aligned] != 1)
    c.refuse("each matrix has one of its own in the second operand, and the data say how many there are");
  c.whole();
  const int64_t made = n.made(0).type.getRank();
  c.mark(0, own.dim + (other == 1 ? 0 : made - rank), own.count); // a vector drops the last dimension alone
}

/// Returns whether `axes` has the counted dimension.
static bool isOver(Conversion &c, ArrayRef<int64_t> axes) { return llvm::is_contained(axes, c.counted(0)->dim); }

/// Replaces the rows of input 0 that are not there by a number.
static void maskRows(Conversion &c, TypedAttr number) {
  Node &n = c.n;
  const Counted counted = *c.counted(0);
  Entry masked;
  masked.type = n.type(0);
  Value other;
  if (auto real = dyn_cast<FloatAttr>(number)) {
    other = n.number(real.getValueAsDouble(), n.element(0));
  } else { // through a double, the ends of 64-bit integers would be other numbers
    const APInt value = cast<IntegerAttr>(number).getValue();
    const bool isSigned = n.element(0).isSignlessInteger() && !n.element(0).isInteger(1);
    other = n.constantValue(HostTensor::fromInts(RankedTensorType::get({}, n.element(0)),
                                                 {isSigned ? value.getSExtValue() : int64_t(value.getZExtValue())}));
  }
  masked.value = n.select(rowsThere(n, n.type(0), counted), n.in(0), other);
  masked.fromData = true;
  n.replaceInput(0, std::move(masked));
}

static std::optional<Combiner> combinerOf(StringRef op) {
  return llvm::StringSwitch<std::optional<Combiner>>(op)
      .Cases({"ReduceSum", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum"}, Combiner::Add)
      .Case("ReduceProd", Combiner::Multiply)
      .Cases({"ReduceMax", "ReduceLogSumExp", "ArgMax"}, Combiner::Max)
      .Cases({"ReduceMin", "ArgMin"}, Combiner::Min)
      .Default(std::nullopt);
}

static void reduce(Conversion &c) {
  Node &n = c.n;
  const Counted counted = *c.counted(0);
  const int64_t rank = n.rank(0);
  const bool arg = c.op().starts_with("Arg"), keepdims = n.intAttribute("keepdims", 1) != 0;
  Shape axes;
  const int64_t asInput = c.op() == "ReduceSum" ? 13 : 18;
  if (arg)
    axes = {n.axis(n.intAttribute("axis", 0), rank)};
  else if (n.opset >= asInput ? n.has(1) : n.hasAttribute("axes"))
    axes = n.axes(n.opset >= asInput ? n.constantInts(1, "axes") : *n.intsAttribute("axes"), rank);
  if (axes.empty() && n.opset >= asInput && !arg && n.intAttribute("noop_with_empty_axes", 0) != 0)
    return n.forward(0, 0);
  if (axes.empty())
    for (int64_t d = 0; d < rank; ++d)
      axes.push_back(d);
  if (!isOver(c, axes)) {
    c.whole();
    int64_t dropped = keepdims ? 0 : llvm::count_if(axes, [&](int64_t a) { return a < counted.dim; });
    return c.mark(0, counted.dim - dropped, counted.count);
  }
  if (arg && n.opset >= 12 && n.intAttribute("select_last_index", 0) != 0)
    c.refuse("of equal elements it takes the last one, which may be a row that is not there");
  if (c.op() == "ReduceMean") {
    maskRows(c, identityOf(Combiner::Add, n.element(0)));
    int64_t others = 1;
    for (int64_t a : axes)
      others *= a == counted.dim ? 1 : n.shape(0)[a];
    Value x = n.cast(n.in(0), computeType(n.element(0))); // the sum and the count may exceed 16 bits
    Value elements = n.cast(n.mul(counted.count, n.i64(others)), elementOf(x));
    if (n.opset >= 18)
      (void)n.intAttribute("noop_with_empty_axes", 0);
    return n.out(0, n.cast(n.div(n.sum(x, axes, keepdims), elements), n.element(0)));
  }
  std::optional<Combiner> combiner = combinerOf(c.op());
  if (!combiner)
    c.refuse("it combines rows whose number the data say");
  TypedAttr identity = identityOf(*combiner, n.element(0));
  if (n.element(0).isInteger(1)) // as numbers of one bit with a sign, true would be below false
    identity = n.b.getBoolAttr(*combiner == Combiner::Min);
  maskRows(c, identity);
  c.whole();
}

/// Softmax and norms work on rows: the data may say how many rows there are, but not how long a row is.
static void alongAxis(Conversion &c) {
  Node &n = c.n;
  const Counted counted = *c.counted(0);
  const bool old = n.opset < 13 && c.op() != "LayerNormalization"; // then all dimensions from the axis on are one
  int64_t axis = n.axis(n.intAttribute("axis", old ? 1 : -1), n.rank(0));
  const bool through = old || c.op().ends_with("Normalization");
  if (counted.dim == axis || (through && counted.dim > axis))
    c.refuse("the data say how long its rows are");
  c.whole();
  c.markAll(counted.dim, counted.count);
}

/// The rows of Gather, GatherND and GatherElements are those of the indices, or those of the data that stay.
static void gather(Conversion &c) {
  Node &n = c.n;
  const Counted *data = c.counted(0), *indices = c.counted(1);
  int64_t axis = 0;
  if (c.op() == "Gather" || c.op() == "GatherElements")
    axis = n.axis(n.intAttribute("axis", 0), n.rank(0));
  if (c.op() == "GatherElements") {
    if (!data || !indices || data->dim != indices->dim || data->count != indices->count || data->dim == axis)
      c.refuse("data and indices do not have the same rows");
    const Counted own = *data;
    c.whole();
    return c.mark(0, own.dim, own.count);
  }
  if (data && indices)
    c.refuse("the data say how many rows both operands have");
  if (indices) {
    const Counted own = *indices;
    const int64_t batch = c.op() == "GatherND" && n.opset >= 12 ? n.intAttribute("batch_dims", 0) : 0;
    if (c.op() == "GatherND" && (batch != 0 || own.dim == n.rank(1) - 1))
      c.refuse("the data say how many coordinates an index has, or how many samples there are");
    c.whole();
    return c.mark(0, axis + own.dim, own.count);
  }
  const Counted own = *data;
  if (c.op() == "GatherND" || own.dim == axis)
    c.refuse("it looks up rows whose number the data say");
  const int64_t picked = n.rank(1);
  c.whole();
  c.mark(0, own.dim < axis ? own.dim : own.dim + picked - 1, own.count);
}

/// Concat may join columns, where all operands have the same rows.
static void concat(Conversion &c) {
  Node &n = c.n;
  const int64_t axis = n.axis(n.intAttribute("axis"), n.rank(0));
  const Counted *first = c.counted(0);
  for (size_t i = 0; i < n.numInputs(); ++i)
    if (!first || !c.counted(i) || c.counted(i)->count != first->count || c.counted(i)->dim != first->dim ||
        (first->dim == axis && n.numInputs() > 1))
      c.refuse("it joins rows whose number the data say");
  const Counted own = *first;
  c.whole();
  c.mark(0, own.dim, own.count);
}

/// Slice takes parts of other dimensions, or the first rows up to a number that is computed.
static void slice(Conversion &c) {
  Node &n = c.n;
  const Counted own = *c.counted(0);
  if (n.opset < 10)
    return c.refuse("this opset's Slice takes no rows whose number the data say");
  Shape axes;
  if (n.has(3))
    axes = n.constantInts(3, "axes");
  else
    for (int64_t i = 0; i < n.type(1).getNumElements(); ++i)
      axes.push_back(i);
  for (int64_t &axis : axes)
    axis = n.axis(axis, n.rank(0));
  if (!llvm::is_contained(axes, own.dim)) {
    c.whole();
    return c.mark(0, own.dim, own.count);
  }
  const Shape starts = n.constantInts(1, "starts");
  const bool plain = !n.has(4) || llvm::all_of(n.constantInts(4, "steps"), [](int64_t step) { return step == 1; });
  if (axes.size() != 1 || starts != Shape{0} || !plain || n.type(2).getNumElements() != 1)
    c.refuse("of rows whose number the data say only the first ones can be taken");
  Value end = n.cast(n.reshape(n.in(2), {}), n.b.getI64Type());
  end = n.select(n.compare(Predicate::lt, end, n.i64(0)), n.add(end, own.count), end);
  Value count = n.binary<MinOp>(own.count, n.binary<MaxOp>(end, n.i64(0)));
  n.forward(0, 0);
  c.mark(0, own.dim, count);
}

/// Scatters put the rows that are not there into a row behind the data, which is then cut off.
static void scatterND(Conversion &c) {
  Node &n = c.n;
  if (c.counted(0) || !c.counted(1) || c.counted(1)->dim != 0 || n.rank(1) < 2)
    c.refuse("the data may say how many rows its indices have, and not more");
  if (c.counted(2) && c.counted(2)->dim != 0)
    c.refuse("the updates do not have the rows of the indices");
  n.rows = c.counted(1)->count;
  c.whole();
}

/// The labels of rows that are not there are ignored.
static void loss(Conversion &c) {
  Node &n = c.n;
  const Counted *scores = c.counted(0), *labels = c.counted(1);
  if (!scores || !labels || scores->dim != 0 || labels->dim != 0 || scores->count != labels->count || c.counted(2))
    c.refuse("scores and labels do not have the same rows");
  const Counted own = *labels;
  const std::string reduction = n.stringAttribute("reduction", "mean");
  const bool ignores = n.hasAttribute("ignore_index");
  const int64_t ignored = ignores ? n.intAttribute("ignore_index") : -100;
  if (!ignores) {
    auto *attribute = n.proto.add_attribute();
    attribute->set_name("ignore_index");
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_i(ignored);
  }
  Entry masked = n.entry(1);
  masked.counted.reset();
  masked.value = n.select(rowsThere(n, n.type(1), own), n.in(1), n.number(double(ignored), n.element(1)));
  n.replaceInput(1, std::move(masked));
  c.whole();
  if (reduction == "none")
    c.mark(0, 0, own.count);
  if (n.named(1))
    c.mark(1, 0, own.count);
}

static void shape(Conversion &c) {
  Node &n = c.n;
  const Counted own = *c.counted(0);
  if (c.op() == "Size" || (n.opset >= 15 && (n.hasAttribute("end") || n.intAttribute("start", 0) != 0)))
    c.refuse("its value is a number of elements that the data say");
  SmallVector<Value> extents;
  for (auto [d, extent] : llvm::enumerate(n.shape(0)))
    extents.push_back(n.reshape(int64_t(d) == own.dim ? own.count : n.i64(extent), {1}));
  Value all = n.concat(extents, 0);
  auto like = std::make_shared<const Entry>(n.entry(0));
  n.out(0, all);
  n.made(0).shapeOf = std::move(like);
}

static void nonZero(Conversion &c) {
  maskRows(c, identityOf(Combiner::Add, c.n.element(0)));
  c.whole();
}

static void cumulative(Conversion &c) {
  const Counted own = *c.counted(0);
  if (c.n.intAttribute("reverse", 0) != 0)
    c.refuse("its sums begin at the last row, and the data say which one that is");
  c.whole();
  c.mark(0, own.dim, own.count);
}

//===-- The table -----------------------------------------------------------------------===//

/// Returns whether a rule takes this input where it is counted; one of those that it takes is.
static bool mayBeCounted(StringRef op, bool everywhere, size_t input) {
  if (everywhere || op == "Concat")
    return true;
  if (op == "RoiAlign" || op == "ScatterND")
    return input == 1 || input == 2;
  if (op == "MaxRoiPool")
    return input == 1;
  const bool two = op.starts_with("Gather") || op.ends_with("Loss") || op == "CastLike";
  return input == 0 || (two && input == 1);
}

static StringRef familyOf(const OpRow &row) {
  for (const OpFamily &family : opFamilies())
    if (&row >= family.rows.begin() && &row < family.rows.end())
      return family.name;
  return "";
}

void onnx_import::convertCounted(Node &n, const OpRow &row) {
  using Rule = void (*)(Conversion &);
  const StringRef op = row.name;
  Rule rule = llvm::StringSwitch<Rule>(op)
                  .Cases({"Conv", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"}, rowsOf<0>)
                  .Case("Resize", resize)
                  .Cases({"RoiAlign", "MaxRoiPool"}, rowsOf<1>)
                  .Case("Transpose", transpose)
                  .Cases({"Reshape", "Flatten", "Squeeze", "Unsqueeze"}, reshape)
                  .Case("Expand", expand)
                  .Cases({"MatMul", "Gemm"}, matmul)
                  .Cases({"Softmax", "LogSoftmax", "Hardmax", "LayerNormalization", "RMSNormalization"}, alongAxis)
                  .Cases({"Gather", "GatherND", "GatherElements"}, gather)
                  .Case("CastLike", castLike)
                  .Case("Split", split)
                  .Case("Concat", concat)
                  .Case("Slice", slice)
                  .Case("ScatterND", scatterND)
                  .Cases({"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"}, loss)
                  .Cases({"Shape", "Size"}, shape)
                  .Case("NonZero", nonZero)
                  .Case("CumSum", cumulative)
                  .Case("Dropout", elementwise)
                  .Default(nullptr);
  if (!rule && (op.starts_with("Reduce") || op.starts_with("Arg")))
    rule = reduce;
  const StringRef family = familyOf(row);
  if (!rule && (family == "Math" || family == "Logic"))
    rule = elementwise;
  Conversion conversion{n, row};
  if (!rule)
    conversion.refuse("an input has as many rows as the data say, which this op does not take");
  const bool everywhere = rule == elementwise && op != "Dropout";
  for (size_t i = 0; i < n.numInputs(); ++i)
    if (n.isSequence(i))
      conversion.refuse("an input is a sequence");
    else if (conversion.counted(i) && !mayBeCounted(op, everywhere, i))
      conversion.refuse("the data say how many elements input " + Twine(i) + " has");
  if (!n.named(0))
    n.fail("output 0 has no name", "leave a node out whose result nobody reads");
  rule(conversion);
}
