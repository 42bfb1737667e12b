//===- Fold.cpp - folds shape arithmetic away ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes are static, so the values that exporters compute from Shape are known at import. Small tensors of
// numbers are evaluated here: integers in int64, floats in double with one rounding to their type (exact for
// float: 53 >= 2*24 + 2 bits).
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Onnx/Fold.h"
#include "compiler/Import/Onnx/Import.h"
#include "llvm/ADT/StringMap.h"
#include <cmath>
#include <functional>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

static constexpr int64_t kMaxFolded = 1 << 16; // the most elements that are computed

//===-- Movement -----------------------------------------------------------------------===//

bool onnx_import::foldable(Node &n, size_t i) { return foldable(n.entry(i)); }

bool onnx_import::foldable(Entry &e) {
  if (!e.constant || e.constant->size() > (e.constant->splat ? kMaxFolded : kMaxMoved))
    return false;
  if (e.constant->splat) {
    auto bytes = std::make_shared<std::string>();
    for (int64_t k = 0, count = e.constant->size(); k < count; ++k)
      bytes->append(*e.constant->bytes);
    e.constant = HostTensor{e.constant->type, std::move(bytes), false};
  }
  return true;
}

static Shape stridesOf(ArrayRef<int64_t> shape) {
  Shape strides(shape.size(), 1);
  for (int64_t i = int64_t(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

/// Element p of the result is source element offset + sum of p[d]*strides[d].
static HostTensor moveElements(const HostTensor &t, ArrayRef<int64_t> shape, int64_t offset,
                               ArrayRef<int64_t> strides) {
  RankedTensorType type = t.type.clone(shape);
  int64_t n = type.getNumElements(), width = elementBytes(t.element());
  auto bytes = std::make_shared<std::string>(n * width, '\0');
  Shape position(shape.size(), 0);
  int64_t source = offset;
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(bytes->data() + i * width, t.bytes->data() + (t.splat ? 0 : source * width), width);
    for (int64_t d = int64_t(shape.size()) - 1; d >= 0; --d) {
      source += strides[d];
      if (++position[d] < shape[d])
        break;
      source -= strides[d] * shape[d];
      position[d] = 0;
    }
  }
  return {type, std::move(bytes), false};
}

HostTensor onnx_import::foldSlice(const HostTensor &t, ArrayRef<int64_t> starts, ArrayRef<int64_t> sizes,
                                  ArrayRef<int64_t> steps) {
  Shape strides = stridesOf(t.shape());
  int64_t offset = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    offset += starts[d] * strides[d];
    strides[d] *= steps[d];
  }
  return moveElements(t, sizes, offset, strides);
}
HostTensor onnx_import::foldTranspose(const HostTensor &t, ArrayRef<int64_t> permutation) {
  Shape from = stridesOf(t.shape()), strides, shape;
  for (int64_t p : permutation) {
    strides.push_back(from[p]);
    shape.push_back(t.shape()[p]);
  }
  return moveElements(t, shape, 0, strides);
}
HostTensor onnx_import::foldBroadcast(const HostTensor &t, ArrayRef<int64_t> shape) {
  Shape from = stridesOf(t.shape()), strides(shape.size(), 0);
  size_t offset = shape.size() - from.size();
  for (size_t d = 0; d < from.size(); ++d)
    strides[offset + d] = t.shape()[d] == 1 ? 0 : from[d];
  return moveElements(t, shape, 0, strides);
}
HostTensor onnx_import::foldConcat(ArrayRef<HostTensor> parts, int64_t axis) {
  Shape shape(parts[0].shape());
  shape[axis] = 0;
  for (const HostTensor &part : parts)
    shape[axis] += part.shape()[axis];
  auto bytes = std::make_shared<std::string>();
  int64_t outer = 1, width = elementBytes(parts[0].element());
  for (int64_t d : ArrayRef<int64_t>(shape).take_front(axis))
    outer *= d;
  // outer is zero only when the result is empty; then the division below is not reached.
  for (int64_t o = 0; o < outer; ++o)
    for (const HostTensor &part : parts) {
      int64_t chunk = part.size() / outer * width;
      bytes->append(part.bytes->data() + o * chunk, chunk);
    }
  return {parts[0].type.clone(shape), std::move(bytes), false};
}
HostTensor onnx_import::foldGather(const HostTensor &t, ArrayRef<int64_t> indices, ArrayRef<int64_t> indexShape,
                                   int64_t axis) {
  Shape shape(t.shape().take_front(axis));
  llvm::append_range(shape, indexShape);
  llvm::append_range(shape, t.shape().drop_front(axis + 1));
  int64_t outer = 1, chunk = elementBytes(t.element());
  for (int64_t d : t.shape().take_front(axis))
    outer *= d;
  for (int64_t d : t.shape().drop_front(axis + 1))
    chunk *= d;
  auto bytes = std::make_shared<std::string>();
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i : indices)
      bytes->append(t.bytes->data() + (o * t.shape()[axis] + i) * chunk, chunk);
  return {t.type.clone(shape), std::move(bytes), false};
}

