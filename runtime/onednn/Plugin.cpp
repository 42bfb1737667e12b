//===- Plugin.cpp - The oneDNN library provider ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For every description it chooses between oneDNN, Winograd's method and the generic kernels; the plugin carries copies
// of the last two.
//
//===----------------------------------------------------------------------===//
#include "CodePages.h"
#include "GenericLibrary.h"
#include "NarrowMatmul.h"
#include "Program.h"
#include "Validate.h"
#include "Winograd.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <omp.h>
#include <string>
#include <string_view>

namespace mpc::onednn {
namespace {

std::atomic<int> threadCount{1};

void parallelFor(void *, int64_t n, int64_t, void (*body)(void *, int64_t, int64_t), void *ctx) {
#pragma omp parallel for schedule(static, 1) num_threads(int(n))
  for (int64_t i = 0; i < n; ++i)
    body(ctx, i, i + 1);
}

/// Returns whether oneDNN uses all that `isa` stands for; its names are sets of bits, and later ones
/// contain earlier ones.
bool has(dnnl::cpu_isa isa) {
  const unsigned bits = unsigned(isa);
  return (unsigned(dnnl::get_effective_cpu_isa()) & bits) == bits;
}

/// Without the processor's bf16 instructions oneDNN emulates them, and widening to f32 is faster.
bool hasBf16() { return has(dnnl::cpu_isa::avx512_core_bf16); }

/// Returns whether the processor's bf16 instructions compute more than those of f32. Intel's processors from Sapphire
/// Rapids on have AMX for that, but hypervisors may hide it, and the instructions that are left take twice as long as
/// in f32: on two cores of an Emerald Rapids oneDNN computed 1024 x 1024 x 256 at 167 GFLOP/s in bf16 and at 301 in
/// f32, and the generic kernels, which widen bf16 to f32, at 258. Convolutions of 1x1 were 1.3 to 1.6 times as fast in
/// the generic kernels, those of 7x7 over 3 channels 1.9, depthwise ones of 7x7 over 192 channels 2.1, their weight
/// gradient as fast. Cooper Lake has no AMX and was not measured.
bool isBf16Fast() {
#if defined(__x86_64__)
  if (__builtin_cpu_is("intel") && !__builtin_cpu_is("cooperlake") && !has(dnnl::cpu_isa::avx512_core_amx))
    return false;
#endif
  return hasBf16();
}

/// Returns whether oneDNN is given a description in bf16. Its grouped convolutions are faster than the generic ones
/// (3x3 with 32 groups of 4 channels: 1.25 times) even where the instructions are slow.
bool computesInBf16(const mpc_library_desc &d) {
  const bool grouped = d.op != MPC_MATMUL && d.groups > 1 && !generic::isDepthwise(d);
  return d.type_a == MPC_BF16 && (grouped ? hasBf16() : isBf16Fast());
}

/// oneDNN 2.6.3's bf16 kernels of weight gradients (AVX-512 and AMX) read uninitialised scratch, and the result depends
/// on it, where the channels of the input do not fill blocks and the kernel is dilated or has three dimensions.
bool readsStaleScratch(const mpc_library_desc &d) {
  if (d.op != MPC_CONV_WEIGHT_GRAD || d.type_a != MPC_BF16)
    return false;
  const bool dilated = std::any_of(d.dilation, d.dilation + d.spatial, [](int64_t n) { return n > 1; });
  return (dilated || d.spatial == 3) && d.C / d.groups % 32 != 0;
}

/// oneDNN 2.6.3's gradients of strided 1x1 convolutions write beyond their scratch where the channels of the input do
/// not fill a block: f32 and bf16, for AVX-512. (Such a layer of RegNet has 104 channels.)
bool overrunsScratch(const mpc_library_desc &d) {
  auto isOne = [](int64_t n) { return n == 1; };
  return (d.op == MPC_CONV_INPUT_GRAD || d.op == MPC_CONV_WEIGHT_GRAD) && d.C / d.groups % 16 != 0 &&
         std::all_of(d.kernel, d.kernel + d.spatial, isOne) && !std::all_of(d.stride, d.stride + d.spatial, isOne);
}

/// Returns whether, along dimension i, the tap of a window at a position lies inside the input.
bool isInside(const mpc_library_desc &d, int i, int64_t position, int64_t tap) {
  const int64_t at = position * d.stride[i] - d.pad_low[i] + tap * d.dilation[i];
  return at >= 0 && at < d.in[i];
}

/// oneDNN 2.6.3's forward pass for AVX-512 (brgconv) does not add the addend of a position whose window lies in the
/// padding as a whole.
bool losesAddend(const mpc_library_desc &d) {
  if (d.op != MPC_CONV_FORWARD || !d.has_addend)
    return false;
  for (int i = 0; i < d.spatial; ++i)
    for (int64_t position = 0, tap; position < d.out[i]; ++position) {
      for (tap = 0; tap < d.kernel[i] && !isInside(d, i, position, tap);)
        ++tap;
      if (tap == d.kernel[i])
        return true;
    }
  return false;
}

/// oneDNN 2.6.3's bf16 weight gradient is uninitialised memory at a tap that lies in the padding at every position.
bool leavesTap(const mpc_library_desc &d) {
  if (d.op != MPC_CONV_WEIGHT_GRAD || d.type_a != MPC_BF16)
    return false;
  for (int i = 0; i < d.spatial; ++i)
    for (int64_t tap = 0, position; tap < d.kernel[i]; ++tap) {
      for (position = 0; position < d.out[i] && !isInside(d, i, position, tap);)
        ++position;
      if (position == d.out[i])
        return true;
    }
  return false;
}

/// Returns whether oneDNN's result would be wrong.
bool isWrong(const mpc_library_desc &d) {
  return readsStaleScratch(d) || overrunsScratch(d) || losesAddend(d) || leavesTap(d);
}

/// Returns true for shapes where the generic kernels measured faster, on one core with AVX-512 and bf16 instructions.
/// GFLOP/s generic / oneDNN:
///   few result channels on maps without stride        LeNet's first layer: f32 50 / 32, bf16 60 / 45
///   f32 weight gradients, kernel > 1, >= 16 channels  ResNet-18: 196 / 181, 184 / 144, 205 / 195, 201 / 171, 219 / 206
///   f32 input gradients, kernel > 1, >= 16 channels   ResNet-18: 213 / 198, 202 / 181, 200 / 178, 203 / 199
/// bf16 otherwise goes to oneDNN where isBf16Fast, because the generic kernels compute in f32, at half the rate.
bool prefersGeneric(const mpc_library_desc &d) {
  if (d.op == MPC_MATMUL)
    return false;
  int64_t taps = 1, stride = 1;
  for (int i = 0; i < d.spatial; ++i) {
    taps *= d.kernel[i];
    stride *= d.stride[i];
  }
  if (d.op == MPC_CONV_FORWARD)
    return d.O <= 8 && d.C <= 4 && stride == 1 && taps > 1;
  if (d.type_a == MPC_BF16 || d.groups > 1 || taps == 1)
    return false;
  // On narrow maps oneDNN's blocked layouts (Convolution.cpp) are faster for the input gradient.
  return d.C >= 16 && d.O >= 16 && (d.op == MPC_CONV_WEIGHT_GRAD || d.in[d.spatial - 1] > 4);
}

/// Returns whether oneDNN computes a depthwise convolution as a grouped one, as it does the weight gradients of kernels
/// beyond 3x3. The names of its depthwise kernels contain "dw" (jit_dw, brdgmm_dw). bf16 5x5 with 1152 channels on 7x7
/// took 12 ms, and the generic kernels 0.6 (batch 8, two cores).
bool isComputedAsGrouped(const mpc_library_desc &d, const generic::Primitive &primitive) {
  return generic::isDepthwise(d) && std::string_view(primitive.implementation()).find("dw") == std::string_view::npos;
}

std::unique_ptr<generic::Primitive> make(const mpc_library_desc &desc, int threads) {
  if (winograd::computes(desc) && winograd::isFaster(desc, isBf16Fast()))
    if (auto tiled = winograd::makeWinograd(desc, threads))
      return tiled;
  const bool inBf16 = computesInBf16(desc);
  if (!inBf16)
    if (auto narrow = makeNarrowMatmul(desc, threads))
      return narrow;
  std::unique_ptr<generic::Primitive> primitive;
  if (!prefersGeneric(desc) && !isWrong(desc) && (desc.type_a == MPC_F32 || inBf16)) {
    ThreadScope scope(threads);
    primitive = desc.op == MPC_MATMUL ? makeMatmul(desc, threads) : makeConvolution(desc, threads);
    keepCodeInSmallPages();
    if (primitive && isComputedAsGrouped(desc, *primitive))
      primitive = nullptr;
  }
  return primitive ? std::move(primitive) : generic::makePrimitive(desc, threads);
}

mpc_library_primitive *create(const mpc_library_desc *desc, char *error, size_t errorBytes) {
  if (const char *message = generic::validate(*desc)) {
    std::snprintf(error, errorBytes, "%s", message);
    return nullptr;
  }
  try {
    return reinterpret_cast<mpc_library_primitive *>(make(*desc, threadCount).release());
  } catch (const std::exception &e) {
    std::snprintf(error, errorBytes, "%s", e.what());
    return nullptr;
  }
}

generic::Primitive *unwrap(const mpc_library_primitive *p) {
  return reinterpret_cast<generic::Primitive *>(const_cast<mpc_library_primitive *>(p));
}
size_t scratchBytes(const mpc_library_primitive *p) { return unwrap(p)->scratchBytes(); }
void execute(mpc_library_primitive *p, void *const *buffers, void *scratch) { unwrap(p)->execute(buffers, scratch); }
void destroy(mpc_library_primitive *p) { delete unwrap(p); }
const char *implementation(const mpc_library_primitive *p) { return unwrap(p)->implementation(); }

} // namespace
} // namespace mpc::onednn

extern "C" [[gnu::visibility("default")]] const mpc_library *mpc_library_entry(int threads) {
  using namespace mpc::onednn;
  static const std::string name = [] {
    const dnnl_version_t *v = dnnl_version();
    return "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
  }();
  static const mpc_library library = {MPC_LIBRARY_ABI, name.c_str(), create,        scratchBytes,
                                      execute,         destroy,      implementation};
  threadCount = threads > 0 ? threads : 1;
  mpc_generic_set_parallel_for(parallelFor, nullptr);
  return &library;
}
