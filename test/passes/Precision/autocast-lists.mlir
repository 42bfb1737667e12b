// RUN: mpc-opt %s --mpc-autocast="deny=fc1 allow=relu infer=exp" | FileCheck %s
// RUN: mpc-opt %s --mpc-autocast="deny=matmul,relu" | FileCheck %s --check-prefix=DENY
// Patterns keep their own groups, so \\1 is the m. An alternative that matches only a part of the mnemonic does not count.
// RUN: mpc-opt %s --mpc-autocast="deny=(m)at\\1ul,re|relu" | FileCheck %s --check-prefix=DENY
// RUN: mpc-opt %s --mpc-autocast="deny=mat|mul,rel" | FileCheck %s --check-prefix=PART
// RUN: mpc-opt %s --mpc-autocast="cast-cache=false" | grep -c graph.cast | FileCheck %s --check-prefix=NOCACHE
// RUN: mpc-opt %s --mpc-autocast | grep -c graph.cast | FileCheck %s --check-prefix=CACHE

// A warning names a pattern that matches nothing, in fp32 too, but not a pattern that another list overrides.
// RUN: mpc-opt %s --mpc-autocast="deny=matmul allow=fc1,fooo infer=fc3" 2>&1 >/dev/null | FileCheck %s --check-prefix=UNMATCHED
// RUN: mpc-opt %s --mpc-autocast="type=fp32 deny=matmul allow=fc1,fooo infer=fc3" 2>&1 >/dev/null | FileCheck %s --check-prefix=UNMATCHED

// UNMATCHED-NOT: warning
// UNMATCHED: warning: --allow: 'fooo' matches no op and no node of the network
// UNMATCHED: note: hint: give a whole op name or a part of a node's name
// UNMATCHED-NOT: warning
// UNMATCHED: warning: --infer: 'fc3' matches no op
// UNMATCHED-NOT: warning
// DENY-NOT: f16
// PART: graph.matmul {{.*}} -> tensor<4x4xf16>
// Without the cache the third use of %x has a cast of its own.
// NOCACHE: {{^}}4{{$}}
// CACHE: {{^}}2{{$}}
func.func @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK: graph.matmul {{.*}} -> tensor<4x4xf32>
  %a = graph.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("fc1")
  // CHECK: graph.cast {{.*}} {mpc.reason = "matmul computes in f16"}
  // CHECK: graph.matmul {{.*}} -> tensor<4x4xf16>
  %b = graph.matmul %a, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("fc2")
  // CHECK: graph.relu {{.*}} : tensor<4x4xf16>
  %c = graph.relu %b : tensor<4x4xf32>
  // CHECK: graph.exp {{.*}} : tensor<4x4xf16>
  %d = graph.exp %c : tensor<4x4xf32>
  return %d : tensor<4x4xf32>
}
