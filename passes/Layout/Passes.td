//===- Passes.td - layout passes ----------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LAYOUT_PASSES
#define MPC_LAYOUT_PASSES
include "mlir/Pass/PassBase.td"

def AssignOrdersPass : Pass<"mpc-assign-orders", "::mlir::ModuleOp"> {
  let summary = "Chooses an order of its dimensions for each value, so that few bytes are transposed";
  let description = [{
    Ops ask for orders of their values: a convolution or pooling reads and writes channels-last; arguments, variables and ops that name dimensions by their place have
    the program's order; all other ops can be computed in any order, and ask that their values be stored alike. Each demand weighs the bytes that a transpose moves where it is not
    granted. They are granted once, the heaviest first, unless they contradict what is granted already. Then each op is rewritten once, in program order, and a value is transposed
    once for each order that it is read in. So the pass ends on every program, in time n log n for n ops (passes/Layout/README.md).

    Matrix products read and write transposed matrices, and take rows in any order; reshapes and transposes of the program vanish where they can.

    ```mlir
    %y = graph.conv %x, %w {layout = channels_first, ...} : (tensor<8x3x32x32xf32>, ...) -> tensor<8x16x32x32xf32>
    %z = graph.relu %y : tensor<8x16x32x32xf32>
    // becomes
    %0 = graph.transpose %x {permutation = [0, 2, 3, 1]}
    %1 = graph.conv %0, %w {layout = channels_last, ...} : (tensor<8x32x32x3xf32>, ...) -> tensor<8x32x32x16xf32>
    %2 = graph.relu %1 : tensor<8x32x32x16xf32>
    %z = graph.transpose %2 {permutation = [0, 3, 1, 2]}
    ```
    Weights keep the ONNX order, which the host's library calls pack. For a GPU they become [O, kernel..., C/groups] too, also in memory: `train.permutation` on
    a variable and on everything that belongs to it (copies, optimizer slots) records how.
  }];
  let dependentDialects = ["::mpc::graph::GraphDialect", "::mpc::train::TrainDialect", "::mpc::kernel::KernelDialect"];
  let statistics = [Statistic<"numConverted", "ops-converted", "Ops rewritten to channels_last">,
                    Statistic<"numTransposes", "transposes-left", "Transposes that remain">];
}

def PadChannelsPass : Pass<"mpc-pad-channels", "::mlir::ModuleOp"> {
  let summary = "Pads the channels of pictures, for instance from three to four";
  let description = [{
    Tensor cores are fed with neighbours in memory, eight bytes and more at once; a 16-bit convolution of three channels would be read element by element. The
    pass adds channels of zeros to its input and weights, up to a multiple of 4, where that adds at most a third and the convolution is large; the additional
    channels of a weight gradient are dropped again. Where a pointwise op (a cast) computes the input, the zeros become part of that.

    ```mlir
    %y = graph.conv %x, %w {layout = channels_last, weight_channels_last, ...} : (tensor<8x224x224x3xf16>, tensor<64x7x7x3xf16>) -> ...
    // becomes
    %0 = graph.pad %x {high = [0, 0, 0, 1], ...} : tensor<8x224x224x4xf16>
    %1 = graph.pad %w {high = [0, 0, 0, 1], ...} : tensor<64x7x7x4xf16>
    %y = graph.conv %0, %1 {...}
    ```
    The pass handles channels-last convolutions of one group, for GPUs with tensor cores; elsewhere it does nothing.
  }];
  let dependentDialects = ["::mpc::graph::GraphDialect", "::mpc::kernel::KernelDialect"];
  let statistics = [Statistic<"numPadded", "convolutions-padded", "Convolutions whose channels were padded">];
}

