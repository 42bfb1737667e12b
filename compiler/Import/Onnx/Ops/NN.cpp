//===- NN.cpp - matrix products, convolutions, pooling ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Node.h"
#include "compiler/Import/Onnx/Torch/Metadata.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

//===-- Matrix products -------------------------------------------------------===//

static Value matmul(Node &n, Value a, Value b, bool transposeA = false, bool transposeB = false) {
  return n
      .make<MatMulOp>(ValueRange{a, b},
                      [&](auto &p) {
                        if (transposeA)
                          p.transpose_a = n.b.getUnitAttr();
                        if (transposeB)
                          p.transpose_b = n.b.getUnitAttr();
                      })
      .getResult();
}

/// Gemm: alpha * A' @ B' + beta * C.
static void gemm(Node &n) {
  double alpha = n.floatAttribute("alpha", 1.0), beta = n.floatAttribute("beta", 1.0);
  bool transA = n.intAttribute("transA", 0) != 0, transB = n.intAttribute("transB", 0) != 0;
  Value a = n.floatIn(0), b = n.floatIn(1);
  if (n.rank(0) != 2 || n.rank(1) != 2)
    n.fail("operands must be matrices, not of rank " + Twine(n.rank(0)) + " and " + Twine(n.rank(1)));
  Value y = matmul(n, a, b, transA, transB);
  if (alpha != 1)
    y = n.mul(y, n.number(alpha, y));
  if (n.has(2) && beta != 0) {
    Value c = n.in(2);
    auto shape = broadcastShapes(shapeOf(y), shapeOf(c));
    if (!shape || ArrayRef<int64_t>(*shape) != shapeOf(y))
      n.fail("C does not broadcast to the product");
    if (beta != 1)
      c = n.mul(c, n.number(beta, c));
    y = n.add(y, c);
  }
  n.out(0, y);
}

/// MatMul as in numpy: a vector becomes a matrix, and the added dimension is removed from the result.
static void matMul(Node &n) {
  Value a = n.floatIn(0), b = n.floatIn(1);
  Shape as(shapeOf(a)), bs(shapeOf(b));
  if (as.empty() || bs.empty())
    n.fail("operands must not be scalars");
  bool rowVector = as.size() == 1, columnVector = bs.size() == 1;
  if (rowVector)
    a = n.reshape(a, {1, as[0]});
  if (columnVector)
    b = n.reshape(b, {bs[0], 1});
  Value y = matmul(n, a, b);
  Shape shape(shapeOf(y));
  if (columnVector)
    shape.pop_back();
  if (rowVector)
    shape.erase(shape.end() - (columnVector ? 1 : 2));
  n.out(0, n.reshape(y, shape));
}

//===-- Windows ------------------------------------------------------------------===//

namespace {
/// Attributes that convolutions and pooling share.
struct Window {
  Shape kernel, strides, dilations, low, high;
};
} // namespace

/// The padding of auto_pad SAME_*: there are ceil(in/stride) windows, and an odd element of padding is at the
/// end or at the start.
static void samePads(Window &w, size_t i, int64_t in, bool upper) {
  int64_t count = (in + w.strides[i] - 1) / w.strides[i];
  int64_t total = std::max<int64_t>((count - 1) * w.strides[i] + (w.kernel[i] - 1) * w.dilations[i] + 1 - in, 0);
  w.low[i] = upper ? total / 2 : total - total / 2;
  w.high[i] = total - w.low[i];
}

