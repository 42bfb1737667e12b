//===- Attention.cpp - attention, rotary embeddings and caches --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An attention is one op, or a composition of others where something else reads its scores, they are capped or the mask
// is one of floats. The other ops are compositions, so their gradients and precision are those of their parts.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Onnx/Import.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

static constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

//===-- Attention ---------------------------------------------------------------------===//

namespace {

/// Which keys a query sees. Both values have the form [..., queries, keys] and broadcast to the scores; null
/// stands for all keys, and for no addend.
struct Visibility {
  Value allowed, bias;
};

/// Attention-25, 24 and 23: softmax(scale * q k^T, capped, + mask) v, for [batch, heads, sequence, width] or
/// [batch, sequence, heads * width].
struct Attention {
  Node &n;
  bool flat;        // the inputs are of rank 3
  Value q, k, v;    // [B, Hq, S, D], [B, Hk, T, D], [B, Hk, T, Dv]
  int64_t past = 0; // the cached keys before those of this call
  int64_t batch() { return shapeOf(q)[0]; }
  int64_t queries() { return shapeOf(q)[2]; }
  int64_t keys() { return shapeOf(k)[2]; }
  int64_t heads() { return shapeOf(q)[1]; }

  explicit Attention(Node &node) : n(node), flat(node.rank(0) == 3) {
    for (size_t i = 0; i < 3; ++i)
      if (n.rank(i) != n.rank(0) || (n.rank(0) != 3 && n.rank(0) != 4))
        n.fail("query, key and value must be of rank 3, or all of rank 4");
    int64_t ofQuery = n.intAttribute("q_num_heads", 0), ofKey = n.intAttribute("kv_num_heads", 0);
    q = heads(n.floatIn(0), ofQuery, "q_num_heads");
    k = heads(n.floatIn(1), ofKey, "kv_num_heads");
    v = heads(n.floatIn(2), ofKey, "kv_num_heads");
    if (n.has(4) != n.has(5))
      n.fail("past_key and past_value are given together");
    if (n.has(4)) {
      if (n.rank(4) != 4 || n.rank(5) != 4)
        n.fail("past_key and past_value must be of rank 4");
      past = n.shape(4)[2];
      k = behind(n.in(4), k);
      v = behind(n.in(5), v);
    }
    ArrayRef<int64_t> qs = shapeOf(q), ks = shapeOf(k), vs = shapeOf(v);
    if (ks[0] != qs[0] || vs[0] != qs[0] || ks[1] != vs[1] || ks[2] != vs[2] || ks[3] != qs[3])
      n.fail("query, key and value do not fit together");
    if (ks[1] == 0 || qs[1] % ks[1])
      n.fail(Twine(qs[1]) + " heads of the query do not divide among " + Twine(ks[1]) + " of key and value");
  }

  /// Brings [B, S, H*D] into the form [B, H, S, D].
  Value heads(Value x, int64_t count, StringRef attribute) {
    if (!flat)
      return x;
    ArrayRef<int64_t> s = shapeOf(x);
    if (count < 1 || s[2] % count)
      n.fail(Twine(s[2]) + " elements do not divide into " + Twine(count) + " heads", "", attribute);
    return n.transpose(n.reshape(x, {s[0], s[1], count, s[2] / count}), {0, 2, 1, 3});
  }
  Value behind(Value first, Value second) { return n.concat({first, second}, 2); }

  /// a @ b for each head of the query. The rows of the heads that share a key become one matrix, so nothing
  /// is repeated.
  Value product(Value a, Value b, bool transposed) {
    Shape as(shapeOf(a)), bs(shapeOf(b));
    int64_t group = as[1] / bs[1];
    Value rows = n.reshape(a, {as[0], bs[1], group * as[2], as[3]});
    Value y = n.make<MatMulOp>(ValueRange{rows, b}, [&](auto &p) {
                 if (transposed)
                   p.transpose_b = n.b.getUnitAttr();
               }).getResult();
    return n.reshape(y, {as[0], as[1], as[2], shapeOf(y)[3]});
  }

  /// The positions of queries, [..., S, 1], and of keys, [1, T]. A query has the position of the key at the
  /// same place in the sequence.
  Value queryPositions() {
    auto type = n.tensorType({queries(), 1}, n.b.getI64Type());
    Value row = n.iota(type, 0);
    if (!n.has(6) || n.has(4))
      return past ? n.add(row, n.i64(past)) : row;
    // With an outer cache, a sample's last query has the position of its last key.
    return n.add(row, n.reshape(n.sub(lengths(), n.i64(queries())), {batch(), 1, 1, 1}));
  }
  Value keyPositions() { return n.iota(n.tensorType({1, keys()}, n.b.getI64Type()), 1); }
  Value lengths() {
    if (n.shape(6) != ArrayRef<int64_t>{batch()})
      n.fail("nonpad_kv_seqlen must have one number for each sample");
    return n.cast(n.in(6), n.b.getI64Type());
  }