def PadColumnsPass : Pass<"mpc-pad-columns", "::mlir::ModuleOp"> {
  let summary = "Pads the classes of a large vocabulary to a multiple of sixteen";
  let description = [{
    A GPU copies 16 bytes at once from rows that begin at multiples of 16 bytes. The logits of 50,257 classes have no such rows, and the two products of their gradient would read it element by element. The pass gives the weights of
    such a product rows of zeros, up to a multiple of 16, and computes what follows from the product with as many columns: elementwise arithmetic, and softmaxes and losses, which read -inf in them. Products of the cotangent
    read zeros there, and drop the rows of the weights' gradient that belong to them. Whatever else reads the values reads their own columns. A product is left alone where no other product reads its result or what follows from it.

    ```mlir
    %y = graph.matmul %x, %w {transpose_b} : (tensor<8192x768xbf16>, tensor<50257x768xbf16>) -> tensor<8192x50257xbf16>
    %dx = graph.matmul %dy, %w : (tensor<8192x50257xbf16>, tensor<50257x768xbf16>) -> tensor<8192x768xbf16>
    // becomes
    %0 = graph.pad %w {high = [15, 0], ...} : tensor<50272x768xbf16>
    %y = graph.matmul %x, %0 {transpose_b} : (tensor<8192x768xbf16>, tensor<50272x768xbf16>) -> tensor<8192x50272xbf16>
    %dx = graph.matmul %dy, %0 : (tensor<8192x50272xbf16>, tensor<50272x768xbf16>) -> tensor<8192x768xbf16>
    ```
    It handles products of f16 and bf16 with a matrix of weights, for GPUs with tensor cores; elsewhere it does nothing. A product is padded from `least-work` multiply-adds on, where its rows do not begin at multiples of 16 bytes without it.
  }];
  let options = [Option<"leastWork", "least-work", "int64_t", "1 << 30", "The multiply-adds from which on a product is padded">];
  let dependentDialects = ["::mpc::graph::GraphDialect", "::mpc::kernel::KernelDialect"];
  let statistics = [Statistic<"numPadded", "products-padded", "Products whose columns were padded">];
}

def TransposeInvariantsPass : Pass<"mpc-transpose-invariants", "::mlir::ModuleOp"> {
  let summary = "Transposes matrices of recurrent weights once, ahead of the scan that multiplies by them";
  let description = [{
    The backward pass of a recurrent network multiplies by the recurrent weights in each time step, and reads them as [k, n]. With some tens of rows, the library copies such a matrix into its own
    order for each product, which takes nearly half as long as the product itself. As [n, k], the oneDNN plugin reads it where it lies (`runtime/onednn/NarrowMatmul.cpp`), or copies it faster. So the pass transposes it
    once, ahead of the scan, for the forward pass, too, where that reads a matrix as [k, n]. The built-in library copies the matrix in both orders, and takes up to 13 % longer for [n, k].

    ```mlir
    %dh = graph.scan 64 reverse carry(%0 : tensor<32x512xf32>) with(%w : tensor<2048x512xf32>) over(%dy : tensor<64x32x2048xf32>) -> ... {
    ^bb0(%d: tensor<32x512xf32>, %wb: tensor<2048x512xf32>, %dyt: tensor<32x2048xf32>):
      %1 = graph.matmul %dyt, %wb : (tensor<32x2048xf32>, tensor<2048x512xf32>) -> tensor<32x512xf32>
    // becomes
    %t = graph.transpose %w {permutation = array<i64: 1, 0>} : (tensor<2048x512xf32>) -> tensor<512x2048xf32>
    %dh = graph.scan 64 reverse carry(%0 : tensor<32x512xf32>) with(%t : tensor<512x2048xf32>) over(%dy : tensor<64x32x2048xf32>) -> ... {
    ^bb0(%d: tensor<32x512xf32>, %wb: tensor<512x2048xf32>, %dyt: tensor<32x2048xf32>):
      %1 = graph.matmul %dyt, %wb {transpose_b} : (tensor<32x2048xf32>, tensor<512x2048xf32>) -> tensor<32x512xf32>
    ```
    It handles f32, f16 and bf16 on the host, products of 25 to 64 rows, and scans of at least 8 iterations, where all uses of the matrix in the body are such products; elsewhere it does nothing.
  }];
  let options = [Option<"leastElements", "least-elements", "int64_t", "1 << 18", "The elements from which on a matrix is transposed; a smaller one stays in the caches, and its copies cost little">];
  let dependentDialects = ["::mpc::graph::GraphDialect"];
  let statistics = [Statistic<"numTransposed", "invariants-transposed", "Matrices that were transposed ahead of a scan">];
}
#endif
