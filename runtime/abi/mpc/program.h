/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Training inside another program: the functions that `mpc compile --emit=lib` gives C and C++ callers.
 *
 * The library holds the model and the runtime. A session is one running copy of the model: its parameters, the
 * optimizer's and the loss scaler's state, and all memory that a step needs, allocated once by mpc_open. Typical use:
 *
 *   mpc_session *s = mpc_open(NULL, NULL);                       // the model in this library
 *   mpc_bind(s, "x", MPC_F32, x, 64 * 784);                      // every step reads it from now on
 *   mpc_bind(s, "label", MPC_I64, label, 64);
 *   for (...) { fill(x, label); mpc_step(s, &report); }
 *   mpc_save(s, "trained.safetensors");
 *   mpc_close(s);
 *
 * Functions that can fail return 0 or a pointer on success and -1 or null on failure; mpc_error then says why. A null
 * argument, a pointer that is no open session, and a name that the model does not have are such failures. Returned
 * strings and arrays belong to the session and live as long as it does. A session is used by one thread at a time;
 * steps of different sessions take turns, since each uses all of its threads. Threads do not survive a fork: in a child
 * of a process that has called mpc_open, every call fails.
 */
#ifndef MPC_PROGRAM_H
#define MPC_PROGRAM_H
#include "mpc/kernel.h"
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPC_PROGRAM_ABI 1
/* Returns MPC_PROGRAM_ABI of the library, which grows when something here changes incompatibly. */
uint32_t mpc_abi_version(void);

typedef struct mpc_session mpc_session;

/* Zero-initialise it; 0 and null stand for the defaults. */
typedef struct mpc_open_options {
  int32_t threads;     /* default: all CPUs that the process may use */
  uint64_t seed;       /* seed of random initial values and dropout */
  const char *library; /* the provider of products and convolutions: "auto" (default), "onednn" or "generic" */
  const char *target;  /* "auto" (default), "cuda", "host" or "emulator" */
  void (*note)(void *context, const char *text); /* receives one-line notes; default: notes are dropped */
  void *note_context;
} mpc_open_options;

/* path: a program or library made by mpc; null means the library that contains this function. */
mpc_session *mpc_open(const char *path, const mpc_open_options *options);
void mpc_close(mpc_session *session); /* null is allowed; a session that is closed already is left alone */

/* Returns the message of the calling thread's last failure: "WHERE: WHAT; HINT". It is valid until the thread's next
 * failure. */
const char *mpc_error(void);

/* Describes the program as a JSON object: model, precision, ports, hyperparameters, memory plan. */
const char *mpc_info(mpc_session *session);

/* ---- Tensors ---- */
typedef MPC_ENUM(mpc_mode){MPC_TRAIN = 0, MPC_EVAL = 1, MPC_PREDICT = 2} mpc_mode;

typedef struct mpc_tensor {
  const char *name;
  const char *
      role; /* outputs: loss, sample_loss, sample_weight, output; variables: parameter, buffer, slot, ...; inputs: "" */
  int32_t dtype; /* mpc_dtype */
  int32_t rank;
  const int64_t *shape; /* logical (ONNX) order */
  size_t elements;
} mpc_tensor;

/* Describe the index-th input or output of a mode, or the index-th variable; -1 past the last one. */
int mpc_input(mpc_session *session, mpc_mode mode, size_t index, mpc_tensor *tensor);
int mpc_output(mpc_session *session, mpc_mode mode, size_t index, mpc_tensor *tensor);
int mpc_variable(mpc_session *session, size_t index, mpc_tensor *tensor);

/* Binds memory of the caller to an input, row-major in logical order. A step or a run reads it when it begins, so that
 * it may be refilled in between. Elements of another type are converted, and nothing else is done to them: the caller
 * scales and normalizes, as the training did whose checkpoint mpc_load reads. Every input of a mode must be bound
 * before it runs. */
int mpc_bind(mpc_session *session, const char *input, mpc_dtype dtype, const void *data, size_t elements);

/* Copy a variable, converted to or from dtype; setting one also sets its low-precision copies and its moving average
 * (mpc compile --ema). A value that the other type cannot represent (NaN or 0.7 as an integer, 1e300 as f32) is an
 * error, here and wherever elements are converted. */
int mpc_get_variable(mpc_session *session, const char *name, mpc_dtype dtype, void *data, size_t elements);
int mpc_set_variable(mpc_session *session, const char *name, mpc_dtype dtype, const void *data, size_t elements);

/* ---- Training ---- */
typedef struct mpc_step_report {
  double loss; /* unscaled, before the update */
  double lr;
  double scale;    /* the loss scale of this step; 1 without scaling */
  int32_t skipped; /* 1: the loss or the gradients were not finite, and nothing was updated */
} mpc_step_report;

/* Returns the number of the program's optimizers, which is the number of reports per mpc_step; 0 if the program only
 * predicts, and on failure. */
size_t mpc_optimizer_count(mpc_session *session);
/* Trains on one batch: forward, backward and update. reports: null, or mpc_optimizer_count elements. An optimizer that
 * runs on each K-th batch only (mpc compile --step=...:every=K) repeats its last report on the others, with skipped 0;
 * before its first run the loss is NaN. */
int mpc_step(mpc_session *session, mpc_step_report *reports);
/* Returns the number of steps since the beginning of the training, which a checkpoint saves and restores; -1 on
 * failure. */
int64_t mpc_iteration(mpc_session *session);
/* Sets a hyperparameter from the next step on: "lr", or "STEP.lr" if the program has several optimizers. While
 * "nan_guard" is 1 (the default), a step whose loss is not finite is skipped; at 0 it updates. */
int mpc_set_hyper(mpc_session *session, const char *name, double value);

/* ---- Evaluation and prediction, which do not change the state ---- */

/* Variables of role "state" are an exception (mpc compile --carry): each step and each run goes on from what the one
 * before left there. The library does not know where a sequence begins; set them to 0 with mpc_set_variable there.
 * In a model that was compiled with --ema, runs use the moving averages of the parameters. */
int mpc_run(mpc_session *session, mpc_mode mode);
/* Copies an output of the most recent step or run; of several optimizers, of the last one that ran. Models that were
 * compiled with --grad-norm or --clip-norm have an output "grad_norm" of each step. */
int mpc_get_output(mpc_session *session, const char *name, mpc_dtype dtype, void *data, size_t elements);

/* ---- Checkpoints: safetensors, the same as those of the training program ---- */
/* Writes a checkpoint; the file appears whole or not at all. */
int mpc_save(mpc_session *session, const char *path);
/* Loads a whole training state, or only parameters from plain safetensors. Nothing changes unless everything fits. */
int mpc_load(mpc_session *session, const char *path);

#ifdef __cplusplus
}
#endif
#endif