  Visibility visibility() {
    Visibility seen;
    auto also = [&](Value condition) {
      seen.allowed = seen.allowed ? n.binary<AndOp>(seen.allowed, condition) : condition;
    };
    int64_t left = n.opset >= 25 ? n.intAttribute("left_window_size", -1) : -1,
            right = n.opset >= 25 ? n.intAttribute("right_window_size", -1) : -1;
    if (n.intAttribute("is_causal", 0) != 0)
      right = 0;
    if (right >= 0)
      also(n.compare(Predicate::le, keyPositions(), right ? n.add(queryPositions(), n.i64(right)) : queryPositions()));
    if (left >= 0)
      also(n.compare(Predicate::ge, keyPositions(), n.sub(queryPositions(), n.i64(left))));
    if (n.has(6))
      also(n.compare(Predicate::lt, keyPositions(), n.reshape(lengths(), {batch(), 1, 1, 1})));
    if (!n.has(3))
      return seen;
    Value mask = n.in(3);
    if (n.rank(3) == 0 || shapeOf(mask).back() > keys())
      n.fail("the mask reaches beyond the " + Twine(keys()) + " keys");
    if (int64_t missing = keys() - shapeOf(mask).back(); missing && (n.opset >= 24 || shapeOf(mask).back() != 1)) {
      Shape low(n.rank(3), 0), high(n.rank(3), 0);
      high.back() = missing;
      mask = n.make<PadOp>(mask, [&](auto &p) {
                p.value = n.b.getF64FloatAttr(elementOf(mask).isInteger(1) ? 0 : kMinusInfinity);
                p.low = n.b.getDenseI64ArrayAttr(low);
                p.high = n.b.getDenseI64ArrayAttr(high);
                p.interior = n.b.getDenseI64ArrayAttr(Shape(n.rank(3), 0));
              }).getResult();
    }
    if (elementOf(mask).isInteger(1))
      also(mask);
    else
      seen.bias = n.cast(mask, elementOf(q));
    return seen;
  }

  /// Whether a query sees any key, [..., S, 1]. Where it sees none the softmax is 0 by definition, but would
  /// be NaN by calculation.
  Value seesAny(const Visibility &seen) {
    Value finite = seen.allowed;
    if (seen.bias) {
      Value open = n.compare(Predicate::gt, seen.bias, n.number(kMinusInfinity, seen.bias));
      finite = finite ? n.binary<AndOp>(finite, open) : open;
    }
    return n.reduce<ReduceAnyOp>(finite, {typeOf(finite).getRank() - 1}, true);
  }

  void build() {
    double scale = n.hasAttribute("scale") ? n.floatAttribute("scale") : 1 / std::sqrt(double(shapeOf(q)[3]));
    double cap = n.floatAttribute("softcap", 0.0);
    int64_t mode = n.intAttribute("qk_matmul_output_mode", 0);
    if (!(scale >= 0))
      n.limit("a negative scale is not supported", "", "scale");
    if (mode < 0 || mode > 3)
      n.fail("qk_matmul_output_mode is 0 to 3, not " + Twine(mode), "", "qk_matmul_output_mode");
    Type element = elementOf(q), precision = element;
    if (n.hasAttribute("softmax_precision"))
      precision = elementType(n.context, n.intAttribute("softmax_precision"));
    if (!isa_and_nonnull<FloatType>(precision))
      n.fail("the precision of the softmax must be a float type", "", "softmax_precision");

    // Both factors are multiplied by the root of the scale, as in the specification; so the product is less
    // likely to overflow 16 bits.
    Value root = n.number(std::sqrt(scale), q);
    Value scaledQ = n.mul(q, root), scaledK = n.mul(k, root);
    bool isEmpty = batch() * heads() * queries() * keys() == 0;
    // A mask of floats may hide with numbers, for which one log-sum-exp in fp32 is too little (ComposedAttention.cpp).
    bool hasFloatMask = n.has(3) && !elementOf(n.in(3)).isInteger(1);
    if (!n.used(3) && !(cap > 0) && precision == computeType(element) && !isEmpty && !hasFloatMask)
      return finish(whole(scaledQ, scaledK));
    Value scores = product(scaledQ, scaledK, /*transposed=*/true);
    if (n.used(3) && mode == 0)
      n.out(3, scores);
    if (cap > 0)
      scores = n.mul(n.unary<TanhOp>(n.div(scores, n.number(cap, scores))), n.number(cap, scores));
    if (n.used(3) && mode == 1)
      n.out(3, scores);
    Visibility seen = visibility();
    checkMask(seen.allowed);
    checkMask(seen.bias);
    if (seen.bias)
      scores = n.add(scores, seen.bias);
    if (seen.allowed)
      scores = n.select(seen.allowed, scores, n.number(kMinusInfinity, scores));
    if (n.used(3) && mode == 2)
      n.out(3, scores);
    Value any;
    if (seen.allowed || seen.bias) {
      any = seesAny(seen);
      scores = n.select(any, scores, n.number(0, scores));
    }
    scores = n.cast(scores, precision);
    Value weights = n.make<SoftmaxOp>(scores, [&](auto &p) { p.axis = n.b.getI64IntegerAttr(3); }).getY();
    if (any)
      weights = n.select(any, weights, n.number(0, weights));
    weights = n.cast(weights, element);
    if (n.used(3) && mode == 3)
      n.out(3, weights);
    finish(product(weights, n.cast(v, element), /*transposed=*/false));
  }

