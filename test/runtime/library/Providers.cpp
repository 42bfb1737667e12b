//===- Providers.cpp - The library providers under test -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Providers.h"
#include "GenericLibrary.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <numbers>
#include <random>
#include <stdexcept>
#include <thread>

namespace mpc::test {
namespace {

constexpr size_t guardBytes = 4096;
constexpr char guardByte = char(0x5a);

/// Splits the range into at most three parts, which are unequal on purpose.
void parallelFor(void *, int64_t n, int64_t, void (*body)(void *, int64_t, int64_t), void *ctx) {
  const int64_t first = n / 3, second = n / 3 + n / 2;
  std::thread a([&] { body(ctx, 0, first); }), b([&] { body(ctx, first, second); });
  body(ctx, second, n);
  a.join();
  b.join();
}

const mpc_library *openGeneric(int threads) {
  mpc_generic_set_parallel_for(threads > 1 ? parallelFor : nullptr, nullptr);
  return mpc_generic_library(threads);
}

#ifdef MPC_ONEDNN_PLUGIN
const mpc_library *openOneDnn(int threads) {
  void *plugin = dlopen(MPC_ONEDNN_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  if (!plugin)
    return nullptr;
  return reinterpret_cast<mpc_library_entry_fn>(dlsym(plugin, MPC_LIBRARY_ENTRY))(threads);
}
#endif

/// Returns whether all bytes are those of a guard: whether the first is one, and each is as the next.
bool isGuard(const char *begin, const char *end) {
  return *begin == guardByte && std::memcmp(begin, begin + 1, size_t(end - begin) - 1) == 0;
}

/// A buffer with guards on both sides, 64-byte aligned inside.
struct Guarded {
  explicit Guarded(size_t bytes, unsigned char fill) : bytes(bytes), memory(bytes + 2 * guardBytes + 64, guardByte) {
    data = memory.data() + guardBytes;
    data += (64 - reinterpret_cast<uintptr_t>(data) % 64) % 64;
    std::memset(data, fill, bytes);
  }
  bool intact() const {
    const char *end = memory.data() + memory.size();
    return isGuard(memory.data(), data) && isGuard(data + bytes, end);
  }
  size_t bytes;
  std::vector<char> memory;
  char *data;
};

/// Draws a number of the standard normal distribution by the formula of Box and Muller. (libstdc++'s
/// std::normal_distribution takes a logarithm of a long double for each number that it draws from.)
double normal(std::mt19937_64 &random) {
  const auto uniform = [&] { return (double(random() >> 11) + 1) * 0x1p-53; }; // above 0, at most 1
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

} // namespace

std::vector<Provider> providers() {
  std::vector<Provider> all{{"generic", openGeneric}};
#ifdef MPC_ONEDNN_PLUGIN
  all.push_back({"onednn", openOneDnn});
#endif
  return all;
}

Problem::Problem(const mpc_library *library, const Desc &desc, uint64_t seed) : desc(desc), library(library) {
  char error[256] = "";
  primitive = library->create(&desc, error, sizeof error);
  if (!primitive)
    throw std::runtime_error(error);
  const Sizes count = sizes(desc);
  const int64_t counts[] = {count.a, count.b, desc.has_bias ? biasLength(desc) : 0, desc.has_addend ? count.out : 0};
  const int32_t types[] = {desc.type_a, desc.type_b, desc.type_bias, desc.type_out};
  std::mt19937_64 random(seed);
  for (int i = 0; i < 4; ++i) {
    if (!counts[i])
      continue;
    operands[i].resize(size_t(counts[i] * elementBytes(types[i])));
    for (int64_t j = 0; j < counts[i]; ++j)
      encode(types[i], operands[i].data(), j, roundTo(types[i], normal(random)));
  }
  out.resize(size_t(count.out * elementBytes(desc.type_out)));
}

Problem::~Problem() { library->destroy(primitive); }

void Problem::set(int operand, int64_t index, double value) {
  encode(operand ? desc.type_b : desc.type_a, operands[operand].data(), index, value);
}

void Problem::fill(int operand, double value) {
  for (int64_t i = 0; i < int64_t(operands[operand].size()) / elementBytes(desc.type_a); ++i)
    set(operand, i, value);
}

void Problem::run(bool inPlace, unsigned char fill) {
  const size_t scratchBytes = library->scratch_bytes(primitive);
  Guarded scratch(scratchBytes, fill), result(out.size(), 0xff);
  Guarded inputs[4] = {Guarded(operands[0].size(), 0), Guarded(operands[1].size(), 0), Guarded(operands[2].size(), 0),
                       Guarded(operands[3].size(), 0)};
  std::vector<void *> buffers;
  for (int i = 0; i < 4; ++i) {
    if (operands[i].empty())
      continue;
    std::memcpy(inputs[i].data, operands[i].data(), operands[i].size());
    buffers.push_back(inputs[i].data);
  }
  if (inPlace && desc.has_addend) {
    std::memcpy(result.data, operands[3].data(), out.size());
    buffers.back() = result.data;
  }
  buffers.push_back(result.data);
  library->execute(primitive, buffers.data(), scratch.data);
  std::memcpy(out.data(), result.data, out.size());
  for (int i = 0; i < 4; ++i)
    if (!inputs[i].intact() ||
        (operands[i].size() && std::memcmp(inputs[i].data, operands[i].data(), operands[i].size())))
      damage = "input " + std::to_string(i) + " was written";
  if (!scratch.intact())
    damage = "scratch was overrun";
  if (!result.intact())
    damage = "the result was overrun";
  if (library->scratch_bytes(primitive) != scratchBytes)
    damage = "scratch_bytes changed";
}

// The bound is as follows. A sum of t terms with exact products, each addition rounded to a unit roundoff u,
// in any order, differs from the exact sum by at most t * u / (1 - t * u) times the sum of the terms'
// magnitudes (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2). u is 2^-24 (2^-53 for
// f64); t counts bias and addend. The last rounding adds half an ULP of the result's type. bf16 instructions
// may flush subnormals of f32, which adds 2^-126 per term.
//
// Winograd's products belong to whole tiles, and so do their errors: they are bounded by the largest sum of magnitudes,
// and the additions of its transformations count as 36 terms more.
std::string Problem::check() const {
  std::vector<double> values[4];
  const int32_t types[] = {desc.type_a, desc.type_b, desc.type_bias, desc.type_out};
  for (int i = 0; i < 4; ++i)
    for (int64_t j = 0; j < int64_t(operands[i].size()) / elementBytes(types[i]); ++j)
      values[i].push_back(decode(types[i], operands[i].data(), j));
  const Expected expected = reference(desc, values[0], values[1], values[2], values[3]);
  const double unit = std::ldexp(1.0, desc.type_a == MPC_F64 ? -53 : -24);
  const bool tiled = implementation() == "winograd" && !expected.value.empty();
  const double mostTerms = tiled ? 36.0 + double(*std::max_element(expected.terms.begin(), expected.terms.end())) : 0;
  const double most = tiled ? *std::max_element(expected.magnitude.begin(), expected.magnitude.end()) : 0;
  for (size_t i = 0; i < expected.value.size(); ++i) {
    const double got = at(int64_t(i)), want = expected.value[i];
    const double terms = tiled ? mostTerms : double(expected.terms[i]);
    const double magnitude = tiled ? most : expected.magnitude[i];
    const double sumError = terms * unit / (1 - terms * unit) * magnitude + terms * 0x1p-126;
    // For f64 the reference has the same error.
    const double bound =
        (desc.type_a == MPC_F64 ? 2 : 1) * sumError + halfUlp(desc.type_out, std::fabs(want) + sumError);
    if (!(std::fabs(got - want) <= bound))
      return describe(desc) + ": element " + std::to_string(i) + " is " + std::to_string(got) + ", expected " +
             std::to_string(want) + " within " + std::to_string(bound);
  }
  return "";
}

} // namespace mpc::test
