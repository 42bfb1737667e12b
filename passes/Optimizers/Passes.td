//===- Passes.td - updates as graph arithmetic ----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_OPTIMIZERS
#define MPC_PASSES_OPTIMIZERS
include "mlir/Pass/PassBase.td"

def OptimizersPass : Pass<"mpc-optimizers", "::mlir::ModuleOp"> {
  let summary = "expands train.update into the arithmetic of the step's optimizer";
  let description = [{
    With `optimizer = #train.optimizer<sgd, lr = 0.1, momentum = 0.9>`
    ```mlir
      train.update @w, %g unless %skip : tensor<4xf32>, tensor<i1>
    ```
    becomes
    ```mlir
      %lr = train.read @"main/lr" : tensor<f32>               // role hyper: the program sets it before every step
      %m0 = train.read @"w/momentum" : tensor<4xf32>          // role slot
      %w0 = train.read @w : tensor<4xf32>
      %m1 = graph.add(graph.mul %m0, 0.9), %g
      %w1 = graph.sub %w0, (graph.mul %m1, %lr)
      train.assign @"w/momentum", graph.select(%skip, %m0, %m1)
      train.assign @w, graph.select(%skip, %w0, %w1)
    ```
    All arithmetic is fp32; a low-precision parameter is widened, updated and rounded once. `@"<step>/step"` (i64) counts the
    updates that were not skipped. Hyperparameters other than the learning rate are constants. `groups` change the learning
    rate (by a factor) and the weight decay of the parameters that they match; the first group that matches applies.

    With `ema` = d, each parameter has a moving average, which moves as torch.optim.swa_utils' get_ema_multi_avg_fn moves it:
    ```mlir
      %e0 = train.read @"w/ema" : tensor<4xf32>               // role slot with train.average, at first a copy of @w
      %e1 = graph.add %e0, (graph.mul (graph.sub %w1, %e0), 1 - d)
      train.assign @"w/ema", graph.select(%skip, %e0, %e1)
    ```
    The entries that evaluate and predict then read the averages, cast to the parameters' types. Buffers, and parameters that no step trains, have no average.

    Each optimizer has a file of its own with its hyperparameters and slots; dialects/Train/Optimizers/Registry.cpp lists the optimizers.
  }];
  let options = [
    Option<"ema", "ema", "double", "0.0", "decay of a moving average of each parameter; 0: no averages">,
  ];
  let statistics = [
    Statistic<"numUpdates", "updates", "train.updates expanded">,
    Statistic<"slotBytes", "slot-bytes", "bytes of optimizer state">,
  ];
  let dependentDialects = ["::mpc::graph::GraphDialect", "::mpc::train::TrainDialect"];
}
#endif