  /// The attention as one op, for which nothing else may need the scores, and whose mask is one of booleans.
  Value whole(Value scaledQ, Value scaledK) {
    auto four = [&](Value x) {
      Shape shape(4 - shapeOf(x).size(), 1);
      llvm::append_range(shape, shapeOf(x));
      return n.reshape(x, shape);
    };
    Visibility seen = visibility();
    checkMask(seen.allowed);
    SmallVector<Value> operands{scaledQ, scaledK, n.cast(v, elementOf(q))};
    if (seen.allowed)
      operands.push_back(four(seen.allowed));
    return n
        .make<AttentionOp>(operands,
                           [&](AttentionOp::Properties &p) {
                             p.operandSegmentSizes = {1, 1, 1, seen.allowed ? 1 : 0, 0, 0, 0};
                             p.scale = n.b.getF64FloatAttr(1);
                             if (seen.allowed)
                               p.zero_rows = n.b.getUnitAttr();
                           })
        .getY();
  }

  /// Sets the outputs, given y for each head.
  void finish(Value y) {
    if (flat)
      y = n.reshape(n.transpose(y, {0, 2, 1, 3}), {batch(), queries(), heads() * shapeOf(y)[3]});
    n.out(0, y);
    if (n.used(1))
      n.out(1, k);
    if (n.used(2))
      n.out(2, v);
  }

  /// Checks that a mask, or null, has the extents of the scores or 1.
  void checkMask(Value x) {
    Shape scores{batch(), heads(), queries(), keys()};
    std::optional<Shape> broadcast = x ? broadcastShapes(scores, shapeOf(x)) : scores;
    if (!broadcast || *broadcast != scores)
      n.fail("the mask does not broadcast to [" + Twine(batch()) + ", " + Twine(heads()) + ", " + Twine(queries()) +
             ", " + Twine(keys()) + "]");
  }
};
} // namespace

static void attention(Node &n) { Attention(n).build(); }

//===-- Positions and caches ------------------------------------------------------------===//

/// RotaryEmbedding-23: pairs of elements of each position are rotated by the angle whose cosine and sine are
/// in the tables.
static void rotaryEmbedding(Node &n) {
  Value x = n.floatIn(0);
  bool flat = n.rank(0) == 3, interleaved = n.intAttribute("interleaved", 0) != 0;
  int64_t heads = n.intAttribute("num_heads", 0);
  if (!flat && n.rank(0) != 4)
    n.fail("the input must be of rank 3 or 4");
  if (flat && (heads < 1 || n.shape(0)[2] % heads))
    n.fail(Twine(n.shape(0)[2]) + " elements do not divide into " + Twine(heads) + " heads", "", "num_heads");
  // The shape is [B, S, H, D] from here on.
  ArrayRef<int64_t> given = n.shape(0);
  x = flat ? n.reshape(x, {given[0], given[1], heads, given[2] / heads}) : n.transpose(x, {0, 2, 1, 3});
  Shape shape(shapeOf(x));
  int64_t width = n.intAttribute("rotary_embedding_dim", 0);
  if (width == 0)
    width = shape[3];
  if (width < 0 || width > shape[3] || width % 2)
    n.fail("cannot turn " + Twine(width) + " of " + Twine(shape[3]) + " elements", "", "rotary_embedding_dim");
  int64_t half = width / 2;
  auto angles = [&](size_t input) {
    Value table = n.floatIn(input);
    if (n.has(3)) {
      if (n.rank(input) != 2)
        n.fail("with position_ids the tables have rank 2");
      n.import.markIndices(n.in(3), n.shape(input)[0], n.loc);
      table = n.gather(table, n.in(3), 0);
    }
    if (shapeOf(table) != ArrayRef<int64_t>{shape[0], shape[1], half})
      n.fail("the tables do not hold " + Twine(half) + " angles for each position");
    return n.reshape(table, {shape[0], shape[1], 1, half});
  };
  Value cosine = angles(1), sine = angles(2);
  auto part = [&](int64_t start, int64_t size, int64_t stride) {
    return n.slice(x, {0, 0, 0, start}, {shape[0], shape[1], shape[2], size}, {1, 1, 1, stride});
  };
  Value a = interleaved ? part(0, half, 2) : part(0, half, 1), b = interleaved ? part(1, half, 2) : part(half, half, 1);
  Value real = n.sub(n.mul(cosine, a), n.mul(sine, b)), imaginary = n.add(n.mul(sine, a), n.mul(cosine, b));
  Value turned;
  if (interleaved) {
    Shape single = {shape[0], shape[1], shape[2], half, 1};
    turned = n.reshape(n.concat({n.reshape(real, single), n.reshape(imaginary, single)}, 4),
                       {shape[0], shape[1], shape[2], width});
  } else {
    turned = n.concat({real, imaginary}, 3);
  }
  if (width < shape[3])
    turned = n.concat({turned, part(width, shape[3] - width, 1)}, 3);
  n.out(0, flat ? n.reshape(turned, given) : n.transpose(turned, {0, 2, 1, 3}));
}

