//===- Reference.cpp - Naive library operations in double -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Reference.h"

#include <cmath>
#include <cstring>
#include <sstream>

namespace mpc::test {
namespace {

/// A number format: digits after the leading one, and the exponent of the smallest normal number.
struct Format {
  int digits, minExponent;
  double overflow; // the smallest magnitude that rounds to infinity
};

Format formatOf(int32_t type) {
  switch (type) {
  case MPC_F16:
    return {10, -14, 65520.0};
  case MPC_BF16:
    return {7, -126, std::ldexp(511.0, 119)}; // halfway between 2^128 - 2^120 and 2^128
  default:
    return {23, -126, std::ldexp(33554431.0, 103)};
  }
}

} // namespace

int64_t elementBytes(int32_t type) { return type == MPC_F64 ? 8 : type == MPC_F32 ? 4 : 2; }

double halfUlp(int32_t type, double value) {
  if (type == MPC_F64)
    return std::ldexp(std::fabs(value), -53);
  const Format format = formatOf(type);
  const int exponent = value == 0 ? format.minExponent : std::max(std::ilogb(value), format.minExponent);
  return std::ldexp(1.0, exponent - format.digits - 1);
}

double roundTo(int32_t type, double value) {
  if (type == MPC_F64 || !std::isfinite(value))
    return value;
  if (std::fabs(value) >= formatOf(type).overflow)
    return std::copysign(INFINITY, value);
  const double ulp = 2 * halfUlp(type, value);
  return std::nearbyint(value / ulp) * ulp;
}

double decode(int32_t type, const void *data, int64_t index) {
  const char *at = static_cast<const char *>(data) + index * elementBytes(type);
  if (type == MPC_F64 || type == MPC_F32) {
    double d;
    float f;
    std::memcpy(&d, at, type == MPC_F64 ? 8 : 0);
    std::memcpy(&f, at, 4);
    return type == MPC_F64 ? d : f;
  }
  uint16_t bits;
  std::memcpy(&bits, at, 2);
  const int digits = formatOf(type).digits, bias = type == MPC_F16 ? 15 : 127;
  const int exponent = bits >> digits & ((1 << (15 - digits)) - 1), fraction = bits & ((1 << digits) - 1);
  double value;
  if (exponent == (1 << (15 - digits)) - 1)
    value = fraction ? NAN : INFINITY;
  else
    value = std::ldexp(exponent ? fraction + (1 << digits) : fraction, std::max(exponent, 1) - bias - digits);
  return bits >> 15 ? -value : value;
}

void encode(int32_t type, void *data, int64_t index, double value) {
  char *at = static_cast<char *>(data) + index * elementBytes(type);
  const float f = float(value);
  if (type == MPC_F64)
    std::memcpy(at, &value, 8);
  else if (type == MPC_F32)
    std::memcpy(at, &f, 4);
  if (type != MPC_F16 && type != MPC_BF16)
    return;
  const int digits = formatOf(type).digits, bias = type == MPC_F16 ? 15 : 127;
  uint16_t bits = 0;
  if (std::isnan(value))
    bits = uint16_t(0x7fff);
  else if (std::isinf(value))
    bits = uint16_t(((1 << (15 - digits)) - 1) << digits);
  else if (value != 0) {
    const int exponent = std::max(std::ilogb(value), 1 - bias);
    const int fraction = int(std::ldexp(std::fabs(value), digits - exponent)); // with the leading one, if normal
    bits = uint16_t(((exponent + bias - 1) << digits) + fraction);
  }
  if (std::signbit(value))
    bits |= 0x8000;
  std::memcpy(at, &bits, 2);
}

namespace {

int64_t product(const int64_t *extents, int count) {
  int64_t result = 1;
  for (int i = 0; i < count; ++i)
    result *= extents[i];
  return result;
}

} // namespace

Sizes sizes(const Desc &d) {
  if (d.op == MPC_MATMUL)
    return {(d.broadcast_a ? 1 : d.batch) * d.m * d.k, (d.broadcast_b ? 1 : d.batch) * d.k * d.n, d.batch * d.m * d.n};
  const int64_t x = d.N * d.C * product(d.in, d.spatial), y = d.N * d.O * product(d.out, d.spatial);
  const int64_t w = d.O * (d.C / d.groups) * product(d.kernel, d.spatial);
  return d.op == MPC_CONV_FORWARD ? Sizes{x, w, y} : d.op == MPC_CONV_INPUT_GRAD ? Sizes{y, w, x} : Sizes{x, y, w};
}

int64_t biasLength(const Desc &d) { return d.op == MPC_MATMUL ? d.n : d.op == MPC_CONV_FORWARD ? d.O : d.C; }

namespace {

void multiply(const Desc &d, const std::vector<double> &a, const std::vector<double> &b, Expected &e) {
  const int64_t alongA = d.transpose_a ? d.m : 1, alongB = d.transpose_b ? 1 : d.n; // from one k to the next
  for (int64_t batch = 0; batch < d.batch; ++batch)
    for (int64_t i = 0; i < d.m; ++i)
      for (int64_t j = 0; j < d.n; ++j) {
        const double *atA = a.data() + (d.broadcast_a ? 0 : batch) * d.m * d.k + (d.transpose_a ? i : i * d.k);
        const double *atB = b.data() + (d.broadcast_b ? 0 : batch) * d.k * d.n + (d.transpose_b ? j * d.k : j);
        double value = 0, magnitude = 0;
        for (int64_t k = 0; k < d.k; ++k) {
          const double term = atA[k * alongA] * atB[k * alongB];
          value += term;
          magnitude += std::fabs(term);
        }
        const size_t at = size_t((batch * d.m + i) * d.n + j);
        e.value[at] = value;
        e.magnitude[at] = magnitude;
        e.terms[at] = d.k;
      }
}

/// Calls body(x, w, y) with the element indices of every product x * w that the forward convolution adds to y.
template <class Body>
void visit(const Desc &d, const Body &body) {
  const int64_t perGroupC = d.C / d.groups, perGroupO = d.O / d.groups;
  const int64_t inPixels = product(d.in, d.spatial), outPixels = product(d.out, d.spatial);
  const int64_t taps = product(d.kernel, d.spatial);
  for (int64_t n = 0; n < d.N; ++n)
    for (int64_t p = 0; p < outPixels; ++p)
      for (int64_t t = 0; t < taps; ++t) {
        int64_t q = 0, stepIn = 1, restP = p, restT = t;
        bool inside = true;
        for (int i = d.spatial - 1; i >= 0; --i) {
          const int64_t position = restP % d.out[i] * d.stride[i] + restT % d.kernel[i] * d.dilation[i] - d.pad_low[i];
          inside = inside && position >= 0 && position < d.in[i];
          q += position * stepIn;
          stepIn *= d.in[i];
          restP /= d.out[i];
          restT /= d.kernel[i];
        }
        if (!inside)
          continue;
        for (int64_t o = 0; o < d.O; ++o)
          for (int64_t c = 0; c < perGroupC; ++c)
            body(size_t((n * inPixels + q) * d.C + o / perGroupO * perGroupC + c),
                 size_t((o * perGroupC + c) * taps + t), size_t((n * outPixels + p) * d.O + o));
      }
}

} // namespace

Expected reference(const Desc &d, const std::vector<double> &a, const std::vector<double> &b,
                   const std::vector<double> &bias, const std::vector<double> &addend) {
  const size_t count = size_t(sizes(d).out);
  Expected e{std::vector<double>(count), std::vector<double>(count), std::vector<int64_t>(count)};
  const auto add = [&](size_t at, double term) {
    e.value[at] += term;
    e.magnitude[at] += std::fabs(term);
    ++e.terms[at];
  };
  if (d.op == MPC_MATMUL)
    multiply(d, a, b, e);
  else
    visit(d, [&](size_t x, size_t w, size_t y) {
      if (d.op == MPC_CONV_FORWARD)
        add(y, a[x] * b[w]);
      else if (d.op == MPC_CONV_INPUT_GRAD)
        add(x, a[y] * b[w]);
      else
        add(w, a[x] * b[y]);
    });
  const size_t columns = size_t(biasLength(d));
  for (size_t i = 0; i < count; ++i) {
    if (!bias.empty())
      add(i, bias[i % columns]);
    if (!addend.empty())
      add(i, addend[i]);
    if (d.activation == MPC_ACT_RELU && e.value[i] < 0)
      e.value[i] = 0;
  }
  return e;
}

Desc convolution(int32_t op, int32_t type, int64_t n, int64_t c, int64_t o, int64_t height, int64_t width) {
  Desc d = {};
  d.op = op;
  d.type_a = d.type_b = d.type_out = type;
  d.spatial = 2;
  d.N = n;
  d.C = c;
  d.O = o;
  d.groups = 1;
  for (int i = 0; i < 2; ++i) {
    d.in[i] = d.out[i] = i ? width : height;
    d.kernel[i] = 3;
    d.stride[i] = d.dilation[i] = d.pad_low[i] = d.pad_high[i] = 1;
  }
  return d;
}

std::string describe(const Desc &d) {
  static const char *const ops[] = {"?", "matmul", "conv", "conv input grad", "conv weight grad"};
  static const char *const types[] = {"?", "f16", "bf16", "f32", "f64"};
  std::ostringstream s;
  s << ops[d.op] << ' ' << types[d.type_a] << "->" << types[d.type_out];
  if (d.op == MPC_MATMUL)
    s << " batch " << d.batch << " m " << d.m << " n " << d.n << " k " << d.k << " transpose " << d.transpose_a
      << d.transpose_b << " broadcast " << d.broadcast_a << d.broadcast_b;
  else {
    s << " N " << d.N << " C " << d.C << " O " << d.O << " groups " << d.groups;
    for (int i = 0; i < d.spatial; ++i)
      s << " [in " << d.in[i] << " out " << d.out[i] << " kernel " << d.kernel[i] << " stride " << d.stride[i]
        << " dilation " << d.dilation[i] << " pad " << d.pad_low[i] << '/' << d.pad_high[i] << ']';
  }
  if (d.has_bias)
    s << " bias " << types[d.type_bias];
  s << (d.has_addend ? " addend" : "") << (d.activation ? " relu" : "");
  return s.str();
}

} // namespace mpc::test
