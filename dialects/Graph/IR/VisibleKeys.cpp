// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/VisibleKeys.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/DenseMap.h"
#include <cmath>
#include <cstring>
#include <functional>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace {

/// Computes one row of matrices that follow from constants. All dimensions but the last two must be 1.
class RowReader {
public:
  using Row = std::vector<double>;
  explicit RowReader(int64_t row) : row(row) {}

  /// Returns the row, or its only element where the matrix has one column; null where v does not follow from constants.
  const Row *read(Value v) {
    if (auto found = known.find(v); found != known.end())
      return found->second.get();
    std::optional<Row> numbers = compute(v);
    return (known[v] = numbers ? std::make_unique<Row>(std::move(*numbers)) : nullptr).get();
  }

private:
  std::optional<Row> compute(Value v) {
    Operation *op = v.getDefiningOp();
    ArrayRef<int64_t> shape = shapeOf(v);
    if (!op || depth > kDeepest || llvm::product_of(shape.drop_back(std::min<size_t>(2, shape.size()))) != 1)
      return std::nullopt;
    ++depth;
    std::optional<Row> result = compute(op, shape.empty() ? 1 : shape.back(), rowsOf(shape));
    --depth;
    Type element = elementOf(v);
    if (result && !llvm::all_of(*result, [&](double x) { return holds(element, x); }))
      return std::nullopt;
    return result;
  }

  /// Returns whether the type has the number, so that the program computes it as well and does not round or wrap it.
  static bool holds(Type element, double x) {
    if (auto type = dyn_cast<FloatType>(element))
      return !std::isfinite(x) || rounded(APFloat(x), type).convertToDouble() == x;
    bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
    unsigned digits = element.getIntOrFloatBitWidth() - (isUnsigned ? 0 : 1);
    return std::isfinite(x) && x < std::ldexp(1.0, int(digits)) &&
           x >= (isUnsigned ? 0 : -std::ldexp(1.0, int(digits)));
  }

  static int64_t rowsOf(ArrayRef<int64_t> shape) { return shape.size() < 2 ? 1 : shape[shape.size() - 2]; }

  std::optional<Row> compute(Operation *op, int64_t columns, int64_t rows) {
    Row result(columns);
    if (auto constant = dyn_cast<ConstantOp>(op))
      return ofConstant(constant, columns, rows);
    if (auto iota = dyn_cast<IotaOp>(op)) {
      int64_t rank = typeOf(iota.getResult()).getRank(), axis = iota.getAxis();
      for (int64_t i = 0; i < columns; ++i)
        result[i] = axis == rank - 1 ? double(i) : axis == rank - 2 && rows > 1 ? double(row) : 0;
      return result;
    }
    if (isa<ReshapeOp>(op)) // only dimensions of size 1 come and go
      if (ArrayRef<int64_t> from = shapeOf(op->getOperand(0));
          (from.empty() ? 1 : from.back()) != columns || rowsOf(from) != rows)
        return std::nullopt;
    SmallVector<const Row *> operands;
    for (Value v : op->getOperands()) {
      operands.push_back(read(v));
      if (!operands.back())
        return std::nullopt;
    }
    // A row of one element stands for all columns.
    auto at = [&](unsigned operand, int64_t i) { return (*operands[operand])[operands[operand]->size() == 1 ? 0 : i]; };
    auto unary = [&](auto fn) {
      for (int64_t i = 0; i < columns; ++i)
        result[i] = fn(at(0, i));
      return std::optional(std::move(result));
    };
    auto binary = [&](auto fn) {
      for (int64_t i = 0; i < columns; ++i)
        result[i] = fn(at(0, i), at(1, i));
      return std::optional(std::move(result));
    };
    if (isa<ReshapeOp, BroadcastOp>(op))
      return unary([](double x) { return x; });
    if (auto cast = dyn_cast<CastOp>(op)) {
      if (elementOf(cast.getY()).isInteger(1))
        return unary([](double x) -> double { return x != 0; });
      if (isFloat(cast.getX()) && !isFloat(cast.getY()))
        return std::nullopt;
      return unary([](double x) { return x; });
    }
    if (isa<NotOp>(op))
      return unary([](double x) -> double { return x == 0; });
    if (isa<AddOp>(op))
      return binary(std::plus<double>());
    if (isa<SubOp>(op))
      return binary(std::minus<double>());
    if (isa<MulOp>(op))
      return binary(std::multiplies<double>());
    if (isa<AndOp>(op))
      return binary([](double x, double y) -> double { return x != 0 && y != 0; });
    if (isa<OrOp>(op))
      return binary([](double x, double y) -> double { return x != 0 || y != 0; });
    if (isa<SelectOp>(op)) {
      for (int64_t i = 0; i < columns; ++i)
        result[i] = at(0, i) != 0 ? at(1, i) : at(2, i);
      return result;
    }
    if (auto compare = dyn_cast<CompareOp>(op))
      switch (compare.getPredicate()) {
      case Predicate::eq:
        return binary(std::equal_to<double>());
      case Predicate::ne:
        return binary(std::not_equal_to<double>());
      case Predicate::lt:
        return binary(std::less<double>());
      case Predicate::le:
        return binary(std::less_equal<double>());
      case Predicate::gt:
        return binary(std::greater<double>());
      case Predicate::ge:
        return binary(std::greater_equal<double>());
      }
    return std::nullopt;
  }