/// The entry of a value that is made of others: a constant, or the result of `build`.
static Entry made(ArrayRef<Entry *> from, std::optional<HostTensor> constant, function_ref<Value()> build) {
  Entry entry;
  entry.constant = std::move(constant);
  if (!entry.constant)
    entry.value = build();
  entry.type = entry.constant ? entry.constant->type : typeOf(entry.value);
  entry.fromData = !entry.constant && llvm::any_of(from, [](Entry *e) { return e->fromData; });
  return entry;
}

Entry onnx_import::reshaped(Node &n, Entry &x, ArrayRef<int64_t> shape) {
  std::optional<HostTensor> known;
  if (x.constant)
    known = x.constant->reshaped(shape);
  return made(&x, known, [&] { return n.reshape(n.import.materialize(x), shape); });
}

Entry onnx_import::sliced(Node &n, Entry &x, ArrayRef<int64_t> starts, ArrayRef<int64_t> sizes,
                          ArrayRef<int64_t> strides) {
  std::optional<HostTensor> known;
  if (foldable(x))
    known = foldSlice(*x.constant, starts, sizes, strides);
  return made(&x, known, [&] { return n.slice(n.import.materialize(x), starts, sizes, strides); });
}

Entry onnx_import::concatenated(Node &n, ArrayRef<Entry *> parts, int64_t axis) {
  if (parts.size() == 1)
    return *parts[0];
  RankedTensorType first = parts[0]->type;
  bool constant = llvm::all_of(parts, [&](Entry *part) {
    bool fits = foldable(*part) && part->type.getElementType() == first.getElementType() &&
                part->type.getRank() == first.getRank();
    for (int64_t d = 0; fits && d < first.getRank(); ++d)
      fits = d == axis || part->type.getDimSize(d) == first.getDimSize(d);
    return fits;
  });
  std::optional<HostTensor> known;
  if (constant)
    known = foldConcat(llvm::map_to_vector(parts, [](Entry *part) { return *part->constant; }), axis);
  return made(parts, known, [&]() -> Value {
    SmallVector<Value> inputs;
    for (Entry *part : parts)
      inputs.push_back(n.import.materialize(*part));
    return n.make<ConcatOp>(inputs, [&](auto &p) { p.axis = n.b.getI64IntegerAttr(axis); }).getResult();
  });
}

//===-- Arithmetic ---------------------------------------------------------------------------===//

namespace {
using IntFn = int64_t (*)(int64_t, int64_t);
using FloatFn = double (*)(double, double);
struct BinaryFold {
  IntFn ints;
  FloatFn floats;
  bool boolean; // whether the result is boolean
};
} // namespace

