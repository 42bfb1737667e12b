#include "tools/mpc/TrainingFlags.h"
#include "dialects/Train/Optimizers/Registry.h"
#include "passes/Training/LossSpec.h"
#include "runtime/runner/Checks.h"
#include "tools/mpc/Common.h"
#include "tools/mpc/LossWeights.h"
#include "llvm/ADT/STLExtras.h"
#include <CLI/CLI.hpp>
#include <cmath>

namespace mpc::tool {

void TrainingFlags::addTo(CLI::App &app) {
  auto precision = "Precision";
  options.precision = "fp16";
  precisionOption = app.add_option("--precision", options.precision, "Compute precision of the network; fp32 is fp32 at every level")
      ->check(CLI::IsMember({"fp16", "bf16", "fp32"}))->capture_default_str()->group(precision);
  levelOption = app.add_option("--opt-level", options.optLevel, "O0: fp32; O1: autocast by op; O2: low-precision model, fp32 masters; O3: no masters")
      ->check(CLI::IsMember({"O0", "O1", "O2", "O3"}))->capture_default_str()->group(precision);
  app.add_option("--keep-batchnorm-fp32", options.keepBatchnormFp32, "Batch norm parameters in fp32 (default: at all levels but O3)")->group(precision);
  app.add_option("--master-weights", options.masterWeights, "fp32 master weights (default: at all levels but O3)")->group(precision);
  app.add_flag("--no-cast-cache", noCastCache, "Casts a weight at every use instead of once a step")->group(precision);
  app.add_option("--allow", options.allow, "Op types or node names (regex) that compute in low precision")->allow_extra_args(false)->group(precision);
  app.add_option("--deny", options.deny, "Op types or node names (regex) that compute in fp32")->allow_extra_args(false)->group(precision);
  app.add_option("--infer", options.infer, "Op types or node names (regex) that follow their inputs")->allow_extra_args(false)->group(precision);

  auto loss = "Loss";
  app.add_option("--loss", options.loss,
                 training::describeLosses() + " (default: the network's scalar output, else softmax_cross_entropy of its one float output "
                 "where that may be scores of classes)")->group(loss);
  app.add_option("--step", options.steps, "NAME:loss=...:params=REGEX:optimizer=...: one optimizer of several")->allow_extra_args(false)->group(loss);
  app.add_option("--outputs", options.outputs, "Outputs that predict returns")->delimiter(',')->group(loss);
  app.add_option("--metric", options.metrics, "accuracy:LOGITS:LABELS (default: inferred from the loss)")->allow_extra_args(false)->group(loss);

  auto scaling = "Loss scaling";
  app.add_option("--loss-scale", lossScale, "dynamic, calibrate[:STEPS], a number or none (default: dynamic for fp16, none otherwise)")->group(scaling);
  app.add_option("--init-scale", initScale, "First scale (dynamic: 65536, calibrate: 1024)")->group(scaling);
  app.add_option("--growth-factor", growthFactor, "Factor after growth-interval steps without overflow (2)")->group(scaling);
  app.add_option("--backoff-factor", backoffFactor, "Factor after an overflow (0.5)")->group(scaling);
  app.add_option("--growth-interval", growthInterval, "Steps without overflow before the scale grows (2000)")->group(scaling);
  app.add_option("--min-scale", minScale, "Lower bound of the scale")->group(scaling);
  app.add_option("--max-scale", maxScale, "Upper bound of the scale")->group(scaling);
  app.add_option("--hysteresis", hysteresis, "Overflows until the scale shrinks (1)")->group(scaling);
  app.add_option("--headroom", headroom, "How many times larger than while calibrating gradients may become (4)")->group(scaling);

  auto update = "Optimizer";
  optimizerOption = app.add_option("--optimizer", optimizer, "NAME or NAME,HYPERPARAMETER=VALUE,...: " + optimizers::describeOptimizers())->capture_default_str()->group(update);
  app.add_option("--lr", lr, "Default learning rate of the program")->group(update);
  app.add_option("--momentum", momentum, "Momentum of sgd (0; 0.9 without --optimizer)")->group(update);
  app.add_option("--dampening", dampening, "Dampening of sgd's momentum")->group(update);
  app.add_flag("--nesterov", nesterov, "Nesterov momentum")->group(update);
  app.add_option("--weight-decay", weightDecay, "L2 decay, decoupled from the gradient in adamw")->group(update);
  app.add_option("--betas", betas, "Decay of adam's moments (0.9,0.999)")->delimiter(',')->expected(2)->group(update);
  app.add_option("--eps", eps, "Added to the root of adam's second moment (1e-8)")->group(update);
  app.add_option("--param-group", options.groups, "REGEX:lr=FACTOR,weight_decay=VALUE (or wd=VALUE)")->allow_extra_args(false)->group(update);
  app.add_option("--clip-norm", options.clipNorm, "Clips the global norm of the unscaled gradients")->check(rt::finiteNumber(/*aboveZero=*/true))->group(update);
  app.add_option("--clip-value", options.clipValue, "Clips every unscaled gradient element")->check(rt::finiteNumber(/*aboveZero=*/true))->group(update);
  app.add_option("--accumulate", options.accumulate, "Batches per update")->check(rt::positiveCount())->group(update);
  app.add_flag("--trace,!--no-trace", options.keepGradients, "Adds what `PROGRAM trace` needs to report gradients (default: on)")->group(update);
}

/// Returns the shortest text that reads back as the same double.
static std::string text(double value) {
  char buffer[32];
  snprintf(buffer, sizeof buffer, "%.17g", value);
  return buffer;
}

static bool wrote(const CLI::Option *option) { return option->count() > 0; }

bool TrainingFlags::resolve() {
  if (options.optLevel == "O0" && !wrote(precisionOption))
    options.precision = "fp32"; // O0 means fp32
  options.castCache = !noCastCache;
  if (!expandLossWeights(options.loss) || !llvm::all_of(options.steps, expandLossWeights))
    return false;
  std::string spec = wrote(optimizerOption) || !momentum ? optimizer : llvm::StringRef(optimizer).split(',').first.str();
  auto add = [](std::string &to, const char *name, auto value) {
    if (value)
      to += "," + std::string(name) + "=" + text(double(*value));
  };
  add(spec, "lr", lr);
  add(spec, "momentum", momentum);
  add(spec, "dampening", dampening);
  add(spec, "weight_decay", weightDecay);
  add(spec, "eps", eps);
  if (nesterov)
    spec += ",nesterov=1";
  if (betas.size() == 2)
    spec += ",beta1=" + text(betas[0]) + ",beta2=" + text(betas[1]);
  options.optimizer = spec;

  llvm::StringRef kind(lossScale);
  std::string scaler;
  double number = 0;
  if (kind.empty()) {
    scaler = defaultScaler(options);
  } else if (kind == "dynamic" || kind == "none") {
    scaler = kind.str();
    if (kind == "dynamic" && options.optLevel == "O2")
      scaler += kApexCap;
  } else if (kind.consume_front("calibrate")) {
    int64_t steps = 0;
    scaler = "calibrate";
    if (!kind.empty() && (!kind.consume_front(":") || kind.getAsInteger(10, steps) || steps < 1))
      return fail("--loss-scale", "'" + llvm::Twine(lossScale) + "' has no positive number of steps", "write for example calibrate:100"), false;
    if (steps)
      scaler += ",steps=" + std::to_string(steps);
  } else if (!kind.getAsDouble(number) && std::isfinite(number) && number > 0) {
    scaler = "static,init_scale=" + text(number);
  } else {
    return fail("--loss-scale", "'" + llvm::Twine(lossScale) + "' is not a scale", "write dynamic, calibrate, none or a positive number"), false;
  }
  bool dynamic = llvm::StringRef(scaler).starts_with("dynamic");
  bool calibrates = llvm::StringRef(scaler).starts_with("calibrate");
  if ((!dynamic && (growthFactor || growthInterval || hysteresis)) || (!dynamic && !calibrates && (initScale || backoffFactor || minScale || maxScale)))
    return fail("command line", "options of dynamic loss scaling without it", "add --loss-scale=dynamic"), false;
  if (headroom && !calibrates)
    return fail("--headroom", "without calibration", "add --loss-scale=calibrate"), false;
  if (maxScale)
    if (size_t at = scaler.find(",max_scale="); at != std::string::npos)
      scaler.erase(at);
  add(scaler, "init_scale", initScale);
  add(scaler, "growth_factor", growthFactor);
  add(scaler, "backoff_factor", backoffFactor);
  add(scaler, "growth_interval", growthInterval);
  add(scaler, "min_scale", minScale);
  add(scaler, "max_scale", maxScale);
  add(scaler, "hysteresis", hysteresis);
  add(scaler, "headroom", headroom);
  options.scaler = scaler;
  return true;
}

static std::string shortText(double value) {
  char buffer[32];
  snprintf(buffer, sizeof buffer, "%g", value);
  return buffer;
}

void TrainingFlags::assumeOptimizer(std::vector<std::string> &lines) const {
  if (!options.steps.empty() && llvm::all_of(options.steps, [](llvm::StringRef step) { return step.contains(":optimizer="); }))
    return; // each step names its own optimizer
  auto [name, hyperparameters] = llvm::StringRef(options.optimizer).split(',');
  if (!wrote(optimizerOption))
    lines.push_back((llvm::Twine("--optimizer=") + (momentum ? name : llvm::StringRef(optimizer))).str());
  const optimizers::Optimizer *known = optimizers::findOptimizer(name);
  if (!known || hyperparameters.starts_with("lr=") || hyperparameters.contains(",lr="))
    return;
  lines.push_back((llvm::Twine("--lr=") + shortText(known->lr.defaultValue) + ": the default of " + name + "; the program's own --lr changes it too").str());
}

std::vector<std::string> TrainingFlags::assumed() const {
  std::vector<std::string> lines;
  if (!wrote(precisionOption))
    lines.push_back("--precision=" + options.precision + (options.precision == "fp32" ? ": the precision of level O0" : ""));
  if (options.precision != "fp32") {
    if (!wrote(levelOption))
      lines.push_back("--opt-level=" + options.optLevel + ": autocast by op");
    if (lossScale.empty())
      lines.push_back(("--loss-scale=" + llvm::StringRef(options.scaler).split(',').first).str());
  }
  assumeOptimizer(lines);
  return lines;
}

} // namespace mpc::tool
