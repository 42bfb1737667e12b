//===- ProblemKey.h - what tells the problems of heroes apart, as text ---------------------------===//
//
// What --kernel-report prints and tuning files hold:
//
//   matmul bf16 nt m=8192 n=2304 k=768 z=1 a=tiled b=tiled
//   conv f16 nhwc,ohwi x=64x56x56x64 w=64x3x3x64 y=64x56x56x64 strides=1x1 dilations=1x1 pads=1x1 groups=1 a=im2col b=tiled
//
//===------------------------------------------------------------------------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_PROBLEMKEY_H
#define MPC_LOWERING_HEROTOGPU_PROBLEMKEY_H
#include "passes/Lowering/HeroToGpu/Problem.h"

namespace mpc::hero {

/// All of a problem that decides about its schedules; problems with equal keys have the same ones.
struct ProblemKey {
  std::string kind;    ///< matmul, conv, conv_input_grad, conv_weight_grad
  std::string element; ///< f16, bf16, f32, f64; of 8-bit floats A's, B's and C's: "f8E4M3FN,f8E5M2,bf16"
  /// matmul: n or t for A and B as they are stored, against [m, k] and [k, n]. Convolutions: nhwc or nchw for
  /// activations, ohwi or oihw for weights, whatever the number of spatial dimensions.
  std::string layout;
  /// In their order. matmul: m, n, k, z, each an extent or the digits that memory does not walk through in
  /// one stride, and the batches of A and B where one is broadcast in part. Convolutions: shapes of x, w, y
  /// as stored, strides, dilations, low pads, groups.
  llvm::SmallVector<std::pair<std::string, Digits>> extents;
  /// How a tile of 128 x 128 bytes comes into shared memory: "tiled", "im2col" (Box.h), or "gather8": by so many
  /// neighbours.
  std::string feedA, feedB;

  bool operator==(const ProblemKey &) const = default;
  std::string text() const;
  static std::optional<ProblemKey> parse(llvm::StringRef text);
};
ProblemKey keyOf(const Problem &problem);

} // namespace mpc::hero
#endif
