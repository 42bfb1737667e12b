//===- ScalerState.h - the loss scale as a state machine on the device ------------===//
#ifndef MPC_PASSES_PRECISION_SCALERSTATE_H
#define MPC_PASSES_PRECISION_SCALERSTATE_H
#include "dialects/Train/IR/Train.h"
#include "mlir/IR/Builders.h"

namespace mpc::precision {

/// These are the options of a step's `scaler` attribute, which parseScaler has checked.
struct ScalerOptions {
  enum class Kind { None, Static, Dynamic, Calibrate };
  Kind kind = Kind::None;
  // These are the defaults of torch.amp.GradScaler; the bounds are off.
  double initScale = 65536, growthFactor = 2, backoffFactor = 0.5;
  int64_t growthInterval = 2000, hysteresis = 1;
  std::optional<double> minScale, maxScale;
  // Calibration watches `steps` updates; gradients may become `headroom` times larger than in those.
  int64_t steps = 100;
  double headroom = 4;

  bool scales() const { return kind != Kind::None; }
  /// Returns whether the scale is a variable.
  bool varies() const { return kind == Kind::Dynamic || kind == Kind::Calibrate; }
  bool calibrates() const { return kind == Kind::Calibrate; }
};

/// Reads the attribute; unknown or senseless entries are errors at the step.
mlir::FailureOr<ScalerOptions> parseScaler(train::StepOp step);

/// Returns the current loss scale, a tensor<f32>: it is a constant, or the value of the state variable.
mlir::Value currentScale(mlir::OpBuilder &b, mlir::Location loc, train::StepOp step,
                         const ScalerOptions &options);

/// Returns float(1 / (double(scale) * divisor)), a tensor<f32>; GradScaler inverts its scale in the same way.
mlir::Value inverseScale(mlir::OpBuilder &b, mlir::Location loc, mlir::Value scale,
                         const ScalerOptions &options, int64_t divisor);

/// These signals are what one call of a step found out.
struct ScalerSignals {
  mlir::Value overflow; ///< tensor<i1>: this update is skipped for a non-finite gradient
  mlir::Value due;      ///< tensor<i1>: this call updates, because it ends an accumulation window; null without accumulation
  mlir::Value largest;  ///< tensor<f32>, calibration only: the largest scaled magnitude of this call's cotangents
};
/// Assigns the scaler's state for the next step.
void advanceScaler(mlir::OpBuilder &b, mlir::Location loc, train::StepOp step, const ScalerOptions &options,
                   mlir::Value scale, const ScalerSignals &signals);

} // namespace mpc::precision
#endif