/// Reads kernel_shape, strides, dilations, pads and auto_pad. `weights` is the shape of the kernel in the weights.
static Window window(Node &n, std::optional<Shape> weights, bool hasDilations, bool transposed = false) {
  int64_t rank = n.rank(0);
  if (rank < 3)
    n.fail("the input needs a batch, a channel and at least one spatial dimension, not rank " + Twine(rank));
  size_t spatial = size_t(rank - 2);
  Window w;
  auto kernel = n.intsAttribute("kernel_shape");
  if (kernel && weights && *kernel != *weights)
    n.fail("kernel_shape is not the weights' kernel", "", "kernel_shape");
  if (!kernel && !weights)
    n.fail("attribute 'kernel_shape' is missing", "", "kernel_shape");
  w.kernel = kernel ? *kernel : *weights;
  w.strides = n.intsAttribute("strides").value_or(Shape(spatial, 1));
  w.dilations = hasDilations ? n.intsAttribute("dilations").value_or(Shape(spatial, 1)) : Shape(spatial, 1);
  auto pads = n.intsAttribute("pads");
  std::string autoPad = n.stringAttribute("auto_pad", "NOTSET");
  // Numbers that fit no tensor would overflow the arithmetic below.
  auto check = [&](ArrayRef<int64_t> values, size_t count, int64_t least, StringRef name) {
    if (values.size() != count)
      n.fail("attribute '" + Twine(name) + "' has " + Twine(values.size()) + " entries, not " + Twine(count), "", name);
    for (int64_t v : values)
      if (v < least || v > INT32_MAX)
        n.fail("attribute '" + Twine(name) + "' has the entry " + Twine(v), "", name);
  };
  check(w.kernel, spatial, 1, "kernel_shape");
  check(w.strides, spatial, 1, "strides");
  check(w.dilations, spatial, 1, "dilations");
  for (int64_t in : n.shape(0).drop_front(2))
    if (in > INT32_MAX)
      n.limit("spatial dimensions of " + Twine(in) + " elements are not supported");
  w.low = w.high = Shape(spatial, 0);
  if (autoPad == "NOTSET" || autoPad.empty()) {
    if (pads) {
      check(*pads, 2 * spatial, transposed ? -INT32_MAX : 0, "pads");
      w.low.assign(pads->begin(), pads->begin() + spatial);
      w.high.assign(pads->begin() + spatial, pads->end());
    }
  } else if (autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER") {
    if (!transposed)
      for (size_t i = 0; i < spatial; ++i)
        samePads(w, i, n.shape(0)[i + 2], autoPad == "SAME_UPPER");
  } else if (autoPad != "VALID") {
    n.fail("auto_pad '" + printable(autoPad) + "' is not known", "NOTSET, SAME_UPPER, SAME_LOWER or VALID", "auto_pad");
  }
  return w;
}

/// Refuses pooling windows that lie wholly in the padding, since they have nothing to pool.
static void checkPoolPadding(Node &n, const Window &w) {
  int64_t positions = 1;
  for (size_t i = 0; i < w.kernel.size(); ++i) {
    int64_t extent = (w.kernel[i] - 1) * w.dilations[i] + 1;
    if (w.low[i] >= extent || w.high[i] >= extent)
      n.fail("pads " + Twine(w.low[i]) + " and " + Twine(w.high[i]) + " are not smaller than the window of " +
                 Twine(extent),
             "", "pads");
    if (positions > INT32_MAX / w.kernel[i])
      n.limit("the window has too many elements", "", "kernel_shape");
    positions *= w.kernel[i];
  }
}

/// Adds a bias [O] to a channels-first activation.
static Value addBias(Node &n, Value y, size_t input) {
  if (!n.has(input))
    return y;
  Value bias = n.in(input);
  int64_t channels = shapeOf(y)[1];
  if (shapeOf(bias) != ArrayRef<int64_t>{channels})
    n.fail("the bias must have one element for each of " + Twine(channels) + " channels");
  Shape shape(typeOf(y).getRank() - 1, 1);
  shape[0] = channels;
  return n.add(y, n.reshape(bias, shape));
}

static Shape kernelOf(Node &n) {
  if (n.rank(1) != n.rank(0) || n.rank(0) < 3)
    n.fail("input and weights need the same rank, 3 at least, not " + Twine(n.rank(0)) + " and " + Twine(n.rank(1)));
  return Shape(n.shape(1).drop_front(2));
}

template <typename Properties>
static void setWindow(Node &n, Properties &p, const Window &w) {
  p.strides = n.b.getDenseI64ArrayAttr(w.strides);
  p.dilations = n.b.getDenseI64ArrayAttr(w.dilations);
  p.pad_low = n.b.getDenseI64ArrayAttr(w.low);
  p.pad_high = n.b.getDenseI64ArrayAttr(w.high);
}

