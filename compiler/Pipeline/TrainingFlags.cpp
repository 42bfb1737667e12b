//===- TrainingFlags.cpp - what a user can say about training --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Pipeline/TrainingFlags.h"
#include "dialects/Support/Numbers.h"
#include "dialects/Train/Optimizers/Registry.h"
#include "passes/Training/LossSpec.h"
#include "passes/Training/Metrics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using Request = TrainingRequest;

ArrayRef<TrainingFlag> mpc::trainingFlags() {
  const char *precision = "Precision", *loss = "Loss", *scaling = "Loss scaling", *update = "Optimizer";
  static const std::vector<TrainingFlag> flags = {
      {precision,
       "precision",
       &Request::precision,
       "Compute precision of the network; fp32 is fp32 at every level",
       {.standard = "fp16", .choices = {"fp16", "bf16", "fp32"}}},
      {precision,
       "opt-level",
       &Request::optLevel,
       "O0: fp32; O1: autocast by op; O2: low-precision model, fp32 masters; O3: no masters",
       {.standard = "O1", .choices = {"O0", "O1", "O2", "O3"}}},
      {precision, "keep-batchnorm-fp32", &Request::keepBatchnormFp32,
       "Batch norm parameters in fp32 (default: at all levels but O3)"},
      {precision, "master-weights", &Request::masterWeights, "fp32 master weights (default: at all levels but O3)"},
      {precision, "no-cast-cache", &Request::noCastCache, "Casts a weight at every use instead of once a step"},
      {precision, "allow", &Request::allow, "Op types or node names (regex) that compute in low precision"},
      {precision, "deny", &Request::deny, "Op types or node names (regex) that compute in fp32"},
      {precision, "infer", &Request::infer, "Op types or node names (regex) that follow their inputs"},

      {loss, "loss", &Request::loss,
       training::describeLosses() +
           " (default: the network's scalar output, else softmax_cross_entropy of its one float output "
           "where that may be scores of classes)"},
      {loss, "step", &Request::steps,
       "NAME:loss=...:params=REGEX:optimizer=...:scaler=...:every=K: one optimizer of several, which runs on each "
       "K-th batch (1)"},
      {loss, "carry", &Request::carries,
       "OUTPUT:INPUT: the float input is no data but a state on the device, zero at the start of each epoch, "
       "evaluation "
       "and prediction, which becomes the output after each batch; OUTPUT:INPUT:RESET: and zero for the samples where "
       "the data array RESET [samples] is true"},
      {loss, "outputs", &Request::outputs, "Outputs that predict returns", {.commas = true}},
      {loss,
       "metric",
       &Request::metrics,
       training::describeMetrics() +
           "; without names of what the loss compares (default: accuracy of a classification, token_error_rate of ctc)",
       {.commas = true}},

      {scaling, "loss-scale", &Request::lossScale,
       "dynamic, calibrate[:STEPS], a number or none (default: dynamic for fp16, none otherwise)"},
      {scaling, "init-scale", &Request::initScale, "First scale (dynamic: 65536, calibrate: 1024)"},
      {scaling, "growth-factor", &Request::growthFactor, "Factor after growth-interval steps without overflow (2)"},
      {scaling, "backoff-factor", &Request::backoffFactor, "Factor after an overflow (0.5)"},
      {scaling, "growth-interval", &Request::growthInterval, "Steps without overflow before the scale grows (2000)"},
      {scaling, "min-scale", &Request::minScale, "Lower bound of the scale"},
      {scaling, "max-scale", &Request::maxScale, "Upper bound of the scale"},
      {scaling, "hysteresis", &Request::hysteresis, "Overflows until the scale shrinks (1)"},
      {scaling, "headroom", &Request::headroom, "Safety factor over the largest calibrated gradient (4)"},

      {update,
       "optimizer",
       &Request::optimizer,
       "NAME or NAME,HYPERPARAMETER=VALUE,...: " + optimizers::describeOptimizers(),
       {.standard = "sgd"}},
      {update, "lr", &Request::lr, "Default learning rate of the program"},
      {update, "momentum", &Request::momentum, "Momentum of sgd and rmsprop (0) and of lars (0.9)"},
      {update, "dampening", &Request::dampening, "Dampening of sgd's momentum"},
      {update, "nesterov", &Request::nesterov, "Nesterov momentum of sgd and lars"},
      {update, "weight-decay", &Request::weightDecay,
       "L2 decay, decoupled from the gradient in adamw, lion, lamb and adafactor"},
      {update, "betas", &Request::betas,
       "Decays beta1,beta2 of adam, adamw, nadam and lamb (0.9,0.999) and of lion (0.9,0.99)"},
      {update, "eps", &Request::eps,
       "Added to the root of the squared gradients' average, in lars to norms (1e-8; adagrad: 1e-10; lamb: 1e-6)"},
      {update, "param-group", &Request::groups,
       "REGEX:lr=FACTOR,weight_decay=VALUE (or wd=VALUE); for REGEX also @norms, @biases, @embeddings or several of "
       "them, as in @norms,@biases:wd=0"},
      {update, "clip-norm", &Request::clipNorm, "Clips the global norm of the unscaled gradients", {.positive = true}},
      {update, "clip-value", &Request::clipValue, "Clips every unscaled gradient element", {.positive = true}},
      {update, "grad-norm", &Request::gradNorm,
       "Computes the global norm of the unscaled gradients, which the log shows (--clip-norm does, too)"},
      {update,
       "ema",
       &Request::ema,
       "Decay, such as 0.999, of an exponential moving average of the weights, which eval, predict and --val use",
       {.positive = true}},
      {update, "accumulate", &Request::accumulate, "Batches per update", {.positive = true}},
      {update,
       "trace",
       &Request::trace,
       "Adds what `PROGRAM trace` needs to report gradients (default: on)",
       {.negation = "no-trace"}},
  };
  return flags;
}

