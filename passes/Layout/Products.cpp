// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Layout/Products.h"
#include "passes/Layout/Demands.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::layout;

namespace {
using Pieces = SmallVector<Piece>;
/// The order of a matrix: the pieces of its left side (rows) and of its right side (columns), which may lie in front.
struct Matrix {
  Pieces left, right;
  bool swapped = false;
};
} // namespace

/// Nullopt where the pieces of the two sides are mixed. `isRight` says whether a dimension is of the right side.
/// Dimensions of size 1 are left out.
static std::optional<Matrix> matrixOf(const Order &order, function_ref<bool(int64_t)> isRight) {
  Matrix matrix;
  int changes = 0;
  bool last = false, any = false;
  for (const Piece &piece : order.getPieces()) {
    if (piece.size == 1)
      continue;
    bool right = isRight(piece.dim);
    if (!any)
      matrix.swapped = right;
    else
      changes += right != last;
    (right ? matrix.right : matrix.left).push_back(piece);
    last = right, any = true;
  }
  // A matrix of one row or column may be read either way.
  matrix.swapped &= !matrix.left.empty() && !matrix.right.empty();
  return changes <= 1 ? std::optional(matrix) : std::nullopt;
}

static Order orderOf(const Matrix &matrix, ArrayRef<int64_t> shape) {
  Pieces pieces(matrix.swapped ? matrix.right : matrix.left);
  llvm::append_range(pieces, matrix.swapped ? matrix.left : matrix.right);
  for (auto [dim, size] : llvm::enumerate(shape)) // those of size 1
    if (size == 1)
      pieces.insert(pieces.begin(), {int64_t(dim), 1, 1});
  return Order(pieces);
}

/// The pieces with other numbers of dimensions.
static Pieces renamed(Pieces pieces, function_ref<int64_t(int64_t)> dim) {
  for (Piece &piece : pieces)
    piece.dim = dim(piece.dim);
  return pieces;
}

static int64_t sizeOf(ArrayRef<Piece> pieces) {
  int64_t size = 1;
  for (const Piece &piece : pieces)
    size *= piece.size;
  return size;
}

/// A product with one right matrix: [rows..., k] x [k, n].
static bool rewriteLinear(MatMulOp op, const LinearDims &dims, OrderChoice &choice, StoredValues &stored) {
  Value a = op.getA(), b = op.getB(), y = op.getResult();
  int64_t n = typeOf(y).getRank() - 1;
  auto isK = [&](int64_t dim) { return dim == dims.kOfA; };
  auto isNOfB = [&](int64_t dim) { return dim == dims.nOfB; };
  auto isN = [&](int64_t dim) { return dim == n; };
  // The operand as it was computed, else as it was chosen, else as the program has it.
  auto operand = [&](Value v, function_ref<bool(int64_t)> isRight) {
    for (const Order &order : {stored.computedOrder(v), choice.orderOf(v)})
      if (std::optional<Matrix> matrix = matrixOf(order, isRight))
        return *matrix;
    return *matrixOf(Order::identity(shapeOf(v)), isRight);
  };
  Matrix left = operand(a, isK), right = operand(b, isNOfB);
  Matrix result = matrixOf(choice.orderOf(y), isN).value_or(*matrixOf(Order::identity(shapeOf(y)), isN));
  // The sides must agree; the smaller tensor is converted.
  auto agree = [](Pieces &x, Value ofX, function_ref<int64_t(int64_t)> toY, Pieces &y, Value ofY,
                  function_ref<int64_t(int64_t)> toX) {
    if (renamed(x, toY) == y)
      return;
    if (bytesOf(ofX) < bytesOf(ofY))
      x = renamed(y, toX);
    else
      y = renamed(x, toY);
  };
  agree(left.right, a, [&](int64_t) { return dims.kOfB; }, right.left, b, [&](int64_t) { return dims.kOfA; });
  agree(
      left.left, a, [&](int64_t dim) { return int64_t(llvm::find(dims.rowsOfA, dim) - dims.rowsOfA.begin()); },
      result.left, y, [&](int64_t dim) { return dims.rowsOfA[dim]; });
  agree(right.right, b, [&](int64_t) { return n; }, result.right, y, [&](int64_t) { return dims.nOfB; });
  Order orderA = orderOf(left, shapeOf(a)), orderB = orderOf(right, shapeOf(b)), orderY = orderOf(result, shapeOf(y));
  auto isPlain = [](const Order &order, Value v) { return order.isViewOf(Order::identity(shapeOf(v))); };
  if (isPlain(orderA, a) && isPlain(orderB, b) && isPlain(orderY, y))
    return false;

  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto reshaped = [&](Value v, const Order &order, Shape shape) {
    return reshapeTo(builder, loc, stored.get(v, order), shape);
  };
  auto product = [&](Value l, Value r, bool transposeL, bool transposeR, Shape shape) {
    auto made = MatMulOp::create(builder, loc, TypeRange(typeOf(y).clone(shape)), ValueRange{l, r}, op->getAttrs());
    made.setTransposeA(transposeL);
    made.setTransposeB(transposeR);
    stored.define(y, orderY, made);
  };
  int64_t k = sizeOf(left.right), columns = sizeOf(right.right);
  Value matrixB = reshaped(b, orderB, right.swapped ? Shape{columns, k} : Shape{k, columns});
  // The rows keep their dimensions where they may, so that ops behind the product have its shape.
  Shape rows(shapeOf(y).drop_back());
  if (!orderOf({.left = result.left, .right = {}, .swapped = false}, rows).isViewOf(Order::identity(rows)))
    rows = llvm::map_to_vector(result.left, [](const Piece &piece) { return piece.size; });
  auto with = [](Shape shape, int64_t last) {
    shape.push_back(last);
    return shape;
  };
  if (!left.swapped && !result.swapped) {
    product(reshaped(a, orderA, with(rows, k)), matrixB, false, right.swapped, with(rows, columns));
    return true;
  }
  int64_t m = sizeOf(left.left);
  Value matrixA = reshaped(a, orderA, left.swapped ? Shape{k, m} : Shape{m, k});
  if (result.swapped)
    product(matrixB, matrixA, !right.swapped, !left.swapped, {columns, m});
  else
    product(matrixA, matrixB, left.swapped, right.swapped, {m, columns});
  return true;
}

