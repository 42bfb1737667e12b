//===- ScalerState.h - the loss scale as a state machine on the device ------------===//
#ifndef MPC_PASSES_PRECISION_SCALERSTATE_H
#define MPC_PASSES_PRECISION_SCALERSTATE_H
#include "dialects/Train/IR/Train.h"
#include "mlir/IR/Builders.h"

namespace mpc::precision {

/// A step's `scaler` attribute, checked.
struct ScalerOptions {
  enum class Kind { None, Static, Dynamic };
  Kind kind = Kind::None;
  // Defaults of torch.amp.GradScaler; bounds are off.
  double initScale = 65536, growthFactor = 2, backoffFactor = 0.5;
  int64_t growthInterval = 2000, hysteresis = 1;
  std::optional<double> minScale, maxScale;

  bool scales() const { return kind != Kind::None; }
};

/// Reads the attribute; unknown or senseless entries are errors at the step.
mlir::FailureOr<ScalerOptions> parseScaler(train::StepOp step);

/// The current loss scale: a constant, or the state variable. tensor<f32>.
mlir::Value currentScale(mlir::OpBuilder &b, mlir::Location loc, train::StepOp step,
                         const ScalerOptions &options);

/// float(1 / (double(scale) * divisor)), as GradScaler inverts its scale. tensor<f32>.
mlir::Value inverseScale(mlir::OpBuilder &b, mlir::Location loc, mlir::Value scale,
                         const ScalerOptions &options, int64_t divisor);

/// Assigns the state for the next step. `overflow`: tensor<i1>, whether this update is skipped for a
/// non-finite gradient; `due`: tensor<i1> or null, whether this call updates at all (accumulation).
void advanceScaler(mlir::OpBuilder &b, mlir::Location loc, train::StepOp step, const ScalerOptions &options,
                   mlir::Value scale, mlir::Value overflow, mlir::Value due);

} // namespace mpc::precision
#endif