//===-- From words to options ---------------------------------------------------------------===//

/// Checks the values that `choices` and `positive` allow. CLI11 has checked mpc's command line already.
static LogicalResult checkValues(const Request &request, FlagError error) {
  for (const TrainingFlag &flag : trainingFlags()) {
    std::string where = std::string("--") + flag.name;
    if (auto word = std::get_if<std::optional<std::string> Request::*>(&flag.member)) {
      const std::optional<std::string> &value = request.**word;
      if (value && !flag.values.choices.empty() && !llvm::is_contained(flag.values.choices, *value))
        return error(where, "'" + *value + "' is no value of it",
                     "write one of " + llvm::join(flag.values.choices, ", ")),
               failure();
    }
    std::optional<double> number;
    if (auto real = std::get_if<std::optional<double> Request::*>(&flag.member))
      number = request.**real;
    else if (auto count = std::get_if<std::optional<int64_t> Request::*>(&flag.member); count && request.**count)
      number = double(*(request.**count));
    if (number && flag.values.positive && !(std::isfinite(*number) && *number > 0))
      return error(where, "must be a positive number", "leave it out, or write one"), failure();
  }
  if (request.ema && *request.ema >= 1)
    return error("--ema", "must be less than 1", "write a decay such as 0.999"), failure();
  if (!request.betas.empty() && request.betas.size() != 2)
    return error("--betas", "are two numbers", "write for example 0.9,0.999"), failure();
  return success();
}

/// Returns what the user wrote, or what holds without it.
static std::string wordOf(const Request &request, std::optional<std::string> Request::*member) {
  if (request.*member)
    return *(request.*member);
  return llvm::find_if(trainingFlags(),
                       [&](const TrainingFlag &flag) { return flag.member == decltype(flag.member)(member); })
      ->values.standard;
}

/// Appends ",name=value" to the description of an optimizer or scaler.
template <class T>
static void append(std::string &to, const char *name, std::optional<T> value) {
  if (value)
    to += (Twine(",") + name + "=" + shortestText(double(*value))).str();
}

static std::string optimizerOf(const Request &request) {
  std::string spec = wordOf(request, &Request::optimizer);
  append(spec, "lr", request.lr);
  append(spec, "momentum", request.momentum);
  append(spec, "dampening", request.dampening);
  append(spec, "weight_decay", request.weightDecay);
  append(spec, "eps", request.eps);
  if (request.nesterov)
    spec += ",nesterov=1";
  if (!request.betas.empty())
    spec += ",beta1=" + shortestText(request.betas[0]) + ",beta2=" + shortestText(request.betas[1]);
  return spec;
}

