//===- Attention.cpp - attention becomes products and softmaxes ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Passes.td. A block is some queries of some heads with the keys that these queries see; the scores of one block
// are in memory at a time. A scan goes through the heads, because it reads them where they lie; its body goes through
// the queries, because those of one block see other keys than those of the next.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/AttentionForm.h"
#include "dialects/Graph/IR/VisibleKeys.h"
#include "dialects/Kernel/Analysis/AttentionKernel.h"
#include "passes/Decompose/Passes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <tuple>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace mpc {
#define GEN_PASS_DEF_DECOMPOSEATTENTIONPASS
#include "passes/Decompose/Passes.h.inc"
} // namespace mpc

/// The most blocks of queries in the body of a scan. Each has launches and, where it sees other keys than the other
/// blocks, kernels of its own.
static constexpr int64_t kMostBlocks = 8;

namespace {

/// Queries and the keys that they see.
struct Block {
  int64_t query, queries;
  KeyRange keys;
};

/// How an attention is divided.
struct Blocks {
  int64_t heads = 0; ///< heads of keys, of all samples together, in each of `trips`; 0: the attention is not divided
  int64_t trips = 1;
  std::vector<Block> queries;
};

/// Returns whether the mask or the bias differs between heads.
bool differsBetweenHeads(const AttentionForm &form) {
  return (form.mask && shapeOf(form.mask)[1] > 1) || (form.bias && shapeOf(form.bias)[1] > 1);
}

/// Divides the scores into blocks of about `bytes` in fp32, or leaves the attention whole where they are few.
Blocks divide(const AttentionForm &form, int64_t bytes) {
  int64_t keyHeads = form.samples() * form.keyHeads(), group = form.heads() / form.keyHeads();
  int64_t ofHead = 4 * group * form.queries() * form.keys(); // bytes of the scores that belong to one head of keys
  // Few scores are not worth the launches. Random numbers are counted through the whole tensor.
  if (bytes == 0 || form.seed || keyHeads < 2 || keyHeads * ofHead < 16 * bytes)
    return {};
  // A bias of relative positions, which heads have and samples share, would be copied for each sample.
  auto isOfHeads = [&](Value v) { return v && shapeOf(v)[0] == 1 && shapeOf(v)[1] > 1 && shapeOf(v)[2] > 1; };
  if (form.samples() > 1 && (isOfHeads(form.mask) || isOfHeads(form.bias)))
    return {};
  // Each trip takes the heads of one sample or a part of them, or whole samples. Masks of queries and keys that differ
  // between samples, but not between heads, are read where they lie if a trip takes a sample.
  Blocks blocks;
  int64_t most = std::max<int64_t>(2, bytes / ofHead);
  for (int64_t heads = 1; heads <= keyHeads / 2; ++heads)
    if (keyHeads % heads == 0 && heads <= most && (form.keyHeads() % heads == 0 || heads % form.keyHeads() == 0))
      blocks.heads = heads;
  auto isLarge = [](Value v) { return v && shapeOf(v)[0] > 1 && shapeOf(v)[2] > 1; };
  if ((isLarge(form.mask) || isLarge(form.bias)) && !differsBetweenHeads(form))
    blocks.heads = form.keyHeads();
  // Trips of few scores are launches for little: where the number of heads has no better divisor.
  if (4 * blocks.heads * ofHead < bytes)
    return {};
  blocks.trips = keyHeads / blocks.heads;
  int64_t count = std::clamp<int64_t>(llvm::divideCeil(blocks.heads * ofHead, bytes), 1,
                                      std::min<int64_t>(kMostBlocks, form.queries()));
  int64_t size = llvm::divideCeil(form.queries(), count);
  for (int64_t query = 0; query < form.queries(); query += size)
    blocks.queries.push_back({query, std::min(size, form.queries() - query), {0, form.keys()}});
  return blocks;
}

/// Builds the scan of a divided attention, or of its gradient.
class Repetition {
public:
  Repetition(const GraphBuilder &b, const AttentionForm &form, const Blocks &blocks)
      : b(b), form(form), blocks(blocks), group(form.heads() / form.keyHeads()) {}

