//===- ProblemKey.h - what tells the problems of heroes apart, as text ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --kernel-report prints problems in this form, which tuning files hold, too:
//
//   matmul bf16 nt m=8192 n=2304 k=768 z=1 a=tiled b=tiled
//   conv f16 nhwc,ohwi x=64x56x56x64 w=64x3x3x64 y=64x56x56x64 strides=1x1 dilations=1x1 pads=1x1 groups=1 a=im2col
//   b=tiled
//
//===------------------------------------------------------------------------------------------===//
#ifndef MPC_LOWERING_SCHEDULE_PROBLEMKEY_H
#define MPC_LOWERING_SCHEDULE_PROBLEMKEY_H
#include "passes/Lowering/Schedule/Problem.h"

namespace mpc::hero {

/// Everything in a problem that decides which schedules it has; problems with equal keys have the same schedules.
struct ProblemKey {
  std::string kind;    ///< the name of a contraction of the graph dialect: matmul, conv, conv_input_grad, ...
  std::string element; ///< f16, bf16, f32 or f64; for 8-bit floats the types of A, B and C: "f8E4M3FN,f8E5M2,bf16"
  /// matmul: n or t for A and for B, as they are stored, compared with [m, k] and [k, n]. Convolutions: nhwc
  /// or nchw for activations and ohwi or oihw for weights, whatever the number of spatial dimensions.
  std::string layout;
  /// The named numbers, in the order of the text. matmul: m, n, k and z; an axis that memory does not walk
  /// through in one stride is written as its digits; then the batch dimensions of A and B where one of them
  /// is broadcast in part. Convolutions: the shapes of x, w and y as they are stored, strides, dilations, low
  /// pads, groups. Either: the number of column sums where there are some, since k is not split then.
  llvm::SmallVector<std::pair<std::string, Digits>> extents;
  std::string feedA, feedB; ///< feedOf (Feed.h)

  bool operator==(const ProblemKey &) const = default;
  std::string text() const;
  /// Nullopt where the text is no key. The graph dialect must be loaded, for it knows the contractions.
  static std::optional<ProblemKey> parse(llvm::StringRef text, mlir::MLIRContext *context);
};
ProblemKey keyOf(const Problem &problem);

} // namespace mpc::hero
#endif
