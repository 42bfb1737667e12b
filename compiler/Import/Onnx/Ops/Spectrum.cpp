//===- Spectrum.cpp - Fourier transforms and their windows ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A transform is its sum: n products for each frequency, in fp64, since most of them cancel. Lengths are those of
// windows of speech or of a picture's side, for which that is little beside a network.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Onnx/Node.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

static constexpr double kPi = 3.14159265358979323846;

namespace {
/// This is a transform of `length` samples: its frequencies are 0, ..., frequencies - 1, of complex exponentials with
/// this sign.
struct Transform {
  int64_t length, frequencies;
  double sign = -1, scale = 1;
};
} // namespace

/// Returns cos or sin of 2 pi k i / length, [samples, frequencies], for those samples that there are; multiplied by
/// `factor(k)`.
static Value waves(Node &n, const Transform &t, int64_t samples, bool sine, Type element,
                   llvm::function_ref<double(int64_t)> factor) {
  std::vector<double> values;
  for (int64_t i = 0; i < samples; ++i)
    for (int64_t k = 0; k < t.frequencies; ++k) {
      const double angle = 2 * kPi * double(i * k % t.length) / double(t.length);
      values.push_back((sine ? std::sin(angle) : std::cos(angle)) * factor(k));
    }
  HostTensor tensor = HostTensor::fromDoubles(n.tensorType({samples, t.frequencies}, element), values);
  tensor.splat = tensor.splat && values.size() == 1;
  return n.constantValue(tensor);
}

/// Transforms x [outer, samples, inner, parts], whose parts are real or (real, imaginary), along its second dimension;
/// the result is [outer, frequencies, inner, 2].
static Value transformed(Node &n, Value x, const Transform &t) {
  const Shape s(shapeOf(x));
  const int64_t samples = std::min(s[1], t.length);
  Type element = elementOf(x);
  auto part = [&](int64_t i) {
    return n.reshape(n.slice(x, {0, 0, 0, i}, {s[0], samples, s[2], 1}, {1, 1, 1, 1}), {s[0], samples, 1, s[2]});
  };
  auto wave = [&](bool sine, double factor) {
    return n.reshape(waves(n, t, samples, sine, element, [&](int64_t) { return factor; }),
                     {1, samples, t.frequencies, 1});
  };
  auto sum = [&](Value products) { return n.sum(products, {1}, /*keepdims=*/false); };
  Value cosine = wave(false, t.scale), sine = wave(true, t.sign * t.scale);
  Value real = sum(n.mul(part(0), cosine)), imaginary = sum(n.mul(part(0), sine));
  if (s[3] == 2) { // (a + ib)(c + is) = (ac - bs) + i(as + bc)
    real = n.sub(real, sum(n.mul(part(1), sine)));
    imaginary = n.add(imaginary, sum(n.mul(part(1), cosine)));
  }
  Shape result = {s[0], t.frequencies, s[2], 1};
  SmallVector<Value> parts = {n.reshape(real, result), n.reshape(imaginary, result)};
  return n.concat(parts, 3);
}

/// A table that is made at import has no more numbers.
static constexpr int64_t kMostNumbers = int64_t(1) << 24;

static Value wide(Node &n, Value x) { return n.cast(x, n.b.getF64Type()); }

/// DFT: the axis is an attribute before opset 20 and an input since. Inverse and onesided, it gives real samples of
/// half a spectrum.
static void dft(Node &n) {
  const int64_t rank = n.rank(0);
  int64_t axis = n.opset < 20 ? n.intAttribute("axis", 1) : n.has(2) ? n.constantInt(2, "axis") : -2;
  axis = n.axis(axis, rank);
  const bool inverse = n.intAttribute("inverse", 0) != 0, onesided = n.intAttribute("onesided", 0) != 0;
  if (rank < 2 || axis == rank - 1 || (n.shape(0).back() != 1 && n.shape(0).back() != 2))
    n.fail("the input must be [..., samples, ..., 1 or 2], and the last dimension is not transformed");
  const int64_t given = n.shape(0)[axis], natural = inverse && onesided ? 2 * (given - 1) : given;
  const int64_t length = n.has(1) ? n.constantInt(1, "dft_length") : natural;
  if (length < 1)
    n.fail("a transform of " + Twine(length) + " samples is not possible", "", "dft_length");
  if (length > 4096)
    n.limit("a transform of " + Twine(length) + " samples is too long; at most 4096 are supported", "", "dft_length");
  const int64_t outer = llvm::product_of(n.shape(0).take_front(axis)),
                inner = llvm::product_of(n.shape(0).drop_front(axis + 1).drop_back()), parts = n.shape(0).back();
  Value x = n.reshape(wide(n, n.floatIn(0)), {outer, given, inner, parts});
  Transform t{length, length, inverse ? 1.0 : -1.0, inverse ? 1 / double(length) : 1.0};
  Value y;
  Shape result(n.shape(0));
  if (inverse && onesided) { // real: the other half of the spectrum is the conjugate of this one
    const int64_t used = std::min(given, length / 2 + 1);
    std::vector<double> twice;
    for (int64_t k = 0; k < used; ++k)
      twice.push_back(k == 0 || 2 * k == length ? 1 : 2);
    x = n.slice(x, {0, 0, 0, 0}, {outer, used, inner, parts}, {1, 1, 1, 1});
    HostTensor weights = HostTensor::fromDoubles(RankedTensorType::get({1, used, 1, 1}, elementOf(x)), twice);
    weights.splat = used == 1;
    y = transformed(n, n.mul(x, n.constantValue(weights)), t);
    y = n.slice(y, {0, 0, 0, 0}, {outer, length, inner, 1}, {1, 1, 1, 1});
  } else {
    if (onesided)
      t.frequencies = length / 2 + 1;
    y = transformed(n, x, t);
  }
  result[axis] = shapeOf(y)[1];
  result.back() = shapeOf(y)[3];
  n.out(0, n.cast(n.reshape(y, result), n.element(0)));
}