  /// Builds the scan over the tensors that attention and its gradient share and `others`, all of queries. `body` gets
  /// the form for the heads of a trip and their part of `others`, and returns what the trip gives: for each result, a
  /// tensor that has the extents of the result in its last two dimensions.
  SmallVector<Value> build(ValueRange others, ValueRange likeResults,
                           llvm::function_ref<SmallVector<Value>(const AttentionForm &, ValueRange)> body) {
    SmallVector<Value> invariants, stacked{ofQueries(form.q), ofKeys(form.k), ofKeys(form.v)};
    llvm::append_range(stacked, llvm::map_range(others, [&](Value v) { return ofQueries(v); }));
    for (Value v : {form.mask, form.bias})
      if (v)
        (isShared(v) ? invariants : stacked).push_back(isShared(v) ? v : ofScores(v));
    SmallVector<Type> types;
    for (Value v : likeResults)
      types.push_back(stackType(v));
    auto scan = b.create<ScanOp>(blocks.trips, /*reverse=*/false, ValueRange(), invariants, stacked, types);

    OpBuilder::InsertionGuard guard(b.builder);
    b.builder.setInsertionPointToStart(&scan.getBlock());
    auto invariant = scan.invariantArguments();
    auto slices = scan.slices();
    AttentionForm trip = form;
    trip.q = slices[0], trip.k = slices[1], trip.v = slices[2];
    size_t nextInvariant = 0, nextSlice = 3 + others.size();
    for (Value *v : {&trip.mask, &trip.bias})
      if (*v)
        *v = isShared(*v) ? invariant[nextInvariant++] : slices[nextSlice++];
    SmallVector<Value> given = body(trip, ValueRange(slices.slice(3, others.size())));
    SmallVector<Value> yielded;
    for (auto [v, type] : llvm::zip_equal(given, types))
      yielded.push_back(b.reshape(v, ScanOp::sliceType(type).getShape()));
    b.create<ScanYieldOp>(yielded);
    b.builder.setInsertionPointAfter(scan);
    SmallVector<Value> results;
    for (auto [v, like] : llvm::zip_equal(scan.getStacks(), likeResults))
      results.push_back(b.reshape(v, shapeOf(like)));
    return results;
  }

private:
  /// [B, H, M, ...] as [trips, heads of keys, H/K, M, ...], and [B, K, N, ...] as [trips, heads of keys, 1, N, ...]: a
  /// head of keys is a sample of its own, which has as many heads as share it.
  Value ofQueries(Value v) const {
    return b.reshape(v, {blocks.trips, blocks.heads, group, shapeOf(v)[2], shapeOf(v)[3]});
  }
  Value ofKeys(Value v) const { return b.reshape(v, {blocks.trips, blocks.heads, 1, shapeOf(v)[2], shapeOf(v)[3]}); }
  RankedTensorType stackType(Value like) const {
    int64_t perHead = shapeOf(like)[1] / form.keyHeads();
    return typeOf(like).clone({blocks.trips, blocks.heads, perHead, shapeOf(like)[2], shapeOf(like)[3]});
  }

  bool isShared(Value v) const { return shapeOf(v)[0] == 1 && shapeOf(v)[1] == 1; }
  /// A mask or bias that differs between samples or heads, for each trip.
  Value ofScores(Value v) const {
    int64_t rows = shapeOf(v)[2], columns = shapeOf(v)[3], samples = form.samples(), keyHeads = form.keyHeads();
    if (shapeOf(v)[1] > 1) {
      Value spread = b.broadcast(v, {samples, form.heads(), rows, columns});
      return b.reshape(spread, {blocks.trips, blocks.heads, group, rows, columns});
    }
    if (blocks.heads <= keyHeads) { // one sample in a trip
      Value spread = b.broadcast(v, {samples, keyHeads / blocks.heads, rows, columns});
      return b.reshape(spread, {blocks.trips, 1, 1, rows, columns});
    }
    Value spread = b.broadcast(v, {samples, keyHeads, rows, columns});
    return b.reshape(spread, {blocks.trips, blocks.heads, 1, rows, columns});
  }

