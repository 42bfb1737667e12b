//===- Scaler.h - the kinds of loss scalers and their options ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TRAIN_IR_SCALER_H
#define MPC_TRAIN_IR_SCALER_H
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace mpc::train {

enum class ScalerKind {
  None,      ///< the loss is not scaled
  Static,    ///< the scale is a constant; overflows are skipped
  Dynamic,   ///< the scale grows and shrinks as that of torch.amp.GradScaler
  Calibrate, ///< the scale is picked once, from the gradients of the first updates
};
inline constexpr ScalerKind allScalerKinds[] = {ScalerKind::None, ScalerKind::Static, ScalerKind::Dynamic,
                                                ScalerKind::Calibrate};
llvm::StringRef nameOf(ScalerKind kind);

/// These options of a loss scaler are what `#train.scaler` holds, which verifies them. Those that the kind does not
/// have keep their defaults.
struct Scaler {
  /// Makes a scaler with the defaults of its kind.
  explicit Scaler(ScalerKind kind);

  ScalerKind kind;
  // These are the defaults of torch.amp.GradScaler; the bounds are off.
  double initScale = 65536, growthFactor = 2, backoffFactor = 0.5;
  int64_t growthInterval = 2000, hysteresis = 1;
  std::optional<double> minScale, maxScale;
  // Calibration watches `steps` updates; gradients may become `headroom` times larger than in those.
  int64_t steps = 100;
  double headroom = 4;

  bool scales() const { return kind != ScalerKind::None; }
  /// Returns whether the scale is a variable.
  bool varies() const { return kind == ScalerKind::Dynamic || calibrates(); }
  bool calibrates() const { return kind == ScalerKind::Calibrate; }
  bool operator==(const Scaler &) const = default;
};
llvm::hash_code hash_value(const Scaler &scaler);

} // namespace mpc::train
#endif