/// TensorScatter-24: the update replaces as many elements along the axis, from write_indices[sample] on. Each
/// element of the result reads the update or the cache.
static void tensorScatter(Node &n) {
  int64_t rank = n.rank(0), axis = n.axis(n.intAttribute("axis", -2), rank);
  std::string mode = n.stringAttribute("mode", "linear");
  if (axis == 0 || n.rank(1) != rank)
    n.fail("the axis must not be the batch, and the update has the cache's rank", "", "axis");
  if (mode != "linear" && mode != "circular")
    n.fail("mode '" + printable(mode) + "' is not known", "linear or circular", "mode");
  for (int64_t d = 0; d < rank; ++d)
    if (d == axis ? n.shape(1)[d] > n.shape(0)[d] : n.shape(1)[d] != n.shape(0)[d])
      n.fail("the update does not fit into dimension " + Twine(d) + " of the cache");
  int64_t batch = n.shape(0)[0], extent = n.shape(0)[axis], count = n.shape(1)[axis];
  Value cache = n.in(0), update = n.in(1);
  if (count == 0)
    return n.forward(0, 0);
  // offset[b, t] = t - write_indices[b] is the position in the update of element t of the cache.
  auto type = n.tensorType({batch, extent}, n.b.getI64Type());
  Value offset = n.iota(type, 1);
  if (n.has(2)) {
    if (n.shape(2) != ArrayRef<int64_t>{batch})
      n.fail("write_indices must have one number for each sample");
    offset = n.sub(offset, n.reshape(n.cast(n.in(2), n.b.getI64Type()), {batch, 1}));
  }
  if (mode == "circular")
    offset = n.make<ModOp>(ValueRange{offset, n.i64(extent)}).getResult();
  Value inside =
      n.binary<AndOp>(n.compare(Predicate::ge, offset, n.i64(0)), n.compare(Predicate::lt, offset, n.i64(count)));
  // Rows [b * count + offset] of the update are read, where the axis follows the batch.
  Value row = n.add(n.mul(n.iota(type, 0), n.i64(count)), n.select(inside, offset, n.i64(0)));
  Shape permutation = {0, axis}, inverse(rank, 0);
  for (int64_t d = 1; d < rank; ++d)
    if (d != axis)
      permutation.push_back(d);
  for (auto [i, d] : llvm::enumerate(permutation))
    inverse[d] = int64_t(i);
  Value moved = n.transpose(update, permutation);
  Shape rows = {batch * count};
  llvm::append_range(rows, shapeOf(moved).drop_front(2));
  Value placed = n.transpose(n.gather(n.reshape(moved, rows), row, 0), inverse);
  Shape wide(rank, 1);
  wide[0] = batch;
  wide[axis] = extent;
  n.out(0, n.select(n.reshape(inside, wide), placed, cache));
}

OpFamily onnx_import::attentionOps() {
  static const OpRow rows[] = {
      {"Attention", 23, kMaxOpset, {6, 24, 7}, 4, "@@@d", "no negative scale", attention},
      {"RotaryEmbedding", 23, kMaxOpset, 4, 1, "", "", rotaryEmbedding},
      {"TensorScatter", 24, kMaxOpset, 3, 1, "", "", tensorScatter},
  };
  return {"Attention", rows};
}