  const GraphBuilder &b;
  const AttentionForm &form;
  const Blocks &blocks;
  int64_t group;
};

/// Returns indices first to last along dimension `dim`, of all where the dimension has extent 1.
Value part(const GraphBuilder &b, Value v, int64_t dim, int64_t first, int64_t last) {
  if (!v || shapeOf(v)[dim] == 1 || (first == 0 && last == shapeOf(v)[dim]))
    return v;
  Shape starts(4, 0), sizes(shapeOf(v)), ones(4, 1);
  starts[dim] = first;
  sizes[dim] = last - first;
  return b.slice(v, starts, sizes, ones);
}
Value queriesOf(const GraphBuilder &b, Value v, const Block &block) {
  return part(b, v, 2, block.query, block.query + block.queries);
}
AttentionForm formOf(const GraphBuilder &b, AttentionForm form, const Block &block) {
  form.q = queriesOf(b, form.q, block);
  form.k = part(b, form.k, 2, block.keys.first, block.keys.last);
  form.v = part(b, form.v, 2, block.keys.first, block.keys.last);
  for (Value *v : {&form.mask, &form.bias})
    *v = part(b, queriesOf(b, *v, block), 3, block.keys.first, block.keys.last);
  return form;
}

Value concatenated(const GraphBuilder &b, ArrayRef<Value> parts) {
  return parts.size() == 1 ? parts.front() : Value(b.create<ConcatOp>(parts, 2));
}

void decompose(AttentionOp op, const Blocks &blocks) {
  OpBuilder builder(op);
  GraphBuilder b(builder, op.getLoc());
  AttentionForm form = AttentionForm::of(op);
  if (blocks.heads == 0) {
    AttentionForm::Result whole = form.compute(b);
    return op.replaceAllUsesWith(ValueRange{whole.y, whole.largest, whole.logSum});
  }
  SmallVector<Value> results =
      Repetition(b, form, blocks).build({}, op->getResults(), [&](const AttentionForm &trip, ValueRange) {
        SmallVector<Value> y, largest, logSum;
        for (const Block &block : blocks.queries) {
          AttentionForm::Result part = formOf(b, trip, block).compute(b);
          y.push_back(part.y);
          largest.push_back(part.largest);
          logSum.push_back(part.logSum);
        }
        return SmallVector<Value>{concatenated(b, y), concatenated(b, largest), concatenated(b, logSum)};
      });
  op.replaceAllUsesWith(results);
}

/// Splits the sliced dimension before it is sliced, so that the slice is one of heads:
///
///   reshape(slice x) : [B, M, 3 H D] to [B, M, H D] to [B, M, H, D] -> slice(reshape x)
void splitBeforeSlice(Value v) {
  if (auto transpose = v.getDefiningOp<TransposeOp>())
    v = transpose.getX();
  auto view = v.getDefiningOp<ReshapeOp>();
  auto slice = view ? view.getX().getDefiningOp<SliceOp>() : SliceOp();
  if (!slice || llvm::any_of(slice.getStrides(), [](int64_t stride) { return stride != 1; }))
    return;
  ArrayRef<int64_t> from = shapeOf(slice.getX()), sliced = shapeOf(slice.getY()), to = shapeOf(v);
  if (to.size() != from.size() + 1 || to.size() != 4)
    return;
  size_t dim = 0;
  while (dim < sliced.size() && sliced[dim] == to[dim])
    ++dim;
  if (dim == sliced.size() || sliced.drop_front(dim + 1) != to.drop_front(dim + 2))
    return;
  int64_t inner = to[dim + 1];
  for (size_t i = 0; i < from.size(); ++i)
    if (i == dim ? from[i] % inner || slice.getStarts()[i] % inner : from[i] != sliced[i])
      return;
  OpBuilder builder(view);
  GraphBuilder b(builder, slice.getLoc());
  Shape split(to), starts(4, 0), ones(4, 1);
  split[dim] = from[dim] / inner;
  starts[dim] = slice.getStarts()[dim] / inner;
  view.replaceAllUsesWith(b.slice(b.reshape(slice.getX(), split), starts, to, ones));
}

/// Computes delta from y and dy as other ops read and write them, where these are transposes of what the kernels write
/// and read: then y and dy are in memory in one order.
void transposeDelta(AttentionGradOp op) {
  auto sum = op.getDelta().getDefiningOp<ReduceSumOp>();
  auto product = sum ? sum.getX().getDefiningOp<MulOp>() : MulOp();
  auto transpose = op.getDy().getDefiningOp<TransposeOp>();
  if (!product || !transpose || !kernel::movesRows(transpose))
    return;
  auto narrow = [](Value v) {
    auto cast = v.getDefiningOp<CastOp>();
    return cast ? cast.getX() : v;
  };
  Value y = narrow(product->getOperand(1));
  if (narrow(product->getOperand(0)) != op.getDy() || !y.getDefiningOp<AttentionOp>())
    return;
  Shape inverse(4);
  for (auto [i, from] : llvm::enumerate(transpose.getPermutation()))
    inverse[from] = int64_t(i);
  for (Operation *user : y.getUsers())
    if (auto read = dyn_cast<TransposeOp>(user); read && read->getBlock() == op->getBlock() &&
                                                 read->isBeforeInBlock(op) &&
                                                 read.getPermutation() == ArrayRef<int64_t>(inverse)) {
      OpBuilder builder(op);
      GraphBuilder b(builder, op.getLoc());
      Value delta = AttentionForm::deltaOf(b, read.getY(), transpose.getX());
      op.getDeltaMutable().assign(b.transpose(delta, Shape(transpose.getPermutation())));
      return;
    }
}

/// `number` is that of this gradient among all.
void decompose(AttentionGradOp op, const Blocks &blocks, int64_t number) {
  OpBuilder builder(op);
  GraphBuilder b(builder, op.getLoc());
  AttentionForm form = AttentionForm::of(op);
  if (blocks.heads == 0) {
    // Without a barrier the scores would be equal to those of the forward pass, and be saved.
    form.q = b.create<BarrierOp>(form.q.getType(), form.q, /*after=*/op.getDy(), number);
    AttentionForm::Cotangents whole = form.differentiate(b, op.getLargest(), op.getLogSum(), op.getDelta(), op.getDy());
    SmallVector<Value> results{whole.dq, whole.dk, whole.dv};
    if (op.getDbias())
      results.push_back(b.sumTo(whole.dscores, shapeOf(op.getBias())));
    return op.replaceAllUsesWith(results);
  }
  Type element = elementOf(op.getQ());
  SmallVector<Value> results =
      Repetition(b, form, blocks)
          .build({op.getLargest(), op.getLogSum(), op.getDelta(), op.getDy()}, op->getResults(),
                 [&](const AttentionForm &trip, ValueRange others) {
                   SmallVector<Value> dq;
                   Value dk, dv;
                   // The cotangents of keys are sums over the blocks that see them, which are rounded once at the end.
                   auto addTo = [&](Value &sum, Value part, const Block &block) {
                     Shape low(4, 0), high(4, 0), none(4, 0);
                     low[2] = block.keys.first;
                     high[2] = trip.keys() - block.keys.last;
                     Value wide = b.up(part);
                     Value padded = low[2] || high[2] ? b.padZeros(wide, low, high, none) : wide;
                     sum = sum ? b.add(sum, padded) : padded;
                   };
                   for (const Block &block : blocks.queries) {
                     AttentionForm::Cotangents part =
                         formOf(b, trip, block)
                             .differentiate(b, queriesOf(b, others[0], block), queriesOf(b, others[1], block),
                                            queriesOf(b, others[2], block), queriesOf(b, others[3], block));
                     dq.push_back(part.dq);
                     addTo(dk, part.dk, block);
                     addTo(dv, part.dv, block);
                   }
                   return SmallVector<Value>{concatenated(b, dq), b.cast(dk, element), b.cast(dv, element)};
                 });
  op.replaceAllUsesWith(results);
}

struct DecomposeAttention : mpc::impl::DecomposeAttentionPassBase<DecomposeAttention> {
  using DecomposeAttentionPassBase::DecomposeAttentionPassBase;
  void runOnOperation() override {
    int64_t gradients = 0;
    const GpuArch *gpu = kernel::gpuOf(getOperation());
    getOperation()->walk([&](Operation *op) {
      if (gpu && kernel::isAttention(op) && kernel::whyNoAttentionKernel(op, *gpu).empty()) {
        llvm::TypeSwitch<Operation *>(op).Case<AttentionOp, AttentionGradOp>(
            [&](auto attention) { setBand(attention); });
        for (Value v : op->getOperands().take_front(3))
          splitBeforeSlice(v);
        if (auto grad = dyn_cast<AttentionGradOp>(op))
          transposeDelta(grad);
        return;
      }
      if (auto attention = dyn_cast<AttentionOp>(op))
        decompose(attention, blocksOf(attention));
      else if (auto grad = dyn_cast<AttentionGradOp>(op))
        decompose(grad, blocksOf(grad), gradients++);
      else
        return;
      op->erase();
      ++numDecomposed;
    });
    visible.clear();
    getOperation()->walk([](mlir::Block *block) { // what was rewritten
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
        if (isOpTriviallyDead(&op))
          op.erase();
    });
  }

private:
  template <typename OpT>
  Blocks blocksOf(OpT op) {
    AttentionForm form = AttentionForm::of(op);
    bool needsAllScores = op->getNumResults() > 3; // the cotangent of a bias is a sum over samples or heads
    bool isInScan = bool(op->template getParentOfType<ScanOp>()); // whose body holds no scan
    Blocks blocks = needsAllScores || isInScan ? Blocks() : divide(form, blockBytes);
    if (blocks.heads == 0 || (!form.mask && !form.bias))
      return blocks;
    if (const std::optional<VisibleKeys> &keys = visibleTo(form))
      for (Block &block : blocks.queries)
        block.keys = unionOf(keys->ranges, block);
    return blocks;
  }
  /// The layers of a network share their masks.
  const std::optional<VisibleKeys> &visibleTo(const AttentionForm &form) {
    auto [keys, isNew] = visible.try_emplace(std::tuple(form.mask.getAsOpaquePointer(), form.bias.getAsOpaquePointer(),
                                                        form.fill.value_or(-INFINITY), form.queries(), form.keys()));
    if (isNew)
      keys->second = visibleKeys(form.mask, form.bias, form.fill, form.queries(), form.keys());
    return keys->second;
  }

