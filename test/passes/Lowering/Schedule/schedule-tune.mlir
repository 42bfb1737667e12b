// mpc-schedule takes measurements from a file of the module's architecture and from no other.
// RUN: echo '{"format": "mpc-tuning", "version": 1, "gpu": "a GPU", "arch": "sm_80", "problems": []}' > %t.json
// RUN: not mpc-opt %s --mpc-set-target=name=sm_90a --mpc-schedule=tune=%t.json 2>&1 | FileCheck %s --check-prefix=ARCH
// RUN: not mpc-opt %s --mpc-gpu="arch=sm_90a tune=%t.json" 2>&1 | FileCheck %s --check-prefix=ARCH
// ARCH: error:{{.*}}has schedules of sm_80, and this module is for sm_90a
// ARCH: hint: take a file that a tuner for sm_90a wrote
// RUN: not mpc-opt %s --mpc-set-target=name=sm_80 --mpc-schedule=tune=%t.none 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error:{{.*}}cannot read it
// RUN: not mpc-opt %s --mpc-set-target=name=sm_80 --mpc-schedule=tune=%s 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: error:{{.*}}parse error at line 1
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-schedule=tune=%t.json 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: warning:{{.*}}none of the measured problems is one of this program
// The host has no schedules, and takes no part in this.
// RUN: mpc-opt %s --mpc-set-target=name=host --mpc-schedule=tune=%t.json | FileCheck %s --check-prefix=HOST
// HOST: kernel.dispatch contraction "fc"{{.*}} :
//
// The fastest of the measured schedules wins, not the one of least expected time.
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-schedule | FileCheck %s --check-prefix=ESTIMATE
// ESTIMATE-NOT: mma 32x32x32
// RUN: echo '{"format": "mpc-tuning", "version": 1, "gpu": "a GPU", "arch": "sm_80", "problems": [{"problem": "matmul f16 nn m=1024 n=1024 k=1024 z=1 a=tiled b=tiled", "candidates": [{"schedule": "mma 128x128x32 stages=4", "us": 9}, {"schedule": "mma 32x32x32 stages=4", "us": 3}]}]}' > %t.fast.json
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-schedule=tune=%t.fast.json | FileCheck %s --check-prefix=MEASURED
// MEASURED: schedule = #kernel.contraction<mma 32x32x32 stages=4>
func.func @predict(%x: tensor<1024x1024xf16>, %w: tensor<1024x1024xf16>) -> tensor<1024x1024xf16> {
  %y = kernel.dispatch contraction "fc" (%x, %w) : (tensor<1024x1024xf16>, tensor<1024x1024xf16>) -> tensor<1024x1024xf16> {
  ^bb0(%0: tensor<1024x1024xf16>, %1: tensor<1024x1024xf16>):
    %h = graph.matmul %0, %1 : (tensor<1024x1024xf16>, tensor<1024x1024xf16>) -> tensor<1024x1024xf16>
    kernel.yield %h : tensor<1024x1024xf16>
  }
  return %y : tensor<1024x1024xf16>
}
