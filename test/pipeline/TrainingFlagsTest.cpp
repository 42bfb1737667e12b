//===- TrainingFlagsTest.cpp - mpc-training takes what mpc compile takes ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpc/TrainingFlags.h"
#include "tools/mpc/HostLibrary.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "gtest/gtest.h"
#include <CLI/CLI.hpp>
#include <set>

using namespace mlir;
using namespace mpc;

namespace {

/// Options by name, as the user writes them. The value of a flag is empty.
using Options = std::vector<std::pair<std::string, std::string>>;

std::string textOf(const OpPassManager &manager) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  manager.printAsTextualPipeline(stream);
  return text;
}

/// Returns the passes that `mpc compile` runs with these options.
std::string fromCommandLine(const Options &options) {
  CLI::App app;
  tool::TrainingFlags flags;
  flags.addTo(app);
  std::vector<std::string> words;
  for (const auto &[name, value] : llvm::reverse(options)) // CLI11 takes the words from the back
    words.push_back("--" + name + (value.empty() ? "" : "=" + value));
  app.parse(words);
  if (!flags.resolve())
    return "error";
  MLIRContext context;
  PassManager manager(&context, ModuleOp::getOperationName());
  buildTrainingPipeline(manager, flags.options, [](OpPassManager &, StringRef) {});
  return textOf(manager);
}

/// Returns the passes of mpc-training with these options.
std::string fromPipeline(const Options &options) {
  static const bool registered = [] { return registerAllPasses(tool::runtimeHooks()), true; }();
  (void)registered;
  std::string text = "builtin.module(mpc-training{";
  for (const auto &[name, value] : options)
    text += name + (value.empty() ? "" : "=" + value) + " ";
  std::string errors;
  llvm::raw_string_ostream stream(errors);
  FailureOr<OpPassManager> manager = parsePassPipeline(text + "})", stream);
  return failed(manager) ? "error" : textOf(*manager);
}

/// Every option, with a value that is not the default and with the options that it needs.
const std::vector<Options> samples = {
    {{"precision", "bf16"}},
    {{"precision", "fp32"}},
    {{"opt-level", "O0"}},
    {{"opt-level", "O0"}, {"precision", "fp16"}},
    {{"opt-level", "O2"}},
    {{"opt-level", "O3"}},
    {{"keep-batchnorm-fp32", "false"}},
    {{"master-weights", "true"}, {"opt-level", "O3"}},
    {{"no-cast-cache", ""}},
    {{"allow", "a{1,2}"}, {"allow", "softmax"}},
    {{"deny", "conv"}},
    {{"infer", "exp"}, {"precision", "fp32"}},
    {{"loss", "softmax_cross_entropy:logits:labels,label_smoothing=0.1"}},
    {{"step", "a:loss=mse:y:t:optimizer=adam,lr=0.1"}, {"step", "b:params=w.*,c"}},
    {{"carry", "hn:h0"}},
    {{"outputs", "y,z"}},
    {{"metric", "accuracy:logits:labels"}},
    {{"metric", "accuracy,f1:micro:logits:labels"}},
    {{"loss-scale", "1024"}},
    {{"loss-scale", "none"}},
    {{"loss-scale", "dynamic"}, {"opt-level", "O2"}},
    {{"loss-scale", "dynamic"}, {"opt-level", "O2"}, {"max-scale", "65536"}},
    {{"loss-scale", "calibrate:7"}, {"headroom", "2"}},
    {{"init-scale", "8"},
     {"growth-factor", "4"},
     {"backoff-factor", "0.25"},
     {"growth-interval", "3"},
     {"min-scale", "0.1"},
     {"max-scale", "99"},
     {"hysteresis", "2"}},
    {{"optimizer", "adamw,weight_decay=0.5"}, {"betas", "0.5,0.75"}, {"eps", "1e-3"}},
    {{"lr", "0.1"}},
    {{"momentum", "0.5"}, {"dampening", "0.25"}, {"nesterov", ""}, {"weight-decay", "0.125"}},
    {{"param-group", "bn.*:lr=2,wd=0"}, {"param-group", "fc:lr=3"}},
    {{"clip-norm", "2"}},
    {{"clip-value", "3"}},
    {{"grad-norm", ""}},
    {{"ema", "0.75"}},
    {{"accumulate", "4"}},
    {{"no-trace", ""}},
    {{"trace", "false"}},
};

TEST(TrainingFlags, ThePipelineTakesWhatTheCommandTakes) {
  std::set<std::string> tried;
  for (const Options &sample : samples) {
    std::string shown;
    for (const auto &[name, value] : sample) {
      tried.insert(name);
      shown += " --" + name + "=" + value;
    }
    std::string expected = fromCommandLine(sample);
    EXPECT_EQ(expected, fromPipeline(sample)) << shown;
    EXPECT_NE(expected, "error") << shown;
    EXPECT_NE(expected, fromCommandLine({})) << shown << " changes nothing";
  }
  CLI::App app;
  tool::TrainingFlags flags;
  flags.addTo(app);
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      EXPECT_TRUE(name == "help" || tried.count(name)) << "--" << name << " has no sample";
}

TEST(TrainingFlags, DefaultsAreTheSame) {
  std::string expected = fromCommandLine({});
  EXPECT_EQ(expected, fromPipeline({}));
  for (const char *part : {"type=fp16", "opt-level=O1", "optimizer=sgd", "scaler=dynamic", "keep-gradients=true"})
    EXPECT_NE(expected.find(part), std::string::npos) << part << " in " << expected;
}

TEST(TrainingFlags, BadValuesAreErrorsOfThePipeline) {
  const std::vector<Options> all = {
      {{"precision", "fp8"}},
      {{"opt-level", "O9"}},
      {{"clip-norm", "0"}},
      {{"clip-value", "nan"}},
      {{"ema", "1"}},
      {{"ema", "0"}},
      {{"accumulate", "0"}},
      {{"betas", "0.5"}},
      {{"loss-scale", "often"}},
      {{"loss-scale", "calibrate:0"}},
      {{"headroom", "2"}},
      {{"precision", "fp32"}, {"init-scale", "2"}},
      {{"loss", "nll:a:b,weight=/nowhere/to/be/found.npy"}},
      {{"no-such-option", "1"}},
  };
  for (const Options &bad : all)
    EXPECT_EQ(fromPipeline(bad), "error") << bad[0].first;
}

} // namespace
