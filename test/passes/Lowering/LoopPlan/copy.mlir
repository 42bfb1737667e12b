// RUN: mpc-opt %s --mpc-host | FileCheck %s
// RUN: mpc-opt %s --mpc-gpu=arch=sm_80 | FileCheck %s

// The copies that memory planning makes have loops too: the pipelines decide them behind it.
// CHECK: kernel.dispatch {{.*}}launches = [{{.*}}loops = #kernel.loops<points 8
func.func @same(%x: tensor<8xf32>) -> tensor<8xf32> attributes {train.kind = "predict"} {
  return %x : tensor<8xf32>
}
