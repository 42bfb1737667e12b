//===- Passes.td - layout passes ----------------------------------*- tablegen -*-===//
#ifndef MPC_LAYOUT_PASSES
#define MPC_LAYOUT_PASSES
include "mlir/Pass/PassBase.td"

def ChannelsLastPass : Pass<"mpc-channels-last", "::mlir::ModuleOp"> {
  let summary = "Activations become [N, spatial..., C], and the transposes go away";
  let description = [{
    One walk over each entry. Ops that know a layout (convolutions, pooling) become `channels_last`. An elementwise op, norm, reduction, softmax, concatenation,
    slice, pad or resize does where one of its activations was computed channels-last, or all lie channels-last behind a transpose of the network's own; every other op stays as it
    is. A value has up to two forms, the one it was computed in and its transpose, which is made when the first reader asks for it; transposes of
    transposes, of constants and of broadcasts are composed. So every op is looked at once, which takes time linear in their number and ends on every program: the ops that were not looked at yet
    become fewer with every step, and none is looked at again. What is left stands where a network really changes its view (a Flatten). An entry's argument that is only read
    transposed is stored transposed: the argument's type changes and `train.permutation` records how.

    ```mlir
    %y = graph.conv %x, %w {layout = channels_first, ...} : (tensor<8x3x32x32xf32>, ...) -> tensor<8x16x32x32xf32>
    %z = graph.relu %y : tensor<8x16x32x32xf32>
    // becomes
    %0 = graph.transpose %x {permutation = [0, 2, 3, 1]}
    %1 = graph.conv %0, %w {layout = channels_last, ...} : (tensor<8x32x32x3xf32>, ...) -> tensor<8x32x32x16xf32>
    %2 = graph.relu %1 : tensor<8x32x32x16xf32>
    %z = graph.transpose %2 {permutation = [0, 3, 1, 2]}
    ```
    Weights keep the ONNX order, which the host's library calls pack, or for a GPU become [O, kernel..., C/groups] too, in memory as well: `train.permutation` on
    a variable and all that belongs to it (copies, optimizer slots) records how.
  }];
  let dependentDialects = ["::mpc::graph::GraphDialect", "::mpc::train::TrainDialect", "::mpc::kernel::KernelDialect"];
  let statistics = [Statistic<"numConverted", "ops-converted", "Ops rewritten to channels_last">,
                    Statistic<"numTransposes", "transposes-left", "Transposes that remain">];
}

def PadChannelsPass : Pass<"mpc-pad-channels", "::mlir::ModuleOp"> {
  let summary = "Three channels of a picture become four";
  let description = [{
    Tensor cores are fed with neighbours in memory, eight bytes and more at once; a 16-bit convolution of three channels would be read element by element. Its input
    and weights get further channels of zeros, up to a multiple of 4, where that adds at most a third and the convolution is large; of a weight gradient the further channels are dropped. Where something
    pointwise computes the input (a cast) the zeros are part of it.

    ```mlir
    %y = graph.conv %x, %w {layout = channels_last, weight_channels_last, ...} : (tensor<8x224x224x3xf16>, tensor<64x7x7x3xf16>) -> ...
    // becomes
    %0 = graph.pad %x {high = [0, 0, 0, 1], ...} : tensor<8x224x224x4xf16>
    %1 = graph.pad %w {high = [0, 0, 0, 1], ...} : tensor<64x7x7x4xf16>
    %y = graph.conv %0, %1 {...}
    ```
    For channels-last convolutions of one group, and GPUs with tensor cores; elsewhere the pass does nothing.
  }];
  let dependentDialects = ["::mpc::graph::GraphDialect", "::mpc::kernel::KernelDialect"];
  let statistics = [Statistic<"numPadded", "convolutions-padded", "Convolutions whose channels were padded">];
}
#endif
