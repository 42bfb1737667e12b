//===- Bits.cpp - operations on the bits of integers ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Node.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

static IntegerType integerType(Node &n, size_t i) {
  auto type = dyn_cast<IntegerType>(n.element(i));
  if (!type || type.getWidth() == 1)
    n.fail("only integers have bits", "use And, Or, Xor and Not for truth values");
  return type;
}

/// Returns x as unsigned integers of the same width.
static Value withoutSign(Node &n, Value x) {
  auto type = cast<IntegerType>(elementOf(x));
  auto unsignedType = IntegerType::get(n.context, type.getWidth(), IntegerType::Unsigned);
  return type == unsignedType ? x : n.make<BitcastOp>(x, {}, Type(typeOf(x).clone(unsignedType))).getResult();
}

/// Returns 1, 2, 4, ...: a number for each bit.
static Value powers(Node &n, Type element) {
  std::vector<int64_t> values;
  for (unsigned bit = 0; bit < element.getIntOrFloatBitWidth(); ++bit)
    values.push_back(int64_t(uint64_t(1) << bit));
  return n.constantValue(HostTensor::fromInts(RankedTensorType::get({int64_t(values.size())}, element), values));
}

enum class Bits { And, Or, Xor };

/// Each bit is a number of its own, 0 or 1, in a further dimension, and their sum is the result.
template <Bits op>
static void bitwise(Node &n) {
  const IntegerType type = integerType(n, 0);
  if (n.element(1) != type)
    n.fail("the operands have different element types");
  auto bitsOf = [&](size_t i) {
    Shape wide(n.shape(i));
    wide.push_back(1);
    Value x = n.reshape(withoutSign(n, n.in(i)), wide);
    return n.binary<ModOp>(n.div(x, powers(n, elementOf(x))), n.number(2, x));
  };
  Value a = bitsOf(0), b = bitsOf(1), bits;
  if (op == Bits::And)
    bits = n.mul(a, b);
  else if (op == Bits::Or)
    bits = n.binary<MaxOp>(a, b);
  else
    bits = n.binary<ModOp>(n.add(a, b), n.number(2, a));
  const int64_t rank = typeOf(bits).getRank();
  Value y = n.sum(n.mul(bits, powers(n, elementOf(bits))), {rank - 1}, /*keepdims=*/false);
  n.out(0, elementOf(y) == type ? y : n.make<BitcastOp>(y, {}, Type(typeOf(y).clone(type))).getResult());
}

/// In two's complement, not x is -1 - x.
static void bitwiseNot(Node &n) {
  const IntegerType type = integerType(n, 0);
  n.out(0, n.sub(n.constantValue(HostTensor::fromInts(RankedTensorType::get({}, type), {-1})), n.in(0)));
}

/// A shift by y bits is a product with 2^y, or a quotient. By fewer than none, or by as many bits as there are or more,
/// it leaves none. To the right the sign stays: a negative number is shifted as not x, which is not negative.
static void bitShift(Node &n) {
  const std::string direction = n.stringAttribute("direction");
  const IntegerType type = integerType(n, 0);
  if (n.element(1) != type)
    n.fail("the operands have different element types");
  if (direction != "LEFT" && direction != "RIGHT")
    n.fail("direction '" + printable(direction) + "' is not known", "LEFT or RIGHT", "direction");
  const bool left = direction == "LEFT";
  Value x = n.in(0), y = n.in(1), zero = n.number(0, x), most = n.number(double(type.getWidth() - 1), y);
  Value within = n.binary<MaxOp>(n.binary<MinOp>(y, most), zero);
  Value outside = n.compare(Predicate::ne, within, y);
  Value bits = withoutSign(n, x), factor = n.gather(powers(n, elementOf(bits)), n.cast(within, n.b.getI64Type()), 0);
  auto signedAgain = [&](Value v) {
    return type.isUnsigned() ? v : n.make<BitcastOp>(v, {}, Type(typeOf(v).clone(type))).getResult();
  };
  if (left)
    return n.out(0, n.select(outside, zero, signedAgain(n.mul(bits, factor))));
  if (type.isUnsigned())
    return n.out(0, n.select(outside, zero, n.div(x, factor)));
  Value minusOne = n.constantValue(HostTensor::fromInts(RankedTensorType::get({}, type), {-1}));
  Value negative = n.compare(Predicate::lt, x, zero);
  Value magnitude = withoutSign(n, n.select(negative, n.sub(minusOne, x), x));
  Value shifted = n.select(outside, zero, signedAgain(n.div(magnitude, factor)));
  n.out(0, n.select(negative, n.sub(minusOne, shifted), shifted));
}

OpFamily onnx_import::bitOps() {
  static const OpRow rows[] = {
      {"BitShift", 11, kMaxOpset, 2, 1, "", "", bitShift},
      {"BitwiseAnd", 18, kMaxOpset, 2, 1, "", "", bitwise<Bits::And>},
      {"BitwiseOr", 18, kMaxOpset, 2, 1, "", "", bitwise<Bits::Or>},
      {"BitwiseXor", 18, kMaxOpset, 2, 1, "", "", bitwise<Bits::Xor>},
      {"BitwiseNot", 18, kMaxOpset, 1, 1, "", "", bitwiseNot},
  };
  return {"Bits", rows};
}
