//===- Passes.td - autocast, loss scaling, master weights ----------*- tablegen -*-===//
#ifndef MPC_PASSES_PRECISION
#define MPC_PASSES_PRECISION
include "mlir/Pass/PassBase.td"

def LossScalingPass : Pass<"mpc-loss-scaling", "::mlir::ModuleOp"> {
  let summary = "scales the loss, unscales and checks the gradients, keeps the scaler's state";
  let description = [{
    Builds what `scaler`, `clip_value`, `clip_norm` and `accumulate` of a differentiated `train.step` ask for, between its backward pass and its
    `train.update`s, on scalar variables of the step. With `scaler = {kind = "dynamic"}`
    ```mlir
      %seed = train.seed : tensor<f32>
      ...
      train.update @w, %dw : tensor<4xf32>
    ```
    becomes
    ```mlir
      %scale = train.read @"main/scale" : tensor<f32>          // the seed
      ...
      %bad = graph.reduce_any(graph.is_nonfinite(%dw))         // or over all gradients, still scaled
      %inv = float(1 / double(%scale))
      %g = graph.mul %dw, %inv                                 // then clip_value, then clip_norm
      train.update @w, %g unless %bad : tensor<4xf32>, tensor<i1>
      train.assign @"main/scale", ...
    ```
    The rules are those of torch's GradScaler, with `>=` at the growth interval; on top, optionally: `min_scale`, `max_scale`, `hysteresis` (an
    overflow spends a unit, the scale shrinks at the last, growth refills). A static scale checks and skips too.
    | variable | type | meaning |
    |---|---|---|
    | `@"<step>/scale"` | f32 | the loss scale (dynamic) |
    | `@"<step>/growth_tracker"` | i32 | updates without overflow since the scale last changed (dynamic) |
    | `@"<step>/hysteresis"` | i32 | overflows until the scale shrinks (dynamic, hysteresis > 1) |
    | `@"<step>/skipped"` | i64 | updates skipped so far (static, dynamic) |
    | `@"<step>/micro_step"` | i64 | position in the accumulation window (accumulate > 1) |
    | `@"<parameter>/accumulator"` | f32 | sum of scaled gradients (accumulate > 1) |

    On overflow buffers (running statistics) keep their values; RNG counters advance. With `accumulate = N` the gradients of N calls are summed,
    still scaled, in fp32; the N-th call checks the sum, divides it by N and updates, and only then the scale may change. Buffers are updated by
    every call until the sum overflows.

    `keep-gradients` adds `train.step @"<step>.trace" attributes {trace}`, the same step on the same state, whose results also hold the unscaled,
    unclipped fp32 gradient of each parameter (role "grad", `train.of` names the parameter).

    A step without `train.seed` is left alone.
  }];
  let options = [
    Option<"keepGradients", "keep-gradients", "bool", "false", "add a trace form of each step, which returns its gradients">,
  ];
  let statistics = [
    Statistic<"numScaled", "scaled-steps", "steps with a loss scale">,
    Statistic<"numChecked", "checked-gradients", "gradients tested for overflow">,
    Statistic<"numGuarded", "guarded-buffers", "buffer assignments that a skip undoes">,
  ];
  let dependentDialects = ["::mpc::graph::GraphDialect", "::mpc::train::TrainDialect"];
}
#endif
