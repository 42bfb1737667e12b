// RUN: mpc-opt %s --mpc-batch-dispatches | FileCheck %s
// RUN: mpc-opt %s --mpc-batch-dispatches --mpc-plan-loops | FileCheck %s --check-prefix=AGAIN

module attributes {kernel.target = #kernel.target<"sm_80">} {
  // Loops that were chosen for a launch of its own may have larger blocks than a batch. A member loses them, so that they
  // are chosen again.
  // CHECK-LABEL: func.func @loops
  // CHECK: kernel.dispatch batch "short and 1 more"
  // CHECK-NOT: loops =
  // CHECK: return
  // AGAIN: kernel.dispatch row "long"{{.*}}loops = #kernel.loops<rows 4x8192 {{.*}}threads = 1x256{{.*}}>
  func.func @loops(%x: tensor<4x8192xf32>, %y: tensor<8xf32>) -> (tensor<4x8192xf32>, tensor<8xf32>) {
    %x0 = kernel.dispatch row "long" (%x) {loops = #kernel.loops<rows 4x8192 order = [0, 1] parallel = 1 threads = 1x1024>} : (tensor<4x8192xf32>) -> tensor<4x8192xf32> {
    ^bb0(%a: tensor<4x8192xf32>):
      %0 = graph.reduce_sum %a {axes = array<i64: 1>, keepdims = true} : (tensor<4x8192xf32>) -> tensor<4x1xf32>
      %1 = graph.sub %a, %0 : (tensor<4x8192xf32>, tensor<4x1xf32>) -> tensor<4x8192xf32>
      kernel.yield %1 : tensor<4x8192xf32>
    }
    %y0 = kernel.dispatch pointwise "short" (%y) {loops = #kernel.loops<points 8 order = [0] parallel = 1 vector = 4 threads = 1x256>} : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%a: tensor<8xf32>):
      %0 = graph.relu %a : tensor<8xf32>
      kernel.yield %0 : tensor<8xf32>
    }
    return %x0, %y0 : tensor<4x8192xf32>, tensor<8xf32>
  }
}