/// STFT transforms frames that overlap, each multiplied by the window.
static void stft(Node &n) {
  const bool onesided = n.intAttribute("onesided", 1) != 0;
  const bool hasParts = n.rank(0) == 3;
  const int64_t parts = hasParts ? n.shape(0)[2] : 1;
  if (n.rank(0) < 2 || n.rank(0) > 3 || (parts != 1 && parts != 2))
    n.fail("the signal must be [samples, length, 1 or 2]");
  const int64_t batch = n.shape(0)[0], length = n.shape(0)[1], step = n.constantInt(1, "frame_step");
  const int64_t frame = n.has(3) ? n.constantInt(3, "frame_length") : n.has(2) ? n.type(2).getNumElements() : 0;
  if (step < 1 || frame < 1 || frame > length)
    n.fail("frames of " + Twine(frame) + " samples, " + Twine(step) + " apart, of " + Twine(length) +
           " are not possible");
  if (n.has(2) && n.type(2).getNumElements() != frame)
    n.fail("the window must have as many elements as a frame");
  const int64_t frames = 1 + (length - frame) / step;
  if (frame > 4096 || frames > kMostNumbers / frame)
    n.limit(Twine(frames) + " frames of " + Twine(frame) +
            " samples are too many; at most 2^24 samples, and 4096 of a "
            "frame, are supported");
  std::vector<int64_t> places;
  for (int64_t f = 0; f < frames; ++f)
    for (int64_t i = 0; i < frame; ++i)
      places.push_back(f * step + i);
  auto type = n.tensorType({frames, frame}, n.b.getI64Type());
  Value signal = n.reshape(wide(n, n.floatIn(0)), {batch, length, parts});
  Value cut = n.gather(signal, n.constantValue(HostTensor::fromInts(type, places)), 1); // [batch, frames, frame, parts]
  if (n.has(2))
    cut = n.mul(cut, n.reshape(n.cast(n.floatIn(2), elementOf(cut)), {1, 1, frame, 1}));
  const Transform t{frame, onesided ? frame / 2 + 1 : frame};
  Value y = transformed(n, n.reshape(cut, {batch * frames, frame, 1, parts}), t);
  n.out(0, n.cast(n.reshape(y, {batch, frames, t.frequencies, 2}), n.element(0)));
}

enum class Window { Hann, Hamming, Blackman };

/// A window is a sum of cosines, as ONNX defines it.
template <Window kind>
static void window(Node &n) {
  const int64_t size = n.constantInt(0, "the size");
  const bool periodic = n.intAttribute("periodic", 1) != 0;
  Type element = elementType(n.context, n.intAttribute("output_datatype", 1));
  if (!element || !isa<FloatType>(element))
    n.limit("this element type is not supported", "", "output_datatype");
  if (size < 0 || size > 1 << 24)
    n.fail("a window of " + Twine(size) + " elements is not possible");
  constexpr double first = kind == Window::Hann ? 0.5 : kind == Window::Hamming ? 25.0 / 46 : 0.42;
  constexpr double second = kind == Window::Hann ? 0.5 : kind == Window::Hamming ? 21.0 / 46 : 0.5;
  constexpr double third = kind == Window::Blackman ? 0.08 : 0;
  std::vector<double> values;
  for (int64_t i = 0; i < size; ++i) {
    const double angle = 2 * kPi * double(i) / double(std::max<int64_t>(periodic ? size : size - 1, 1));
    values.push_back(first - second * std::cos(angle) + third * std::cos(2 * angle));
  }
  HostTensor tensor = HostTensor::fromDoubles(n.tensorType({size}, element), values);
  tensor.splat = false;
  n.out(0, std::move(tensor));
}

OpFamily onnx_import::spectrumOps() {
  static const OpRow rows[] = {
      {"DFT", 17, kMaxOpset, {2, 20, 3}, 1, "", "constant length and axis", dft},
      {"STFT", 17, kMaxOpset, 4, 1, "", "constant lengths", stft},
      {"HannWindow", 17, kMaxOpset, 1, 1, "", "constant size", window<Window::Hann>},
      {"HammingWindow", 17, kMaxOpset, 1, 1, "", "constant size", window<Window::Hamming>},
      {"BlackmanWindow", 17, kMaxOpset, 1, 1, "", "constant size", window<Window::Blackman>},
  };
  return {"Spectrum", rows};
}