static void conv(Node &n) {
  Value x = n.floatIn(0), weights = n.floatIn(1);
  Window w = window(n, kernelOf(n), true);
  int64_t groups = n.intAttribute("group", 1);
  Value y = n.make<ConvOp>(ValueRange{x, weights}, [&](auto &p) {
               setWindow(n, p, w);
               p.groups = n.b.getI64IntegerAttr(groups);
             }).getResult();
  n.out(0, addBias(n, y, 2));
}

/// ConvTranspose is the input gradient of the convolution with the same weights [C_in, C_out/groups,
/// kernel...]: out = stride*(in - 1) + output_padding + dilation*(kernel - 1) + 1 - pads.
static void convTranspose(Node &n) {
  Value x = n.floatIn(0), weights = n.floatIn(1);
  Window w = window(n, kernelOf(n), true, /*transposed=*/true);
  int64_t groups = n.intAttribute("group", 1);
  size_t spatial = w.kernel.size();
  auto outputShape = n.intsAttribute("output_shape");
  Shape outputPadding = n.intsAttribute("output_padding").value_or(Shape(spatial, 0));
  std::string autoPad = n.stringAttribute("auto_pad", "NOTSET");
  if (outputPadding.size() != spatial)
    n.fail("output_padding needs " + Twine(spatial) + " entries", "", "output_padding");
  if (outputShape && outputShape->size() == spatial + 2) // some exporters give all dimensions
    outputShape->erase(outputShape->begin(), outputShape->begin() + 2);
  if (outputShape && outputShape->size() != spatial)
    n.fail("output_shape needs " + Twine(spatial) + " entries", "", "output_shape");
  if (groups < 1 || n.shape(1)[1] > INT32_MAX / groups)
    n.fail("group " + Twine(groups) + " is not possible", "", "group");
  Shape y = {n.shape(0)[0], n.shape(1)[1] * groups};
  Shape full = y; // the extents without any padding
  bool direct = true;
  for (size_t i = 0; i < spatial; ++i) {
    int64_t in = n.shape(0)[i + 2], whole = w.strides[i] * (in - 1) + w.dilations[i] * (w.kernel[i] - 1) + 1;
    if (outputPadding[i] < 0 || outputPadding[i] > INT32_MAX)
      n.fail("output_padding has the entry " + Twine(outputPadding[i]), "", "output_padding");
    bool same = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER";
    if (outputShape || same) {
      // ONNX ConvTranspose: the total padding follows from the output's size; auto_pad splits it.
      int64_t wanted = outputShape ? (*outputShape)[i] : in * w.strides[i];
      if (wanted < 0 || wanted > kMaxElements)
        n.fail("dimension " + Twine(i + 2) + " of the result would be " + Twine(wanted), "",
               outputShape ? "output_shape" : "strides");
      int64_t total = whole + outputPadding[i] - wanted;
      // ONNX gives input * stride elements here, and runtimes disagree (onnxruntime pads by nothing less than zero).
      if (total < 0 && !outputShape)
        n.limit("auto_pad '" + printable(autoPad) + "' makes dimension " + Twine(i + 2) + " of the result " +
                    Twine(wanted) + " (input * stride), but the kernel reaches only " +
                    Twine(whole + outputPadding[i]) + " elements: the padding would be negative",
                "state the result's size with output_shape, or pads and output_padding in place of auto_pad",
                "auto_pad");
      // Where the output is larger than the whole, the excess is at its end.
      w.low[i] = total < 0 ? 0 : autoPad == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.high[i] = total - w.low[i];
    }
    y.push_back(whole + outputPadding[i] - w.low[i] - w.high[i]);
    full.push_back(whole);
    if (y.back() < 1 || y.back() > kMaxElements)
      n.fail("dimension " + Twine(i + 2) + " of the result becomes " + Twine(y.back()));
    direct &= w.low[i] >= 0 && w.high[i] >= 0 && outputPadding[i] < w.strides[i];
  }
  Shape low = w.low, high;
  for (size_t i = 0; i < spatial; ++i)
    high.push_back(outputPadding[i] - w.high[i]);
  if (!direct)
    w.low = w.high = Shape(spatial, 0);
  Value dx = n.make<ConvInputGradOp>(
                  ValueRange{x, weights},
                  [&](auto &p) {
                    setWindow(n, p, w);
                    p.groups = n.b.getI64IntegerAttr(groups);
                  },
                  n.tensorType(direct ? y : full, elementOf(x)))
                 .getResult();
  if (!direct) { // the convolution cannot express this padding, so the whole result is cropped or padded
    Shape padLow = {0, 0}, padHigh = {0, 0};
    for (size_t i = 0; i < spatial; ++i) {
      padLow.push_back(-low[i]);
      padHigh.push_back(high[i]);
    }
    dx = n.make<PadOp>(dx, [&](auto &p) {
            p.value = n.b.getF64FloatAttr(0);
            p.low = n.b.getDenseI64ArrayAttr(padLow);
            p.high = n.b.getDenseI64ArrayAttr(padHigh);
            p.interior = n.b.getDenseI64ArrayAttr(Shape(spatial + 2, 0));
          }).getResult();
  }
  n.out(0, addBias(n, dx, 2));
}