/// Apex caps the dynamic scale of its opt levels (here O2) at 2^24; torch's autocast (O1) has no cap.
static std::optional<double> capOfDynamic(const TrainingOptions &options) {
  return options.optLevel == "O2" ? std::optional(0x1p24) : std::nullopt;
}

/// fp16 gradients need a scale; bf16 has the range of fp32; O3 is Apex's pure fp16 with scale 1.
static const char *defaultKind(const TrainingOptions &options) {
  return options.precision != "fp16" || options.optLevel == "O0" || options.optLevel == "O3" ? "none" : "dynamic";
}

std::string mpc::defaultScaler(const TrainingOptions &options) {
  std::string scaler = defaultKind(options);
  if (scaler == "dynamic")
    append(scaler, "max_scale", capOfDynamic(options));
  return scaler;
}

static FailureOr<std::string> scalerOf(const Request &request, const TrainingOptions &options, FlagError error) {
  std::string given = request.lossScale.value_or(""), scaler;
  StringRef kind = given;
  double number = 0;
  if (kind.empty())
    kind = defaultKind(options);
  const bool dynamic = kind == "dynamic", calibrates = kind.consume_front("calibrate");
  if (calibrates) {
    int64_t steps = 0;
    scaler = "calibrate";
    if (!kind.empty() && (!kind.consume_front(":") || kind.getAsInteger(10, steps) || steps < 1))
      return error("--loss-scale", "'" + given + "' has no positive number of steps",
                   "write for example calibrate:100"),
             failure();
    if (steps)
      scaler += ",steps=" + std::to_string(steps);
  } else if (dynamic || kind == "none") {
    scaler = kind.str();
  } else if (!kind.getAsDouble(number) && std::isfinite(number) && number > 0) {
    scaler = "static,init_scale=" + shortestText(number);
  } else {
    return error("--loss-scale", "'" + given + "' is not a scale",
                 "write dynamic, calibrate, none or a positive number"),
           failure();
  }
  if ((!dynamic && (request.growthFactor || request.growthInterval || request.hysteresis)) ||
      (!dynamic && !calibrates && (request.initScale || request.backoffFactor || request.minScale || request.maxScale)))
    return error("command line", "options of dynamic loss scaling without it", "add --loss-scale=dynamic"), failure();
  if (request.headroom && !calibrates)
    return error("--headroom", "without calibration", "add --loss-scale=calibrate"), failure();
  append(scaler, "init_scale", request.initScale);
  append(scaler, "growth_factor", request.growthFactor);
  append(scaler, "backoff_factor", request.backoffFactor);
  append(scaler, "growth_interval", request.growthInterval);
  append(scaler, "min_scale", request.minScale);
  append(scaler, "max_scale", dynamic && !request.maxScale ? capOfDynamic(options) : request.maxScale);
  append(scaler, "hysteresis", request.hysteresis);
  append(scaler, "headroom", request.headroom);
  return scaler;
}

FailureOr<TrainingOptions> mpc::resolveTraining(const Request &request, const RuntimeHooks &hooks, FlagError error) {
  if (failed(checkValues(request, error)))
    return failure();
  TrainingOptions options;
  options.optLevel = wordOf(request, &Request::optLevel);
  options.precision =
      options.optLevel == "O0" && !request.precision ? "fp32" : wordOf(request, &Request::precision); // O0 means fp32
  options.keepBatchnormFp32 = request.keepBatchnormFp32;
  options.masterWeights = request.masterWeights;
  options.castCache = !request.noCastCache;
  options.allow = request.allow, options.deny = request.deny, options.infer = request.infer;
  options.loss = wordOf(request, &Request::loss);
  options.steps = request.steps, options.outputs = request.outputs, options.metrics = request.metrics;
  options.carries = request.carries;
  if (!hooks.expandLossWeights(options.loss) || !llvm::all_of(options.steps, hooks.expandLossWeights))
    return failure();
  options.optimizer = optimizerOf(request);
  options.groups = request.groups;
  options.clipNorm = request.clipNorm.value_or(0);
  options.clipValue = request.clipValue.value_or(0);
  options.gradNorm = request.gradNorm;
  options.ema = request.ema.value_or(0);
  options.accumulate = request.accumulate.value_or(1);
  options.keepGradients = request.trace;
  FailureOr<std::string> scaler = scalerOf(request, options, error);
  if (failed(scaler))
    return failure();
  options.scaler = *scaler;
  return options;
}
