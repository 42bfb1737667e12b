//===- Patches.cpp - parts of pictures and sequences, put to other places ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Import.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

/// CenterCropPad cuts or pads with zeros on both sides, one more behind where the difference is odd.
static void centerCropPad(Node &n) {
  const int64_t rank = n.rank(0);
  const Shape size = n.constantInts(1, "the shape");
  Shape axes = n.intsAttribute("axes").value_or(Shape());
  if (axes.empty())
    for (int64_t d = 0; d < rank; ++d)
      axes.push_back(d);
  if (axes.size() != size.size())
    n.fail("the shape has " + Twine(size.size()) + " entries, not " + Twine(axes.size()), "", "the shape");
  (void)n.axes(axes, rank); // none is given twice
  Shape starts(rank, 0), kept(n.shape(0)), low(rank, 0), high(rank, 0);
  for (auto [axis, extent] : llvm::zip(axes, size)) {
    const int64_t d = n.axis(axis, rank), away = extent - n.shape(0)[d];
    if (extent < 0 || extent > kMaxElements)
      n.fail("an extent of " + Twine(extent) + " is not possible", "", "the shape");
    if (away < 0) {
      starts[d] = -away / 2;
      kept[d] = extent;
    } else {
      low[d] = away / 2;
      high[d] = away - low[d];
    }
  }
  Value x = n.slice(n.in(0), starts, kept, Shape(rank, 1));
  n.out(0, n.make<PadOp>(x, [&](auto &p) {
              p.value = n.b.getF64FloatAttr(0);
              p.low = n.b.getDenseI64ArrayAttr(low);
              p.high = n.b.getDenseI64ArrayAttr(high);
              p.interior = n.b.getDenseI64ArrayAttr(Shape(rank, 0));
            }).getY());
}

/// ReverseSequence puts the first `length` elements of each sequence into the opposite order, and leaves the rest.
static void reverseSequence(Node &n) {
  const int64_t batchAxis = n.intAttribute("batch_axis", 1), timeAxis = n.intAttribute("time_axis", 0);
  if (n.rank(0) < 2 || batchAxis + timeAxis != 1 || (batchAxis != 0 && batchAxis != 1))
    n.fail("the batch and the time must be the first two dimensions");
  const int64_t batch = n.shape(0)[batchAxis], time = n.shape(0)[timeAxis];
  if (n.shape(1) != ArrayRef<int64_t>{batch})
    n.fail("sequence_lens must have a length for each of " + Twine(batch) + " sequences");
  n.import.markLengths(n.in(1), time, n.loc);
  Shape column(2, 1);
  column[batchAxis] = batch;
  Value length = n.reshape(n.cast(n.in(1), n.b.getI64Type()), column);
  Value step = n.numbersAlong(2, timeAxis, time), sequence = n.numbersAlong(2, batchAxis, batch);
  Value from = n.select(n.compare(Predicate::lt, step, length), n.sub(n.sub(length, n.i64(1)), step), step);
  const int64_t stride = batchAxis == 1 ? batch : time;
  Value place =
      batchAxis == 1 ? n.add(n.mul(from, n.i64(stride)), sequence) : n.add(n.mul(sequence, n.i64(stride)), from);
  Shape flat = {batch * time};
  llvm::append_range(flat, n.shape(0).drop_front(2));
  n.out(0, n.reshape(n.gather(n.reshape(n.in(0), flat), place, 0), n.shape(0)));
}

/// Col2Im (torch's fold) adds the elements of blocks [samples, channels * block, blocks] to the places of a picture
/// that they cover.
static void col2Im(Node &n) {
  const Shape image = n.constantInts(1, "image_shape"), block = n.constantInts(2, "block_shape");
  const size_t dims = image.size();
  const Shape dilations = n.intsAttribute("dilations").value_or(Shape(dims, 1)),
              strides = n.intsAttribute("strides").value_or(Shape(dims, 1)),
              pads = n.intsAttribute("pads").value_or(Shape(2 * dims, 0));
  if (block.size() != dims || dilations.size() != dims || strides.size() != dims || pads.size() != 2 * dims ||
      n.rank(0) != 3)
    n.fail("the shapes of the image and the block, dilations, strides and pads do not fit together");
  constexpr int64_t kMost = 1 << 24; // pixels, and elements of all blocks
  Shape blocks;
  int64_t inBlock = 1, count = 1, pixels = 1;
  auto grow = [&](int64_t &product, int64_t factor) {
    if (factor < 1 || factor > kMost / product)
      n.limit("more than 2^24 elements, or none, are not supported");
    product *= factor;
  };
  for (size_t d = 0; d < dims; ++d) {
    if (dilations[d] > kMost || pads[d] < 0 || pads[d] > kMost || pads[dims + d] < 0 || pads[dims + d] > kMost)
      n.fail("dilations and pads of dimension " + Twine(d) + " are not possible");
    grow(pixels, image[d]);
    grow(inBlock, block[d]);
    const int64_t rest = image[d] + pads[d] + pads[dims + d] - dilations[d] * (block[d] - 1) - 1;
    if (image[d] < 1 || block[d] < 1 || strides[d] < 1 || dilations[d] < 1 || rest < 0)
      n.fail("dimension " + Twine(d) + " has no room for a block");
    blocks.push_back(rest / strides[d] + 1);
    grow(count, blocks.back());
  }
  if (count > kMost / inBlock)
    n.limit("more than 2^24 elements of blocks are not supported");
  if (n.shape(0)[1] % inBlock != 0 || n.shape(0)[2] != count)
    n.fail("the input must be [samples, channels * " + Twine(inBlock) + ", " + Twine(count) + "]");
  std::vector<int64_t> places;
  for (int64_t e = 0; e < inBlock; ++e)
    for (int64_t b = 0; b < count; ++b) {
      int64_t place = 0, inner = 1, restE = e, restB = b;
      for (size_t d = dims; d-- > 0; restE /= block[d], restB /= blocks[d], inner *= image[d]) {
        const int64_t at = restB % blocks[d] * strides[d] - pads[d] + restE % block[d] * dilations[d];
        place = at < 0 || at >= image[d] || place < 0 ? -1 : place + at * inner;
      }
      places.push_back(place < 0 ? pixels : place); // what lies in the padding goes behind the picture
    }
  const int64_t samples = n.shape(0)[0], channels = n.shape(0)[1] / inBlock;
  Value index = n.constantValue(HostTensor::fromInts(n.tensorType({inBlock * count}, n.b.getI64Type()), places));
  Value x = n.reshape(n.floatIn(0), {samples, channels, inBlock * count});
  Value y = n.make<ScatterOp>(
                 ValueRange{x, index}, [&](auto &p) { p.axis = n.b.getI64IntegerAttr(2); },
                 Type(n.tensorType({samples, channels, pixels + 1}, elementOf(x))))
                .getY();
  Shape result = {samples, channels};
  llvm::append_range(result, image);
  n.out(0, n.reshape(n.slice(y, {0, 0, 0}, {samples, channels, pixels}, {1, 1, 1}), result));
}

OpFamily onnx_import::patchOps() {
  static const OpRow rows[] = {
      {"CenterCropPad", 18, kMaxOpset, 2, 1, "", "constant shape", centerCropPad},
      {"ReverseSequence", 10, kMaxOpset, 2, 1, "", "", reverseSequence},
      {"Col2Im", 18, kMaxOpset, 3, 1, "", "floats; constant shapes", col2Im},
  };
  return {"Patches", rows};
}