  /// Tells a kernel which keys queries see where that follows from constants, so that it leaves out tiles of keys; mask
  /// and bias are dropped where they say nothing else. Keys that a higher fill hides are seen, and then nothing
  /// changes.
  template <typename OpT>
  void setBand(OpT op) {
    AttentionForm form = AttentionForm::of(op);
    if (form.before || form.after || (!form.mask && !form.bias) || form.fill.value_or(kHidingScore) > kHidingScore)
      return;
    const std::optional<VisibleKeys> &keys = visibleTo(form);
    std::optional<VisibleKeys::Band> band = keys ? keys->band(form.keys()) : std::nullopt;
    if (!band || (!band->before && !band->after && !keys->isWhole))
      return;
    if (band->before)
      op.setBefore(*band->before);
    if (band->after)
      op.setAfter(*band->after);
    op.removeFillAttr();
    if (keys->isWhole) {
      op.getMaskMutable().clear();
      op.getBiasMutable().clear();
    }
  }
  static KeyRange unionOf(ArrayRef<KeyRange> ranges, const Block &block) {
    KeyRange keys = ranges[block.query];
    for (const KeyRange &range : ranges.slice(block.query, block.queries)) {
      keys.first = std::min(keys.first, range.first);
      keys.last = std::max(keys.last, range.last);
    }
    return keys;
  }

  /// This holds what visibleKeys gave for a mask, a bias, a fill and numbers of queries and keys; neither mask nor bias
  /// is erased by this pass.
  std::map<std::tuple<const void *, const void *, double, int64_t, int64_t>, std::optional<VisibleKeys>> visible;
};

} // namespace
