//===- Passes.td - autocast, loss scaling, master weights ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_PRECISION
#define MPC_PASSES_PRECISION
include "mlir/Pass/PassBase.td"

def AutocastPass : Pass<"mpc-autocast", "::mlir::ModuleOp"> {
  let summary = "chooses each op's precision and inserts the fewest casts";
  let description = [{
    The pass runs on all entries before differentiation, so that activations are saved in low
    precision. The VJP of a cast is a cast, which brings weight gradients to the fp32 masters.

    ```mlir
      %w = train.read @w : tensor<4x3xf32>
      %y = graph.matmul %x, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
      %p = graph.softmax %y {axis = 1 : i64} : tensor<2x3xf32>
    ```
    becomes with `type=fp16 opt-level=O1`
    ```mlir
      %x16 = graph.cast %x {mpc.reason = "matmul computes in f16"} : tensor<2x4xf32> to tensor<2x4xf16>
      %w = train.read @w : tensor<4x3xf32>
      %w16 = graph.cast %w {mpc.reason = "matmul computes in f16"} : tensor<4x3xf32> to tensor<4x3xf16>
      %y = graph.matmul %x16, %w16 : (tensor<2x4xf16>, tensor<4x3xf16>) -> tensor<2x3xf16>
      %y32 = graph.cast %y {mpc.reason = "softmax needs f32"} : tensor<2x3xf16> to tensor<2x3xf32>
      %p = graph.softmax %y32 {axis = 1 : i64} : tensor<2x3xf32>
    ```
    **O1** applies the classes of torch.amp, which ops state themselves (PrecisionOpInterface): *low* ops compute in the low type, *fp32*
    ops compute in fp32, *promote* ops compute in the widest of their operands' types, and *follow* ops compute in the type they are given.
    Constants do not widen (unless the low type cannot hold them), and a parameter that is added to a low op's result is that op's bias.

    **O2** casts the model: parameters (not those of batch normalisation) and float inputs become low, and the other ops follow; softmax and
    similar ops keep low storage, because their arithmetic is fp32 anyway. The ops behind the last low op, the loss in particular, follow O1's
    rules, and their targets stay fp32. **O3** is O2 with the parameters themselves stored low: there are no masters. **O0** does nothing.

    The results of an entry, and the values that it assigns, keep their types. f64 is never cast. Each value has one cast per
    type, right where the value is defined; casts of parameters move through reshapes to the read, where mpc-master-weights
    finds them. `mpc.reason` says why a cast is there. An op without a class causes a warning and computes in fp32.

    The body of a graph.scan is cast as an entry is. What it carries keeps its type, so that it is not rounded in each iteration; invariants and slices have the types in which they were computed.

    `allow`, `deny` and `infer` make ops low, fp32 or follow at every level. They are regular expressions
    for an op's whole mnemonic ("softmax") or for any part of its location, which is the ONNX node's name.
  }];
  let options = [
    Option<"type", "type", "std::string", "\"fp16\"", "low precision: fp16, bf16, or fp32 for none">,
    Option<"optLevel", "opt-level", "std::string", "\"O1\"", "O0, O1, O2 or O3">,
    Option<"keepBatchnormFp32", "keep-batchnorm-fp32", "std::string", "\"auto\"",
           "parameters of batch_norm are not rounded: true, false, or auto (all levels but O3)">,
    Option<"masterWeights", "master-weights", "std::string", "\"auto\"",
           "parameters stay fp32: true, false (O2 and O3 only), or auto (all levels but O3)">,
    ListOption<"allow", "allow", "std::string", "ops that compute in the low type">,
    ListOption<"deny", "deny", "std::string", "ops that compute in fp32">,
    ListOption<"infer", "infer", "std::string", "ops that compute in the type they are given">,
    Option<"castCache", "cast-cache", "bool", "true", "one cast per value and type; otherwise one for each use">,
  ];
  let statistics = [
    Statistic<"numCasts", "casts", "casts inserted">,
    Statistic<"numLow", "low-ops", "ops with a low-precision result">,
    Statistic<"numUnknown", "unknown-ops", "ops without a precision class">,
  ];
  let dependentDialects = ["::mpc::graph::GraphDialect", "::mpc::train::TrainDialect"];
}

def MasterWeightsPass : Pass<"mpc-master-weights", "::mlir::ModuleOp"> {
  let summary = "keeps low-precision copies of parameters as variables";
  let description = [{
    A parameter is cast where it is used; this pass casts it where it is updated instead, once per step, in the kernel that writes it anyway.

    ```mlir
    train.variable @w parameter : tensor<4xf32> = ...
      %w = train.read @w : tensor<4xf32>
      %w16 = graph.cast %w : tensor<4xf32> to tensor<4xf16>
      train.assign @w, %new : tensor<4xf32>
    ```
    becomes
    ```mlir
    train.variable @w parameter : tensor<4xf32> = ...
    train.variable @"w/f16" copy : tensor<4xf16> = #train.copy_of<@w> {of = @w}
      %w16 = train.read @"w/f16" : tensor<4xf16>
      train.assign @w, %new : tensor<4xf32>
      %new16 = graph.cast %new : tensor<4xf32> to tensor<4xf16>
      train.assign @"w/f16", %new16 : tensor<4xf16>
    ```
    The pass does this in every entry; an entry that assigns the parameter assigns its copies, whether it reads them or not.
    Run it after mpc-optimizers. Variables that are not parameters, and casts to types other than f16 and bf16, are left alone.
  }];
  let statistics = [
    Statistic<"numCopies", "copies", "low-precision copies made">,
    Statistic<"copyBytes", "copy-bytes", "bytes of the copies">,
    Statistic<"numReplaced", "replaced-casts", "casts replaced by reads">,
  ];
  let dependentDialects = ["::mpc::graph::GraphDialect", "::mpc::train::TrainDialect"];
}