//===-- Pooling --------------------------------------------------------------------===//

/// The flat positions in x of each window's maximum, computed from its position in the window: the second
/// output of MaxPool.
static Value flatIndices(Node &n, Value argmax, const Window &w, bool columnMajor) {
  Type i64 = n.b.getI64Type();
  RankedTensorType type = typeOf(argmax).clone(i64);
  Value position = n.cast(argmax, i64);
  ArrayRef<int64_t> x = n.shape(0);
  int64_t spatial = int64_t(w.kernel.size()), plane = 1;
  Value flat;
  auto accumulate = [&](Value coordinate, int64_t stride) {
    Value term = n.mul(coordinate, n.i64(stride));
    flat = flat ? n.add(flat, term) : term;
  };
  Shape strides(spatial, 1); // the strides of x's spatial dimensions in the requested order
  for (int64_t k = 0; k < spatial; ++k) {
    int64_t i = columnMajor ? k : spatial - 1 - k;
    strides[i] = plane;
    plane *= x[i + 2];
  }
  int64_t inner = 1;
  for (int64_t i = spatial - 1; i >= 0; --i) {
    Value within = inner == 1 ? position : n.div(position, n.i64(inner));
    within = n.make<ModOp>(ValueRange{within, n.i64(w.kernel[i])}).getResult();
    inner *= w.kernel[i];
    Value start = n.sub(n.mul(n.iota(type, i + 2), n.i64(w.strides[i])), n.i64(w.low[i]));
    accumulate(n.add(start, n.mul(within, n.i64(w.dilations[i]))), strides[i]);
  }
  accumulate(n.iota(type, 1), plane);
  accumulate(n.iota(type, 0), plane * x[1]);
  return flat;
}

static void maxPool(Node &n) {
  Window w = window(n, {}, n.opset >= 10);
  checkPoolPadding(n, w);
  bool ceil = n.opset >= 10 && n.intAttribute("ceil_mode", 0) != 0;
  bool columnMajor = n.intAttribute("storage_order", 0) != 0;
  auto op = n.make<MaxPoolOp>(n.in(0), [&](auto &p) {
    setWindow(n, p, w);
    p.kernel = n.b.getDenseI64ArrayAttr(w.kernel);
    if (ceil)
      p.ceil_mode = n.b.getUnitAttr();
  });
  n.out(0, op.getY());
  if (n.used(1))
    n.out(1, flatIndices(n, op.getArgmax(), w, columnMajor));
}

