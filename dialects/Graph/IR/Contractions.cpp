//===- Contractions.cpp - products and convolutions as implicit matrix products ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/Shapes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

using Axis = MatrixProduct::Axis;
using Term = MatrixProduct::Term;
using Coordinate = MatrixProduct::Coordinate;
using Coordinates = MatrixProduct::Coordinates;

//===-- Products ---------------------------------------------------------------------------===//

MatrixProduct MatMulOp::getProduct() {
  MatrixProduct p{.a = getA(), .b = getB()};
  ArrayRef<int64_t> a = shapeOf(p.a), b = shapeOf(p.b), c = shapeOf(getResult());
  ArrayRef<int64_t> batch = c.drop_back(2);
  // Where one operand has a single matrix for all batches, the rows (columns) of the other form one matrix.
  auto isShared = [](ArrayRef<int64_t> shape) { return llvm::product_of(shape.drop_back(2)) == 1; };
  Axis batchAxis = isShared(b) ? Axis::M : isShared(a) ? Axis::N : Axis::Z;
  unsigned mDigit = batchAxis == Axis::M ? batch.size() : 0, nDigit = batchAxis == Axis::N ? batch.size() : 0;
  auto &digits = p.digits;
  llvm::append_range(digits[unsigned(batchAxis)], batch);
  if (digits[unsigned(Axis::Z)].empty())
    digits[unsigned(Axis::Z)].push_back(1);
  digits[unsigned(Axis::M)].push_back(c[c.size() - 2]);
  digits[unsigned(Axis::N)].push_back(c.back());
  digits[unsigned(Axis::K)].push_back(getTransposeA() ? a[a.size() - 2] : a.back());

  auto coordinates = [&](ArrayRef<int64_t> shape, Term rows, Term columns) {
    Coordinates result;
    size_t own = shape.size() - 2, missing = batch.size() - own;
    for (size_t d = 0; d < own; ++d) {
      Coordinate at{.terms = {}, .extent = shape[d]};
      if (shape[d] != 1)
        at.terms.push_back({batchAxis, unsigned(missing + d), 1});
      result.push_back(at);
    }
    result.push_back({.terms = {rows}, .extent = shape[shape.size() - 2]});
    result.push_back({.terms = {columns}, .extent = shape.back()});
    return result;
  };
  Term m{Axis::M, mDigit, 1}, n{Axis::N, nDigit, 1}, k{Axis::K, 0, 1};
  p.atA = getTransposeA() ? coordinates(a, k, m) : coordinates(a, m, k);
  p.atB = getTransposeB() ? coordinates(b, n, k) : coordinates(b, k, n);
  p.atC = coordinates(c, m, n);
  return p;
}

//===-- Convolutions ---------------------------------------------------------------------------===//

namespace {

/// The extents of a convolution's tensors, whichever of them is the result.
struct Convolution {
  ArrayRef<int64_t> x, w, y, strides, dilations, padLow;
  unsigned spatial;
  int64_t groups;
  bool channelsLast;
  bool weightChannelsLast; ///< w is [O, kernel..., C/groups], else [O, C/groups, kernel...]

  explicit Convolution(ConvolutionOpInterface op)
      : x(shapeOf(op.getInput())), w(shapeOf(op.getWeight())), y(shapeOf(op.getOutput())), strides(op.getStrides()),
        dilations(op.getDilations()), padLow(op.getPadLow()), spatial(x.size() - 2), groups(op.getGroups()),
        channelsLast(op.getLayout() == Layout::ChannelsLast), weightChannelsLast(op.getWeightChannelsLast()) {}

  int64_t in(unsigned i) const { return x[(channelsLast ? 1 : 2) + i]; }
  int64_t out(unsigned i) const { return y[(channelsLast ? 1 : 2) + i]; }
  int64_t kernel(unsigned i) const { return w[(weightChannelsLast ? 1 : 2) + i]; }
  int64_t channels() const { return w[weightChannelsLast ? w.size() - 1 : 1]; } ///< C/groups
  int64_t outChannels() const { return w[0] / groups; }

  Coordinates activation(Coordinate batch, ArrayRef<Coordinate> positions, Coordinate channel) const {
    Coordinates result = {batch};
    if (!channelsLast)
      result.push_back(channel);
    llvm::append_range(result, positions);
    if (channelsLast)
      result.push_back(channel);
    return result;
  }
  Coordinates weights(Coordinate out, ArrayRef<Coordinate> kernel, Coordinate channel) const {
    Coordinates result = {out};
    if (!weightChannelsLast)
      result.push_back(channel);
    llvm::append_range(result, kernel);
    if (weightChannelsLast)
      result.push_back(channel);
    return result;
  }
  /// Channel number `term` of the group, as a channel of the tensor.
  Coordinate grouped(Term term, int64_t perGroup) const {
    return {.terms = {{Axis::Z, 0, perGroup}, term}, .extent = groups * perGroup};
  }
};

} // namespace

