// RUN: not mpc-opt %s --mpc-autocast="type=fp8" 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not mpc-opt %s --mpc-autocast="opt-level=O7" 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: not mpc-opt %s --mpc-autocast="opt-level=2" 2>&1 | FileCheck %s --check-prefix=DIGIT
// RUN: not mpc-opt %s --mpc-autocast="deny=(" 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not mpc-opt %s --mpc-autocast="allow=[" 2>&1 | FileCheck %s --check-prefix=ALLOW
// RUN: not mpc-opt %s --mpc-autocast="infer=*" 2>&1 | FileCheck %s --check-prefix=INFER
// RUN: not mpc-opt %s --mpc-autocast="opt-level=O1 master-weights=false" 2>&1 | FileCheck %s --check-prefix=MASTERS
// RUN: not mpc-opt %s --mpc-autocast="opt-level=O2 keep-batchnorm-fp32=maybe" 2>&1 | FileCheck %s --check-prefix=CHOICE
// RUN: not mpc-opt %s --mpc-autocast="opt-level=O2 keep-batchnorm-fp32=1 master-weights=0" 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: mpc-opt %s --mpc-autocast="type=fp16" --verify-diagnostics -o /dev/null

// TYPE: error: 'fp8' is no precision
// TYPE: note: hint: fp16, bf16 or fp32
// LEVEL: error: 'O7' is no opt level
// LEVEL: note: hint: O0, O1, O2 or O3
// DIGIT: error: '2' is no opt level
// REGEX: error: '(' is not a regular expression
// REGEX: note: hint: write a POSIX extended regular expression, as in '^conv1\.'
// ALLOW: error: '[' is not a regular expression
// INFER: error: '*' is not a regular expression
// MASTERS: error: O1 keeps parameters in fp32
// MASTERS: note: hint: use O2 or O3 to round or store them in low precision
// CHOICE: error: 'maybe' is no value of keep-batchnorm-fp32
// CHOICE: note: hint: true, false or auto
// BOTH: error: '1' is no value of keep-batchnorm-fp32
// BOTH: error: '0' is no value of master-weights
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-warning@+1 {{'func.call' has no precision class: it computes in fp32}}
  %y = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
