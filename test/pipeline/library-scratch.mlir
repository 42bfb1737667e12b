// RUN: mpc-opt %s --mpc-library-scratch | FileCheck %s --check-prefix=NOBODY
// RUN: mpc-opt %s --mpc-library-scratch=threads=3 | FileCheck %s --check-prefix=ASKED
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-library-scratch=threads=3 | FileCheck %s --check-prefix=GPU
// RUN: not mpc-opt %s --mpc-library-scratch=library=%t.so 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: not mpc-opt %s --mpc-library-scratch="threads=3 library=%s" 2>&1 | FileCheck %s --check-prefix=PLUGIN
// RUN: not mpc-opt %s --mpc-library-scratch=threads=1000000 2>&1 | FileCheck %s --check-prefix=MANY

// Without threads nobody is asked, so that the plan is the same everywhere; what an earlier run wrote does not stay. On a GPU mpc-schedule knows the scratch.
// NOBODY: kernel.dispatch contraction "fc"{{.*}} :
// ASKED: kernel.dispatch contraction "fc"{{.*}} {scratch_bytes = {{[0-9]+}} : i64} :
// ASKED-NOT: scratch_bytes = 7 :
// GPU: kernel.dispatch contraction "fc"{{.*}}scratch_bytes = 7 : i64
// THREADS: error:{{.*}}a library is asked what it needs with some number of threads, and there is none
// THREADS: hint: add threads=N
// PLUGIN: error:{{.*}}cannot be asked:
// PLUGIN: hint: name libmpc_onednn.so
// MANY: error:{{.*}}mpc-library-scratch: 1000000 are too many threads
// MANY: hint: write at most 65536
func.func @predict(%x: tensor<64x512xf32>, %w: tensor<512x256xf32>) -> tensor<64x256xf32> {
  %y = kernel.dispatch contraction "fc" (%x, %w) {scratch_bytes = 7 : i64} : (tensor<64x512xf32>, tensor<512x256xf32>) -> tensor<64x256xf32> {
  ^bb0(%0: tensor<64x512xf32>, %1: tensor<512x256xf32>):
    %h = graph.matmul %0, %1 : (tensor<64x512xf32>, tensor<512x256xf32>) -> tensor<64x256xf32>
    kernel.yield %h : tensor<64x256xf32>
  }
  return %y : tensor<64x256xf32>
}
