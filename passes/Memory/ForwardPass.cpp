//===- ForwardPass.cpp - what a step's backward pass needs of its forward pass --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which values to save is a minimum cut, as in Min-Cut Rematerialization of PyTorch's AOTAutograd. Cutting the forward
// pass into segments that are computed again from their inputs is gradient checkpointing (Chen et al. 2016, Training
// Deep Nets with Sublinear Memory Cost).
//
//===----------------------------------------------------------------------===//
#include "passes/Memory/ForwardPass.h"
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Interfaces/Contraction.h"
#include "dialects/Kernel/Analysis/HostCall.h"
#include "passes/Memory/MinimumCut.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::memory;

/// Tensors of at most so many bytes are saved: statistics, scalars, small vectors.
static constexpr int64_t kFewBytes = 4096;

double memory::flopsOf(Operation *op) {
  auto contraction = dyn_cast<ContractionOpInterface>(op);
  return contraction ? MatrixProduct::flopsOf(contraction.getProduct().digits) : 0;
}

ForwardPass::ForwardPass(train::StepOp step) {
  Block &block = step.getBody().front();
  if (block.getTerminator()->getNumOperands() > 0)
    loss = block.getTerminator()->getOperand(0).getDefiningOp();
  if (!loss)
    return;
  llvm::SetVector<Operation *> found;
  found.insert(loss);
  for (size_t i = 0; i < found.size(); ++i)
    for (Value v : found[i]->getOperands())
      if (Operation *producer = v.getDefiningOp())
        found.insert(producer);
  // A view that only later ops read may stand before the loss.
  for (Operation &op : block)
    if (isView(&op) && found.contains(op.getOperand(0).getDefiningOp()) && op.isBeforeInBlock(loss))
      found.insert(&op);
  forward = found.takeVector();
  llvm::sort(forward, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (auto [i, op] : llvm::enumerate(forward))
    places[op] = i;
  for (auto [i, op] : llvm::enumerate(forward))
    for (Value v : op->getOperands())
      lastReads[storageOf(v)] = i;
  for (Operation &op : block)
    if (isLater(&op))
      for (Value v : op.getOperands())
        if (Value storage = storageOf(v); contains(storage.getDefiningOp()) && !isAlwaysThere(storage))
          needed.insert(storage);
}

bool ForwardPass::isLater(Operation *op) const {
  return loss && !contains(op) && loss->getBlock() == op->getBlock() && loss->isBeforeInBlock(op);
}

bool ForwardPass::isAlwaysThere(Value storage) const {
  Operation *op = storage.getDefiningOp();
  return !op || isPermanent(storage) || isOfKind(op, LoopKind::Generator) || bytesOf(storage.getType()) <= kFewBytes;
}

void ForwardPass::forEachValue(llvm::function_ref<void(Value, unsigned, unsigned)> fn) const {
  for (auto [i, op] : llvm::enumerate(forward))
    for (Value v : op->getResults())
      if (auto last = lastReads.find(v); last != lastReads.end() && !isAlwaysThere(v) && storageOf(v) == v)
        fn(v, i, last->second);
}

SmallVector<int64_t> ForwardPass::crossingBytes() const {
  // Each value adds its bytes at the place behind it and takes them away behind its last reader.
  SmallVector<int64_t> bytes(forward.size() + 1, 0);
  forEachValue([&](Value v, unsigned place, unsigned last) {
    bytes[place + 1] += bytesOf(v.getType());
    bytes[last + 1] -= bytesOf(v.getType());
  });
  for (size_t i = 1; i < bytes.size(); ++i)
    bytes[i] += bytes[i - 1];
  return bytes;
}

SmallVector<ForwardPass::Segment> ForwardPass::segments() const {
  if (forward.empty())
    return {};
  SmallVector<int64_t> crossing = crossingBytes();
  // Sums up to each place: of what the ops before it save, and of their products.
  SmallVector<int64_t> saved(forward.size() + 1, 0);
  SmallVector<double> flops(forward.size() + 1, 0);
  Segment all{0, unsigned(forward.size())};
  for (Value v : valuesToSave(all))
    saved[places.at(v.getDefiningOp()) + 1] += bytesOf(v.getType());
  SmallVector<unsigned> cuts{0};
  for (auto [i, op] : llvm::enumerate(forward)) {
    if (isa<ContractionOpInterface>(op) && i > 0)
      cuts.push_back(i);
    saved[i + 1] += saved[i];
    flops[i + 1] = flops[i] + flopsOf(op);
  }
  cuts.push_back(forward.size());

  // For a limit on the bytes of a segment: the cuts with the fewest crossing bytes, from the last one to the first.
  auto divide = [&](int64_t limit) {
    SmallVector<int64_t> cost(cuts.size(), INT64_MAX);
    SmallVector<unsigned> from(cuts.size(), 0);
    cost[0] = 0;
    for (unsigned to = 1; to < cuts.size(); ++to)
      for (unsigned i = 0; i < to; ++i) {
        // A segment between neighbouring cuts cannot be made smaller.
        if (i + 1 < to && saved[cuts[to]] - saved[cuts[i]] > limit)
          continue;
        int64_t here = cost[i] + (to + 1 == cuts.size() ? 0 : crossing[cuts[to]]);
        if (here < cost[to]) {
          cost[to] = here;
          from[to] = i;
        }
      }
    SmallVector<Segment> result;
    for (unsigned to = cuts.size() - 1; to > 0; to = from[to]) {
      unsigned begin = cuts[from[to]], end = cuts[to];
      result.push_back({begin, end, saved[end] - saved[begin], flops[end] - flops[begin]});
    }
    std::reverse(result.begin(), result.end());
    return std::pair(result, cost.back());
  };
  SmallVector<Segment> best{{0, unsigned(forward.size()), saved.back(), flops.back()}};
  int64_t bestBytes = saved.back();
  for (size_t parts = 2; parts < cuts.size(); parts += 1 + parts / 4) {
    auto [segments, crossings] = divide(saved.back() / int64_t(parts));
    int64_t largest = 0;
    for (const Segment &segment : segments)
      largest = std::max(largest, segment.bytes);
    if (crossings + largest < bestBytes) {
      bestBytes = crossings + largest;
      best = std::move(segments);
    }
  }
  return best;
}

/// Returns whether an op adds the bias in the launch of a product.
static bool isBias(Operation *op) {
  return isa<AddOp>(op) && llvm::any_of(op->getOperands(), [&](Value v) {
           auto contraction = v.getDefiningOp<ContractionOpInterface>();
           std::optional<kernel::Bias> bias = contraction ? kernel::biasOf(contraction) : std::nullopt;
           return bias && bias->add == op;
         });
}

/// Returns whether the results of an op may be computed again. With `products` they may be even where that takes a
/// product.
static bool isRepeatable(Operation *op, bool products) {
  std::optional<LoopKind> kind = loopKindOf(op);
  if (!kind || *kind == LoopKind::Reduction || *kind == LoopKind::Scatter || *kind == LoopKind::Repeat ||
      *kind == LoopKind::Composite)
    return false;
  return products || (*kind != LoopKind::Contraction && !drawsNumbers(op) && !isBias(op));
}

/// Returns what it costs to save a value: its bytes, and a little more where it would not be in memory if it were not
/// saved. A product whose launch adds a bias is never in memory. To save it would round it once more than without, and
/// the forward pass would have other results.
static int64_t priceOf(Value v) {
  auto contraction = dyn_cast<ContractionOpInterface>(v.getDefiningOp());
  if (contraction && kernel::biasOf(contraction))
    return CutGraph::unlimited;
  return bytesOf(v.getType()) * (isOfKind(v.getDefiningOp(), LoopKind::Elementwise) ? 65 : 64);
}

llvm::DenseSet<Value> ForwardPass::valuesToSave(ArrayRef<Segment> segments) const {
  llvm::DenseSet<Value> entering;
  forEachValue([&](Value v, unsigned place, unsigned last) {
    const Segment *next = llvm::upper_bound(segments, place, [](unsigned p, const Segment &s) { return p < s.begin; });
    if (next != segments.end() && next->begin <= last)
      entering.insert(v);
  });
  // The edge between a value's two nodes costs its bytes. What cannot be computed again is connected with the source,
  // the rest with what it is computed from; needed values are connected with the sink.
  CutGraph graph;
  DenseMap<Value, unsigned> nodes;
  SmallVector<Value> values;
  size_t current = 0;
  for (auto [i, op] : llvm::enumerate(forward)) {
    while (current + 1 < segments.size() && i >= segments[current].end)
      ++current;
    if (isView(op))
      continue;
    for (Value v : op->getResults()) {
      if (isAlwaysThere(v))
        continue;
      unsigned in = nodes[v] = graph.addNode(), out = graph.addNode();
      values.push_back(v);
      graph.addEdge(in, out, priceOf(v));
      if (needed.contains(v))
        graph.addEdge(out, CutGraph::sink, CutGraph::unlimited);
      if (entering.contains(v) || !isRepeatable(op, segments[current].repeatsProducts)) {
        graph.addEdge(CutGraph::source, in, CutGraph::unlimited);
        continue;
      }
      for (Value operand : op->getOperands())
        if (auto node = nodes.find(storageOf(operand)); node != nodes.end())
          graph.addEdge(node->second + 1, in, CutGraph::unlimited);
    }
  }
  llvm::BitVector side = graph.cutNearSink();
  llvm::DenseSet<Value> result;
  for (Value v : values)
    if (side.test(nodes[v] + 1) && !side.test(nodes[v]))
      result.insert(v);
  return result;
}
