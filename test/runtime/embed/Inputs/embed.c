/* Trains the regressor through the C interface of a library and checks what the interface promises. It is built as C,
 * with the header that mpc wrote and nothing else of mpc. usage: embed FOLDER [--expect=onednn] */
#include "regressor.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = REGRESSOR_BATCH, FEATURES = 8 };

static int failures = 0;
#define CHECK(condition)                                                                                               \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      printf("line %d: not true: %s (last error: %s)\n", __LINE__, #condition, mpc_error());                           \
      ++failures;                                                                                                      \
    }                                                                                                                  \
  } while (0)

static float x[BATCH * FEATURES], target[BATCH];

/* Sets target = sum of x / 2 - x0 * x1, where x are numbers of a linear congruential generator. */
static void fill(unsigned seed) {
  for (int i = 0; i < BATCH; ++i) {
    float sum = 0;
    for (int f = 0; f < FEATURES; ++f) {
      seed = seed * 1664525u + 1013904223u;
      x[i * FEATURES + f] = (float)(seed >> 8) / (1 << 24) * 2 - 1;
      sum += x[i * FEATURES + f] / 2;
    }
    target[i] = sum - x[i * FEATURES] * x[i * FEATURES + 1];
  }
}

static void countNote(void *context, const char *text) {
  (void)text;
  ++*(int *)context;
}

int main(int argc, char **argv) {
  char path[4096];
  int notes = 0;
  if (argc < 2)
    return 2;
  snprintf(path, sizeof path, "%s/embedded.safetensors", argv[1]);
  CHECK(mpc_abi_version() == MPC_PROGRAM_ABI);

  mpc_open_options options;
  memset(&options, 0, sizeof options);
  options.threads = 2;
  options.note = countNote;
  options.note_context = &notes;
  mpc_session *s = mpc_open(NULL, &options);
  CHECK(s != NULL);
  if (!s)
    return 1;
  CHECK(strstr(mpc_info(s), "\"regressor\"") != NULL);
  /* The oneDNN plugin is beside the library (--bundle), or in the installation that made it; otherwise one note says
   * so. */
  CHECK(argc > 2 ? notes == 0 : notes <= 1);

  /* The session lists what the library has. */
  mpc_tensor t;
  CHECK(mpc_input(s, MPC_TRAIN, 0, &t) == 0 && strcmp(t.name, "x") == 0 && t.rank == 2 && t.shape[0] == BATCH &&
        t.shape[1] == FEATURES && t.dtype == MPC_F32 && t.elements == BATCH * FEATURES);
  CHECK(mpc_input(s, MPC_TRAIN, 1, &t) == 0 && strcmp(t.name, "target") == 0);
  CHECK(mpc_input(s, MPC_TRAIN, 2, &t) == -1);
  CHECK(mpc_output(s, MPC_PREDICT, 0, &t) == 0 && strcmp(t.name, "y") == 0 && strcmp(t.role, "output") == 0);
  size_t parameters = 0;
  for (size_t i = 0; mpc_variable(s, i, &t) == 0; ++i)
    parameters += strcmp(t.role, "parameter") == 0;
  CHECK(parameters == 6);
  CHECK(mpc_optimizer_count(s) == 1);

  /* Mistakes give messages. */
  CHECK(mpc_step(s, NULL) == -1 && strstr(mpc_error(), "not bound"));
  CHECK(mpc_bind(s, "nonsense", MPC_F32, x, 1) == -1 && strstr(mpc_error(), "no such input"));
  CHECK(mpc_bind(s, "x", MPC_F32, x, 3) == -1 && strstr(mpc_error(), "not 3"));
  CHECK(mpc_set_hyper(s, "nonsense", 1) == -1 && strstr(mpc_error(), "no such hyperparameter"));
  CHECK(mpc_open("/nonexistent", NULL) == NULL && strstr(mpc_error(), "cannot open"));
  CHECK(mpc_load(s, "/nonexistent") == -1);
  CHECK(mpc_iteration(s) == 0);

  /* Training lowers the loss. */
  CHECK(mpc_bind(s, "x", MPC_F32, x, BATCH * FEATURES) == 0);
  CHECK(mpc_bind(s, "target", MPC_F32, target, BATCH) == 0);
  CHECK(mpc_set_hyper(s, "lr", 0.05) == 0);
  mpc_step_report report;
  double first = 0, last = 0;
  for (int step = 0; step < 300; ++step) {
    fill(17 + step);
    CHECK(mpc_step(s, &report) == 0);
    CHECK(report.lr == 0.05 && report.scale >= 1);
    if (step < 10)
      first += report.loss / 10;
    if (step >= 290)
      last += report.loss / 10;
  }
  printf("loss %.4f -> %.4f\n", first, last);
  CHECK(isfinite(last) && last < 0.25 * first);
  CHECK(mpc_iteration(s) == 300);

  /* A checkpoint carries all state over: two continuations agree bit for bit. */
  float weight[FEATURES * 64], again[FEATURES * 64];
  CHECK(mpc_save(s, path) == 0);
  for (int round = 0; round < 2; ++round) {
    if (round == 1)
      CHECK(mpc_load(s, path) == 0 && mpc_iteration(s) == 300);
    for (int step = 0; step < 5; ++step) {
      fill(1000 + step);
      CHECK(mpc_step(s, NULL) == 0);
    }
    CHECK(mpc_get_variable(s, "fc1.weight", MPC_F32, round ? again : weight, FEATURES * 64) == 0);
  }
  CHECK(memcmp(weight, again, sizeof weight) == 0);

  /* Prediction and evaluation use the trained variables, and also variables that were set. */
  float y[BATCH], losses[BATCH];
  CHECK(mpc_run(s, MPC_PREDICT) == 0 && mpc_get_output(s, "y", MPC_F32, y, BATCH) == 0);
  double error = 0;
  for (int i = 0; i < BATCH; ++i)
    error += (y[i] - target[i]) * (y[i] - target[i]) / BATCH;
  CHECK(error < 0.25 * first);
  CHECK(mpc_run(s, MPC_EVAL) == 0);
  const char *losses_name = NULL;
  for (size_t i = 0; mpc_output(s, MPC_EVAL, i, &t) == 0; ++i)
    if (strcmp(t.role, "sample_loss") == 0)
      losses_name = t.name;
  CHECK(losses_name && mpc_get_output(s, losses_name, MPC_F32, losses, BATCH) == 0);
  CHECK(mpc_get_output(s, "nonsense", MPC_F32, y, BATCH) == -1);
  float zero[64] = {0}, bias = 3;
  CHECK(mpc_set_variable(s, "y.weight", MPC_F32, zero, 64) == 0 &&
        mpc_set_variable(s, "y.bias", MPC_F32, &bias, 1) == 0);
  CHECK(mpc_set_variable(s, "y.bias", MPC_F32, zero, 2) == -1);
  CHECK(mpc_run(s, MPC_PREDICT) == 0 && mpc_get_output(s, "y", MPC_F32, y, BATCH) == 0 && y[0] == 3 &&
        y[BATCH - 1] == 3);

  /* Two open sessions do not share state. */
  mpc_session *other = mpc_open(NULL, &options);
  CHECK(other && mpc_get_variable(other, "y.bias", MPC_F32, &bias, 1) == 0 && bias == 0);
  mpc_close(other);
  CHECK(mpc_run(s, MPC_PREDICT) == 0 && mpc_get_output(s, "y", MPC_F32, y, BATCH) == 0 && y[0] == 3);
  mpc_close(s);
  mpc_close(NULL);
  printf("%s\n", failures ? "FAILED" : "all true");
  return failures ? 1 : 0;
}
