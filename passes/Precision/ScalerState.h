//===- ScalerState.h - the loss scale as a state machine on the device ------------===//
#ifndef MPC_PASSES_PRECISION_SCALERSTATE_H
#define MPC_PASSES_PRECISION_SCALERSTATE_H
#include "dialects/Train/IR/Train.h"
#include "mlir/IR/Builders.h"

namespace mpc::precision {

/// A step's `scaler` attribute, checked.
struct ScalerOptions {
  enum class Kind { None, Static, Dynamic, Calibrate };
  Kind kind = Kind::None;
  // Defaults of torch.amp.GradScaler; bounds are off.
  double initScale = 65536, growthFactor = 2, backoffFactor = 0.5;
  int64_t growthInterval = 2000, hysteresis = 1;
  std::optional<double> minScale, maxScale;
  // Calibration: updates that are watched, and how many times larger than in those gradients may become.
  int64_t steps = 100;
  double headroom = 4;

  bool scales() const { return kind != Kind::None; }
  /// Whether the scale is a variable.
  bool varies() const { return kind == Kind::Dynamic || kind == Kind::Calibrate; }
  bool calibrates() const { return kind == Kind::Calibrate; }
};

/// Reads the attribute; unknown or senseless entries are errors at the step.
mlir::FailureOr<ScalerOptions> parseScaler(train::StepOp step);

/// The current loss scale: a constant, or the state variable. tensor<f32>.
mlir::Value currentScale(mlir::OpBuilder &b, mlir::Location loc, train::StepOp step,
                         const ScalerOptions &options);

/// float(1 / (double(scale) * divisor)), as GradScaler inverts its scale. tensor<f32>.
mlir::Value inverseScale(mlir::OpBuilder &b, mlir::Location loc, mlir::Value scale,
                         const ScalerOptions &options, int64_t divisor);

/// What one call of a step found out.
struct ScalerSignals {
  mlir::Value overflow; ///< tensor<i1>: this update is skipped for a non-finite gradient
  mlir::Value due;      ///< tensor<i1> or null: this call updates at all (accumulation)
  mlir::Value largest;  ///< tensor<f32>, calibration only: the largest scaled magnitude of this call's cotangents
};
/// Assigns the state for the next step.
void advanceScaler(mlir::OpBuilder &b, mlir::Location loc, train::StepOp step, const ScalerOptions &options,
                   mlir::Value scale, const ScalerSignals &signals);

} // namespace mpc::precision
#endif
