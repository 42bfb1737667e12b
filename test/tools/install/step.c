/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Takes one step of the regressor on zeros, and prints its loss. */
#include "regressor.h"
#include <stdio.h>

int main(void) {
  static float x[REGRESSOR_BATCH * 8], target[REGRESSOR_BATCH];
  mpc_step_report report;
  mpc_session *s = mpc_open(NULL, NULL);
  if (!s || mpc_bind(s, "x", MPC_F32, x, REGRESSOR_BATCH * 8) != 0 ||
      mpc_bind(s, "target", MPC_F32, target, REGRESSOR_BATCH) != 0 || mpc_step(s, &report) != 0) {
    printf("%s\n", mpc_error());
    return 1;
  }
  printf("loss %g\n", report.loss);
  mpc_close(s);
  return 0;
}