/// The order with the last two dimensions swapped.
static Order swappedOrder(ArrayRef<int64_t> shape) {
  Shape dims = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  std::swap(dims.back(), dims[dims.size() - 2]);
  return Order::ofDims(shape, dims);
}

bool layout::rewriteProduct(MatMulOp op, OrderChoice &choice, StoredValues &stored) {
  Value a = op.getA(), b = op.getB(), y = op.getResult();
  if (isFloat8(elementOf(a)))
    return false;
  // Whether the matrices of a value lie transposed.
  auto liesSwapped = [](Value v, std::initializer_list<Order> orders) {
    for (const Order &order : orders) {
      if (order.isViewOf(Order::identity(shapeOf(v))))
        return false;
      if (order.isViewOf(swappedOrder(shapeOf(v))))
        return true;
    }
    return false;
  };
  bool swapA = liesSwapped(a, {stored.computedOrder(a), choice.orderOf(a)}),
       swapB = liesSwapped(b, {stored.computedOrder(b), choice.orderOf(b)});
  bool swapY = liesSwapped(y, {choice.orderOf(y)});
  std::optional<LinearDims> dims = linearDims(op);
  // Where only matrices in a batch are transposed, the batch stays one: [batch, k, rows] is no matrix of rows.
  if (dims && (typeOf(a).getRank() == 2 || !swapA) && rewriteLinear(op, *dims, choice, stored))
    return true;
  if (!swapA && !swapB && !swapY)
    return false;
  auto get = [&](Value v, bool swapped) {
    return stored.get(v, swapped ? swappedOrder(shapeOf(v)) : Order::identity(shapeOf(v)));
  };
  OpBuilder builder(op);
  Value l = get(a, swapA), r = get(b, swapB);
  bool transposeL = op.getTransposeA() != swapA, transposeR = op.getTransposeB() != swapB;
  if (swapY) {
    std::swap(l, r);
    std::swap(transposeL, transposeR);
    transposeL = !transposeL, transposeR = !transposeR;
  }
  Order order = swapY ? swappedOrder(shapeOf(y)) : Order::identity(shapeOf(y));
  auto made = MatMulOp::create(builder, op.getLoc(), TypeRange(typeOf(y).clone(order.stored())), ValueRange{l, r},
                               op->getAttrs());
  made.setTransposeA(transposeL);
  made.setTransposeB(transposeR);
  stored.define(y, order, made);
  return true;
}