static Value avgPool(Node &n, Value x, const Window &w, bool countPad, bool ceil) {
  return n
      .make<AvgPoolOp>(x,
                       [&](auto &p) {
                         setWindow(n, p, w);
                         p.kernel = n.b.getDenseI64ArrayAttr(w.kernel);
                         if (countPad)
                           p.count_include_pad = n.b.getUnitAttr();
                         if (ceil)
                           p.ceil_mode = n.b.getUnitAttr();
                       })
      .getY();
}

static void averagePool(Node &n) {
  Window w = window(n, {}, n.opset >= 19);
  checkPoolPadding(n, w);
  bool ceil = n.opset >= 10 && n.intAttribute("ceil_mode", 0) != 0;
  bool countPad = n.intAttribute("count_include_pad", 0) != 0;
  Value y = avgPool(n, n.floatIn(0), w, countPad, ceil);
  // avg_pool(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override): the exporter drops
  // the last one.
  std::optional<torch::Call> call = torch::Metadata::callOf(n.proto);
  double divisor;
  if (call && StringRef(call->target).starts_with("avg_pool") && call->args.size() > 6 &&
      llvm::to_float(StringRef(call->args[6]), divisor)) {
    const bool isWhole = llvm::all_of(w.low, [](int64_t pad) { return pad == 0; }) &&
                         llvm::all_of(w.high, [](int64_t pad) { return pad == 0; });
    if (ceil || !(countPad || isWhole))
      n.fail("the pooling of the torch module has divisor_override=" + call->args[6] + ", which the exporter dropped",
             "multiply an average without padding by a number in place of it");
    double count = 1;
    for (int64_t extent : w.kernel)
      count *= double(extent);
    y = n.mul(y, n.number(count / divisor, y));
  }
  n.out(0, y);
}

/// LpPool: (sum |x|^p)^(1/p), computed from the mean over windows in which padding counts.
static void lpPool(Node &n) {
  Window w = window(n, {}, n.opset >= 18);
  checkPoolPadding(n, w);
  bool ceil = n.opset >= 18 && n.intAttribute("ceil_mode", 0) != 0;
  if (ceil)
    n.unsupported("ceil_mode is not supported", "", "ceil_mode");
  double p = double(n.intAttribute("p", 2)), count = 1;
  for (int64_t k : w.kernel)
    count *= double(k);
  Value x = n.unary<AbsOp>(n.floatIn(0));
  Value power = n.binary<PowOp>(x, n.number(p, x));
  Value total = n.mul(avgPool(n, power, w, true, false), n.number(count, x));
  n.out(0, n.binary<PowOp>(total, n.number(1 / p, x)));
}

/// Global pooling reduces over all spatial dimensions.
template <typename OpT>
static void globalPool(Node &n) {
  Value x = n.floatIn(0);
  if (n.rank(0) < 2)
    n.fail("the input needs a batch and a channel dimension");
  Shape axes;
  for (int64_t i = 2; i < n.rank(0); ++i)
    axes.push_back(i);
  n.out(0, n.reduce<OpT>(x, axes, true));
}

OpFamily onnx_import::nnOps() {
  static const OpRow rows[] = {
      {"Gemm", 7, kMaxOpset, 3, 1, "@wb", "floats", gemm},
      {"MatMul", 1, kMaxOpset, 2, 1, "@@", "floats", matMul},
      {"Conv", 1, kMaxOpset, 3, 1, "dwb", "1 to 3 spatial dimensions", conv},
      {"ConvTranspose", 1, kMaxOpset, 3, 1, "dwb", "1 to 3 spatial dimensions", convTranspose},
      {"MaxPool", 1, kMaxOpset, 1, {1, 8, 2}, "", "windows of less than 32768 elements", maxPool},
      {"AveragePool", 1, kMaxOpset, 1, 1, "", "", averagePool},
      {"LpPool", 7, kMaxOpset, 1, 1, "", "no ceil_mode", lpPool},
      {"GlobalAveragePool", 1, kMaxOpset, 1, 1, "", "", globalPool<ReduceMeanOp>},
      {"GlobalMaxPool", 1, kMaxOpset, 1, 1, "", "", globalPool<ReduceMaxOp>},
  };
  return {"NN", rows};
}