def LossScalingPass : Pass<"mpc-loss-scaling", "::mlir::ModuleOp"> {
  let summary = "scales the loss, unscales and checks the gradients, keeps the scaler's state";
  let description = [{
    The pass builds what `scaler`, `clip_value`, `clip_norm` and `accumulate` of a differentiated `train.step` ask for,
    between its backward pass and its `train.update`s, on scalar variables of the step. With `scaler = #train.scaler<dynamic>`
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
    The rules are those of torch's GradScaler, with `>=` at the growth interval. The options `min_scale`, `max_scale` and `hysteresis` are additions: with
    hysteresis an overflow spends a unit, the scale shrinks when the last unit is spent, and growth refills the units. A static scale checks and skips too.

    `scaler = #train.scaler<calibrate, steps = 100, headroom = 4>` watches the first `steps` updates and then stays with the scale that suits
    them. While it watches, the scale is `init_scale` (1024), times `backoff_factor` after each overflow; an update that overflows is
    skipped and does not count. M is the largest unscaled magnitude of all 16-bit values of the backward pass (also inside scans) and of the fp32 gradients. At
    the end the scale becomes the largest power of two S with M * headroom * S < 65504 (the largest f16 number; Micikevicius et al. 2018,
    section 3.2), between `min_scale` and `max_scale`: gradients may become `headroom` times larger before a step overflows and is skipped.
    | variable | type | meaning |
    |---|---|---|
    | `@"<step>/scale"` | f32 | the loss scale (dynamic, calibrate) |
    | `@"<step>/calibrated"` | i32 | updates watched so far (calibrate) |
    | `@"<step>/gradient_max"` | f64 | M so far (calibrate) |
    | `@"<step>/growth_tracker"` | i32 | updates without overflow since the scale last changed (dynamic) |
    | `@"<step>/hysteresis"` | i32 | overflows until the scale shrinks (dynamic, hysteresis > 1) |
    | `@"<step>/skipped"` | i64 | updates skipped so far (all kinds but none) |
    | `@"<step>/nan_guard"` | f32 | 1 at first; with 0 a step whose loss is not finite updates all the same (guard-loss) |
    | `@"<step>/micro_step"` | i64 | position in the accumulation window (accumulate > 1) |
    | `@"<step>/bad_losses"` | i64 | batches of the window so far whose loss was not finite (guard-loss, accumulate > 1) |
    | `@"<parameter>/accumulator"` | f32 | sum of scaled gradients (accumulate > 1) |

    On overflow, buffers (running statistics) keep their values and RNG counters advance. With `accumulate = N`
    the gradients of N calls are summed, still scaled, in fp32; the N-th call checks the sum, divides it by N
    and updates, and only then may the scale change. Buffers are updated by every call until the sum overflows.

    `keep-gradients` adds `train.step @"<step>.trace" attributes {trace}`, the same step on the same state, whose results also hold the unscaled,
    unclipped fp32 gradient of each parameter (role "grad", `train.of` names the parameter).

    With `guard-loss`, a step whose loss is not finite updates nothing, with or without a scale, while the variable `@"<step>/nan_guard"`,
    which is 1 at first, is not 0. When the gradients of several batches are summed, one batch without a finite loss costs the whole sum.

    `return-norm` adds the global norm of the unscaled, unclipped gradients to the results of each step and its trace form (role "grad_norm"): the
    square root of the sum of the gradients' squares, in fp32. With `accumulate = N` it is that of the window's sum so far, divided by N. It is not finite where
    a gradient is not.

    A step without `train.seed` is left alone.
  }];
  let options = [
    Option<"guardLoss", "guard-loss", "bool", "false", "a step whose loss is not finite updates nothing">,
    Option<"keepGradients", "keep-gradients", "bool", "false", "add a trace form of each step, which returns its gradients">,
    Option<"returnNorm", "return-norm", "bool", "false", "return the global norm of the gradients before clipping">,
  ];
  let statistics = [
    Statistic<"numScaled", "scaled-steps", "steps with a loss scale">,
    Statistic<"numChecked", "checked-gradients", "gradients tested for overflow">,
    Statistic<"numGuarded", "guarded-buffers", "buffer assignments that a skip undoes">,
  ];
  let dependentDialects = ["::mpc::graph::GraphDialect", "::mpc::train::TrainDialect"];
}
#endif