static int64_t wrap(uint64_t v) { return int64_t(v); }
static int64_t divide(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? wrap(0 - uint64_t(a)) : a / b; }
/// The remainder has the divisor's sign (ONNX Mod, fmod=0).
static int64_t modulo(int64_t a, int64_t b) {
  if (b == 0 || b == -1)
    return 0;
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static int64_t power(int64_t a, int64_t b) {
  if (b < 0)
    return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
  uint64_t result = 1, base = uint64_t(a);
  for (uint64_t e = uint64_t(b); e; e >>= 1, base *= base)
    if (e & 1)
      result *= base;
  return wrap(result);
}

static const llvm::StringMap<BinaryFold> &binaryFolds() {
#define BOTH(expression)                                                                                               \
  [](int64_t a, int64_t b) -> int64_t { return expression; }, [](double a, double b) -> double { return expression; }
  static const llvm::StringMap<BinaryFold> map = {
      {"Add",
       {[](int64_t a, int64_t b) { return wrap(uint64_t(a) + uint64_t(b)); }, [](double a, double b) { return a + b; },
        false}},
      {"Sub",
       {[](int64_t a, int64_t b) { return wrap(uint64_t(a) - uint64_t(b)); }, [](double a, double b) { return a - b; },
        false}},
      {"Mul",
       {[](int64_t a, int64_t b) { return wrap(uint64_t(a) * uint64_t(b)); }, [](double a, double b) { return a * b; },
        false}},
      {"Div", {divide, [](double a, double b) { return a / b; }, false}},
      {"Mod", {modulo, nullptr, false}},
      {"Pow", {power, [](double a, double b) { return std::pow(a, b); }, false}},
      {"Min", {BOTH(a < b ? a : b), false}},
      {"Max", {BOTH(a > b ? a : b), false}},
      {"Equal", {BOTH(a == b), true}},
      {"Less", {BOTH(a < b), true}},
      {"LessOrEqual", {BOTH(a <= b), true}},
      {"Greater", {BOTH(a > b), true}},
      {"GreaterOrEqual", {BOTH(a >= b), true}},
      {"And", {BOTH(a && b), true}},
      {"Or", {BOTH(a || b), true}},
      {"Xor", {BOTH(!a != !b), true}},
  };
#undef BOTH
  return map;
}

static const llvm::StringMap<std::pair<int64_t (*)(int64_t), double (*)(double)>> &unaryFolds() {
  static const llvm::StringMap<std::pair<int64_t (*)(int64_t), double (*)(double)>> map = {
      {"Neg", {[](int64_t a) { return wrap(0 - uint64_t(a)); }, [](double a) { return -a; }}},
      {"Abs", {[](int64_t a) { return a < 0 ? wrap(0 - uint64_t(a)) : a; }, [](double a) { return std::fabs(a); }}},
      {"Not", {[](int64_t a) -> int64_t { return !a; }, nullptr}},
      {"Floor", {nullptr, [](double a) { return std::floor(a); }}},
      {"Ceil", {nullptr, [](double a) { return std::ceil(a); }}},
      {"Sqrt", {nullptr, [](double a) { return std::sqrt(a); }}},
      {"Reciprocal", {nullptr, [](double a) { return 1 / a; }}},
  };
  return map;
}

/// Returns whether all inputs are constants whose elements may be computed here. The second input of CastLike may be
/// any tensor, because it gives a type and no elements.
static bool allConstant(Node &n) {
  const size_t count = n.proto.op_type() == "CastLike" ? std::min<size_t>(n.numInputs(), 1) : n.numInputs();
  if (count == 0)
    return false;
  for (size_t i = 0; i < count; ++i)
    if (!n.has(i) || n.isSequence(i) || !n.entry(i).constant || n.entry(i).constant->size() > kMaxFolded)
      return false;
  return true;
}

/// The elements of input i, broadcast to the shape.
template <typename T>
static std::vector<T> broadcastElements(Node &n, size_t i, ArrayRef<int64_t> shape) {
  HostTensor t = foldBroadcast(*n.entry(i).constant, shape);
  if constexpr (std::is_same_v<T, double>)
    return t.doubles();
  else
    return t.ints();
}

static bool foldBinary(Node &n, const BinaryFold &f) {
  if (n.numInputs() != 2 || n.element(0) != n.element(1) || n.element(0).isUnsignedInteger(64))
    return false;
  bool floats = isFloat(n.element(0));
  if (floats ? !f.floats : !f.ints)
    return false;
  if (n.proto.op_type() == "Mod" && n.intAttribute("fmod", 0) != 0)
    return false;
  auto shape = broadcastShapes(n.shape(0), n.shape(1));
  if (!shape || elementCount(*shape).value_or(kMaxFolded + 1) > kMaxFolded)
    return false; // the op's converter reports it
  Type element = f.boolean ? n.b.getI1Type() : n.element(0);
  auto type = RankedTensorType::get(*shape, element);
  auto each = [&](auto zero, auto fn) {
    using T = decltype(zero);
    std::vector<T> a = broadcastElements<T>(n, 0, *shape), b = broadcastElements<T>(n, 1, *shape);
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = T(fn(a[i], b[i]));
    return a;
  };
  HostTensor result = floats ? HostTensor::fromDoubles(type, each(double(), f.floats))
                             : HostTensor::fromInts(type, each(int64_t(), f.ints));
  result.splat = false;
  n.out(0, std::move(result));
  return true;
}

static bool foldWhere(Node &n) {
  auto shape = broadcastShapes(n.shape(1), n.shape(2));
  if (shape)
    shape = broadcastShapes(*shape, n.shape(0));
  if (!shape || n.element(1) != n.element(2) || !n.element(0).isInteger(1) ||
      elementCount(*shape).value_or(kMaxFolded + 1) > kMaxFolded)
    return false;
  std::vector<int64_t> condition = broadcastElements<int64_t>(n, 0, *shape);
  HostTensor a = foldBroadcast(*n.entry(1).constant, *shape), b = foldBroadcast(*n.entry(2).constant, *shape);
  auto bytes = std::make_shared<std::string>(*a.bytes);
  int64_t width = elementBytes(a.element());
  for (size_t i = 0; i < condition.size(); ++i)
    if (!condition[i])
      std::memcpy(bytes->data() + i * width, b.bytes->data() + i * width, width);
  n.out(0, HostTensor{a.type, std::move(bytes), false});
  return true;
}

static bool foldCast(Node &n) {
  Type to = n.proto.op_type() == "CastLike" ? n.element(1) : elementType(n.context, n.intAttribute("to"));
  if (!to)
    return false;
  n.ignore({"saturate", "round_mode"});
  const HostTensor &t = *n.entry(0).constant;
  RankedTensorType from = t.type, type = from.clone(to);
  HostTensor result =
      isFloat(t.element()) ? HostTensor::fromDoubles(type, t.doubles()) : HostTensor::fromInts(type, t.ints());
  result.splat = false;
  n.out(0, std::move(result));
  return true;
}

/// Folds the reduction of a whole small integer tensor, since exporters compute products of shapes.
static bool foldReduce(Node &n, bool product) {
  if (isFloat(n.element(0)) || n.entry(0).type.getRank() != 1)
    return false;
  if (auto axes = n.intsAttribute("axes"); axes && *axes != Shape{0} && *axes != Shape{-1})
    return false;
  bool keepdims = n.intAttribute("keepdims", 1) != 0;
  if (n.numInputs() > 2 || n.intAttribute("noop_with_empty_axes", 0) != 0)
    return false;
  if (n.numInputs() == 2) {
    std::vector<int64_t> axes = n.entry(1).constant->ints();
    if (axes.size() != 1 || (axes[0] != 0 && axes[0] != -1))
      return false;
  }
  uint64_t total = product ? 1 : 0;
  for (int64_t v : n.entry(0).constant->ints())
    total = product ? total * uint64_t(v) : total + uint64_t(v);
  auto type = RankedTensorType::get(keepdims ? Shape{1} : Shape{}, n.element(0));
  n.out(0, HostTensor::fromInts(type, int64_t(total)));
  return true;
}

bool onnx_import::fold(Node &n) {
  const std::string &op = n.proto.op_type();
  if (!allConstant(n))
    return false;
  if (auto it = binaryFolds().find(op); it != binaryFolds().end())
    return foldBinary(n, it->second);
  if (auto it = unaryFolds().find(op); it != unaryFolds().end()) {
    auto [ints, floats] = it->second;
    const HostTensor &t = *n.entry(0).constant;
    bool isFloats = isFloat(t.element());
    if (n.numInputs() != 1 || (isFloats ? !floats : !ints) || t.element().isUnsignedInteger(64) ||
        (op == "Not" && !t.element().isInteger(1)))
      return false;
    HostTensor result;
    if (isFloats) {
      std::vector<double> values = t.doubles();
      llvm::transform(values, values.begin(), floats);
      result = HostTensor::fromDoubles(t.type, values);
    } else {
      std::vector<int64_t> values = t.ints();
      llvm::transform(values, values.begin(), ints);
      result = HostTensor::fromInts(t.type, values);
    }
    result.splat = false;
    n.out(0, std::move(result));
    return true;
  }
  if (op == "Where" && n.numInputs() == 3)
    return foldWhere(n);
  if (op == "Cast" || (op == "CastLike" && n.numInputs() == 2))
    return foldCast(n);
  if (op == "ReduceProd" || op == "ReduceSum")
    return foldReduce(n, op == "ReduceProd");
  return false;
}
