//===- Box.cpp - tensor maps of operands ------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/Schedule/Box.h"
#include "dialects/Graph/IR/Shapes.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

static constexpr int64_t alignment = 16, rowBytes = 128;

static int64_t bytesOf(const Operand &operand) { return graph::elementOf(operand.tensor).getIntOrFloatBitWidth() / 8; }

//===-- Tiled ------------------------------------------------------------------------------------------===//

/// `other` is the axis of the tile that is not operand.outer; `elementBytes` is the element size of a tensor
/// that lies in memory as the operand does.
static std::optional<Box> tiled(const Operand &operand, int64_t elementBytes, int tileOuter, Axis other,
                                int tileOther) {
  for (const Coordinate &at : operand.coordinates)
    if (at.checked || at.divisor != 1 || at.constant != 0)
      return std::nullopt;
  Box box;
  int64_t oneRow = llvm::alignTo(operand.digits[unsigned(operand.contiguous)].back() * elementBytes, alignment);
  for (Axis axis : {other, operand.outer, Axis::Z}) {
    const Digits &digits = operand.digits[unsigned(axis)];
    bool inner = axis == operand.contiguous;
    int64_t tile = axis == Axis::Z ? 1 : inner ? rowBytes / elementBytes : axis == other ? tileOther : tileOuter;
    if (digits.size() > 1 && digits.back() % tile != 0)
      return std::nullopt;
    for (unsigned d = 0; d < digits.size(); ++d) {
      bool boxed = axis != Axis::Z && d + 1 == digits.size();
      int64_t stride = *linearStride(operand, axis, d) * elementBytes;
      if (!boxed && (stride == 0 || digits[d] == 1))
        continue;
      if (digits[d] == 1)
        stride = oneRow; // no step is ever taken along this dimension
      if (boxed && inner) {
        if (stride != elementBytes && digits[d] > 1)
          return std::nullopt;
        stride = 0; // sorts first below; a tensor map has no stride for the innermost dimension
      } else if (stride <= 0 || stride % alignment != 0)
        return std::nullopt;
      box.dimensions.push_back({axis, d, digits[d], stride, boxed ? tile : 1});
    }
  }
  if (box.dimensions.size() > 5)
    return std::nullopt;
  llvm::stable_sort(box.dimensions, [](auto &x, auto &y) { return x.stride < y.stride; });
  return box;
}

//===-- im2col -----------------------------------------------------------------------------------------===//

/// Returns whether a tensor map can express the corners of the positions, and a load the offsets of the taps. A corner
/// is from -2^15, -2^7 or -2^4 by the number of spatial dimensions (CUDA driver API, cuTensorMapEncodeIm2col), an
/// offset at most 2^16 - 1, 2^8 - 1 or 2^5 - 1 (PTX ISA, "im2col mode", the table "im2col offsets range").
static bool fits(const Box::Dimension &at, size_t spatial) {
  int64_t corner = spatial == 1 ? 32768 : spatial == 2 ? 128 : 16;
  auto inside = [&](int64_t bound) { return bound >= -corner && bound < corner; };
  int64_t farthest = at.tap ? std::abs(at.tap->coefficient) * (at.taps - 1) : 0;
  return inside(at.lower) && inside(at.upper) && farthest < 2 * corner && at.step >= 1 && at.step <= 8;
}

static std::optional<Box> im2col(const Operand &operand, int tileOuter, int tileK) {
  constexpr int64_t elementBytes = 2;
  // Channels are contiguous along the axis of taps; positions are the digits of the other one.
  Axis tapAxis = operand.contiguous, positionAxis = tapAxis == Axis::K ? operand.outer : Axis::K;
  const Digits &taps = operand.digits[unsigned(tapAxis)], &positions = operand.digits[unsigned(positionAxis)];
  size_t rank = operand.coordinates.size(), spatial = rank - 2;
  if (rank < 3 || rank > 5 || positions.size() != rank - 1 || taps.back() % boxElements != 0)
    return std::nullopt;
  Box box;
  box.pixels = positionAxis == Axis::K ? tileK : tileOuter;
  for (size_t d = rank; d-- > 0;) {
    const Coordinate &at = operand.coordinates[d];
    if (at.divisor != 1 || at.stride * elementBytes % alignment != (d + 1 == rank ? elementBytes : 0))
      return std::nullopt;
    Box::Dimension dimension{tapAxis, unsigned(taps.size() - 1), at.extent,
                             d + 1 == rank ? 0 : at.stride * elementBytes};
    std::optional<Term> position;
    for (const Term &t : at.terms) {
      std::optional<Term> &place = t.axis == positionAxis ? position
                                   : t.axis == tapAxis    ? dimension.tap
                                                          : dimension.group;
      if (place)
        return std::nullopt;
      place = t;
    }
    if (d + 1 == rank) { // channels
      if (position || at.checked || at.constant != 0 || !dimension.tap || dimension.tap->digit + 1 != taps.size() ||
          dimension.tap->coefficient != 1 ||
          taps.back() != (dimension.group ? dimension.group->coefficient : at.extent))
        return std::nullopt;
      dimension.tap.reset();
      dimension.box = boxElements;
    } else {
      if (!position || position->digit != d || position->coefficient < 1 || dimension.group)
        return std::nullopt;
      dimension.axis = positionAxis, dimension.digit = unsigned(d), dimension.step = position->coefficient;
      dimension.taps = dimension.tap ? taps[dimension.tap->digit] : 1;
      // Offsets only count up, so taps that go backwards start at the other end.
      dimension.lower =
          at.constant + (dimension.tap ? std::min<int64_t>(dimension.tap->coefficient, 0) * (dimension.taps - 1) : 0);
      dimension.upper = dimension.lower + dimension.step * (positions[d] - 1) + 1 - at.extent;
      bool batch = d == 0;
      if (batch ? dimension.tap || dimension.step != 1 || dimension.lower != 0 : !fits(dimension, spatial))
        return std::nullopt;
    }
    box.dimensions.push_back(dimension);
  }
  return box;
}

std::optional<Box> mpc::hero::boxOf(const Operand &operand, int tileOuter, int tileK) {
  std::optional<Box> box = tiled(operand, bytesOf(operand), tileOuter, Axis::K, tileK);
  if (!box && bytesOf(operand) == 2)
    box = im2col(operand, tileOuter, tileK);
  if (box && operand.contiguous != Axis::K)
    box->loads = tileOuter / boxElements;
  return box;
}

std::optional<Box> mpc::hero::boxOfResult(const Operand &result, int rows) {
  return tiled(result, /*elementBytes=*/2, rows, Axis::N, boxElements);
}

kernel::TensorMapAttr Box::map(const Operand &operand, unsigned parameter) const {
  return map(graph::elementOf(operand.tensor), parameter);
}
kernel::TensorMapAttr Box::map(Type element, unsigned parameter) const {
  SmallVector<int64_t> sizes, strides, extents, steps, lowers, uppers;
  for (auto [i, at] : llvm::enumerate(dimensions)) {
    sizes.push_back(at.size);
    steps.push_back(at.step);
    if (i > 0)
      strides.push_back(at.stride);
    if (i == 0 || pixels == 0)
      extents.push_back(at.box);
    if (pixels != 0 && i > 0 && i + 1 < dimensions.size()) {
      lowers.push_back(at.lower);
      uppers.push_back(at.upper);
    }
  }
  return kernel::TensorMapAttr::get(element.getContext(), parameter, element, sizes, strides, extents, steps,
                                    kernel::Swizzle::B128, pixels, lowers, uppers);
}