  std::optional<Row> ofConstant(ConstantOp constant, int64_t columns, int64_t rows) const {
    if (auto resource = dyn_cast<DenseResourceElementsAttr>(constant.getValue()))
      return ofResource(resource, columns, rows == 1 ? 0 : row * columns);
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!dense)
      return std::nullopt;
    Row result(columns);
    int64_t begin = dense.isSplat() || rows == 1 ? 0 : row * columns;
    auto at = [&](int64_t i) { return dense.isSplat() ? 0 : begin + i; };
    if (isFloat(dense.getElementType()))
      for (int64_t i = 0; i < columns; ++i)
        result[i] = dense.getValues<APFloat>()[at(i)].convertToDouble();
    else
      for (int64_t i = 0; i < columns; ++i) {
        APInt number = dense.getValues<APInt>()[at(i)];
        bool isUnsigned = number.getBitWidth() == 1 || dense.getElementType().isUnsignedInteger();
        result[i] = isUnsigned ? double(number.getZExtValue()) : double(number.getSExtValue());
      }
    return result;
  }

  /// Reads elements as importers store large initializers: in their order, a boolean in a byte.
  static std::optional<Row> ofResource(DenseResourceElementsAttr resource, int64_t columns, int64_t begin) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return std::nullopt;
    Type element = resource.getElementType();
    const char *data = blob->getData().data();
    Row result;
    auto read = [&](auto zero) {
      for (int64_t i = begin; i < begin + columns; ++i) {
        std::memcpy(&zero, data + i * int64_t(sizeof(zero)), sizeof(zero));
        result.push_back(double(zero));
      }
      return result;
    };
    if (element.isF32())
      return read(float());
    if (element.isInteger(1))
      return read(uint8_t());
    if (element.isInteger(64))
      return read(int64_t());
    return std::nullopt;
  }

  static constexpr int kDeepest = 32;
  int64_t row;
  int depth = 0;
  llvm::DenseMap<Value, std::unique_ptr<Row>> known; ///< null where a value does not follow from constants
};

} // namespace

std::optional<VisibleKeys::Band> VisibleKeys::band(int64_t keys) const {
  Band band;
  auto raise = [](std::optional<int64_t> &bound, int64_t v) { bound = std::max(bound.value_or(v), v); };
  for (auto [m, range] : llvm::enumerate(ranges)) {
    if (range.first > 0)
      raise(band.before, int64_t(m) - range.first);
    if (range.last < keys)
      raise(band.after, range.last - 1 - int64_t(m));
  }
  for (auto [i, range] : llvm::enumerate(ranges)) {
    int64_t m = i, first = band.before ? std::max<int64_t>(0, m - *band.before) : 0,
            last = band.after ? std::min(keys, m + *band.after + 1) : keys;
    if (range.first != first || range.last != last)
      return std::nullopt;
  }
  return band;
}

std::optional<VisibleKeys> graph::visibleKeys(Value mask, Value bias, std::optional<double> fill, int64_t queries,
                                              int64_t keys) {
  constexpr int64_t most = int64_t(1) << 26; // scores, which take about a second
  if ((!mask && !bias) || queries * keys > most)
    return std::nullopt;
  bool hides = mask && fill.value_or(-INFINITY) <= kHidingScore;
  VisibleKeys result;
  for (int64_t row = 0; row < queries; ++row) {
    RowReader reader(row);
    const RowReader::Row *masks = nullptr, *biases = nullptr;
    if (mask && !(masks = reader.read(mask)))
      return std::nullopt;
    if (bias && !(biases = reader.read(bias)))
      return std::nullopt;
    auto at = [&](const RowReader::Row &numbers, int64_t n) { return numbers[numbers.size() == 1 ? 0 : n]; };
    auto sees = [&](int64_t n) {
      if (masks && at(*masks, n) == 0)
        return !hides;                                     // it has the fill as its score, whatever the bias is
      return !biases || !(at(*biases, n) <= kHidingScore); // NaN is seen
    };
    KeyRange range{.first = 0, .last = keys};
    while (range.first < range.last && !sees(range.first))
      ++range.first;
    while (range.first < range.last && !sees(range.last - 1))
      --range.last;
    if (range.first == range.last)
      return std::nullopt;
    for (int64_t n = range.first; n < range.last; ++n)
      result.isWhole &= (!masks || at(*masks, n) != 0) && (!biases || at(*biases, n) == 0);
    result.ranges.push_back(range);
  }
  return result;
}
