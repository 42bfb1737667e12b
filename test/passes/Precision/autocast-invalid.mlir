// RUN: not mpc-opt %s --mpc-autocast="type=fp8" 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not mpc-opt %s --mpc-autocast="opt-level=O7" 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: not mpc-opt %s --mpc-autocast="deny=(" 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not mpc-opt %s --mpc-autocast="opt-level=O1 master-weights=false" 2>&1 | FileCheck %s --check-prefix=MASTERS
// RUN: not mpc-opt %s --mpc-autocast="opt-level=O2 keep-batchnorm-fp32=maybe" 2>&1 | FileCheck %s --check-prefix=CHOICE

// TYPE: error: 'fp8' is no precision
// TYPE: note: hint: fp16, bf16 or fp32
// LEVEL: error: 'O7' is no opt level
// REGEX: error: '(' is not a regular expression
// MASTERS: error: O1 keeps parameters in fp32
// CHOICE: error: 'maybe' is no value of keep-batchnorm-fp32
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