MatrixProduct ConvOp::getProduct() {
  MatrixProduct p{.a = getX(), .b = getW()};
  Convolution conv(*this);
  auto &[m, n, k, z] = p.digits;
  m.push_back(conv.x[0]);
  n = {conv.outChannels()};
  z = {conv.groups};
  SmallVector<Coordinate> in, out, kernel;
  unsigned d = conv.spatial;
  for (unsigned i = 0; i < d; ++i) {
    m.push_back(conv.out(i));
    k.push_back(conv.kernel(i));
    in.push_back({.terms = {{Axis::M, 1 + i, conv.strides[i]}, {Axis::K, i, conv.dilations[i]}},
                  .constant = -conv.padLow[i],
                  .extent = conv.in(i)});
    out.push_back({.terms = {{Axis::M, 1 + i, 1}}, .extent = conv.out(i)});
    kernel.push_back({.terms = {{Axis::K, i, 1}}, .extent = conv.kernel(i)});
  }
  k.push_back(conv.channels());
  Coordinate batch{.terms = {{Axis::M, 0, 1}}, .extent = conv.x[0]};
  Coordinate o = conv.grouped({Axis::N, 0, 1}, conv.outChannels());
  p.atA = conv.activation(batch, in, conv.grouped({Axis::K, d, 1}, conv.channels()));
  p.atB = conv.weights(o, kernel, {.terms = {{Axis::K, d, 1}}, .extent = conv.channels()});
  p.atC = conv.activation(batch, out, o);
  return p;
}

// With stride s, a tap whose distance to a position is not a multiple of s contributes nothing. So positions fall
// into s phases, each of which is a product of its own (z):
//   in = s q + phase - pad mod s,  kernel = s t + phase,  out = (in + pad - kernel) / s = q + pad / s - t
// Positions beyond the tensors are padding, in C too. A dilated kernel has no phases: it multiplies by the zeros.
MatrixProduct ConvInputGradOp::getProduct() {
  MatrixProduct p{.a = getDy(), .b = getW()};
  Convolution conv(*this);
  auto &[m, n, k, z] = p.digits;
  m.push_back(conv.x[0]);
  n = {conv.channels()};
  z = {conv.groups};
  SmallVector<Coordinate> in, out, kernel;
  unsigned d = conv.spatial;
  for (unsigned i = 0; i < d; ++i) {
    int64_t stride = conv.strides[i], pad = conv.padLow[i];
    if (stride > 1 && conv.dilations[i] == 1 && pad >= 0) {
      Term phase{Axis::Z, unsigned(z.size()), 1};
      z.push_back(stride);
      m.push_back(llvm::divideCeilSigned(conv.in(i) + pad % stride, stride));
      k.push_back(llvm::divideCeilSigned(conv.kernel(i), stride));
      in.push_back({.terms = {{Axis::M, 1 + i, stride}, phase}, .constant = -(pad % stride), .extent = conv.in(i)});
      out.push_back(
          {.terms = {{Axis::M, 1 + i, 1}, {Axis::K, i, -1}}, .constant = pad / stride, .extent = conv.out(i)});
      kernel.push_back({.terms = {{Axis::K, i, stride}, phase}, .extent = conv.kernel(i)});
      continue;
    }
    m.push_back(conv.in(i));
    k.push_back(conv.kernel(i));
    in.push_back({.terms = {{Axis::M, 1 + i, 1}}, .extent = conv.in(i)});
    out.push_back({.terms = {{Axis::M, 1 + i, 1}, {Axis::K, i, -conv.dilations[i]}},
                   .constant = pad,
                   .divisor = stride,
                   .extent = conv.out(i)});
    kernel.push_back({.terms = {{Axis::K, i, 1}}, .extent = conv.kernel(i)});
  }
  k.push_back(conv.outChannels());
  Coordinate batch{.terms = {{Axis::M, 0, 1}}, .extent = conv.x[0]};
  Coordinate o = conv.grouped({Axis::K, d, 1}, conv.outChannels());
  p.atA = conv.activation(batch, out, o);
  p.atB = conv.weights(o, kernel, {.terms = {{Axis::N, 0, 1}}, .extent = conv.channels()});
  p.atC = conv.activation(batch, in, conv.grouped({Axis::N, 0, 1}, conv.channels()));
  return p;
}

MatrixProduct ConvWeightGradOp::getProduct() {
  MatrixProduct p{.a = getDy(), .b = getX()};
  Convolution conv(*this);
  auto &[m, n, k, z] = p.digits;
  m = {conv.outChannels()};
  k.push_back(conv.x[0]);
  z = {conv.groups};
  SmallVector<Coordinate> in, out, kernel;
  unsigned d = conv.spatial;
  for (unsigned i = 0; i < d; ++i) {
    k.push_back(conv.out(i));
    n.push_back(conv.kernel(i));
    in.push_back({.terms = {{Axis::K, 1 + i, conv.strides[i]}, {Axis::N, i, conv.dilations[i]}},
                  .constant = -conv.padLow[i],
                  .extent = conv.in(i)});
    out.push_back({.terms = {{Axis::K, 1 + i, 1}}, .extent = conv.out(i)});
    kernel.push_back({.terms = {{Axis::N, i, 1}}, .extent = conv.kernel(i)});
  }
  n.push_back(conv.channels());
  Coordinate batch{.terms = {{Axis::K, 0, 1}}, .extent = conv.x[0]};
  Coordinate o = conv.grouped({Axis::M, 0, 1}, conv.outChannels());
  p.atA = conv.activation(batch, out, o);
  p.atB = conv.activation(batch, in, conv.grouped({Axis::N, d, 1}, conv.channels()));
  p.atC = conv.weights(o, kernel, {.terms = {{Axis::N, d, 1}}, .extent = conv.channels()});
  return p;
}

//===-- Biases -----------------------------------------------------------------------------------===//

std::optional<int64_t> MatMulOp::getBiasDim() { return getType().getRank() - 1; }
std::optional<int64_t> ConvOp::getBiasDim() { return channelAxis(getLayout(), getType().getRank()); }
std::optional<int64_t> ConvInputGradOp::getBiasDim() { return std::nullopt; }
std::optional<int64_t> ConvWeightGradOp::getBiasDim() { return std::nullopt; }
