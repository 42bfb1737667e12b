// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a training does about its evaluations: the best checkpoint, and an early end.

#include "runtime/core/Watch.h"
#include "LogisticProgram.h"
#include "runtime/core/Train.h"
#include "runtime/core/state/Checkpoint.h"

#include <cmath>
#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace mpc::rt;
using namespace mpc::rt::test;

namespace {
class Watched : public ::testing::Test {
protected:
  void SetUp() override {
    options.data.files = {writeLogisticData(folder / "train.npz", 43)}; // 10 batches of 4
    options.validation = {writeLogisticData(folder / "val.npz", 101, 2)};
    options.checkpointFolder = folder / "ckpt";
    options.epochs = 8;
    options.seed = 5;
    options.log = folder / "run.jsonl";
    options.logEvery = 1000000;
  }
  std::unique_ptr<Session> session() {
    SessionOptions one;
    one.threads = 1;
    one.seed = options.seed;
    return std::make_unique<Session>(logisticProgram(), one);
  }
  TrainResult run() { return train(*session(), options); }
  /// Trains with its standard output in a file, and returns that.
  std::string printed() {
    ::testing::internal::CaptureStdout();
    run();
    return ::testing::internal::GetCapturedStdout();
  }
  std::string message() {
    return errorOf([&] { run(); }).text();
  }
  std::string best() const { return options.checkpointFolder + "/best.safetensors"; }
  /// Returns the evaluations in the log.
  std::vector<nlohmann::json> evaluations() {
    std::vector<nlohmann::json> lines;
    std::istringstream text(readFile(options.log));
    for (std::string line; std::getline(text, line);)
      if (auto values = nlohmann::json::parse(line); values.contains("val_samples"))
        lines.push_back(values);
    return lines;
  }
  TemporaryFolder folder;
  TrainOptions options;
  volatile std::sig_atomic_t stop = 1; // used as options.interrupted
};

Evaluation evaluationOf(double loss, double accuracy) {
  Evaluation evaluation;
  evaluation.loss = loss;
  evaluation.metrics.resize(1);
  evaluation.metrics[0].name = "accuracy";
  evaluation.metrics[0].value = accuracy;
  return evaluation;
}
} // namespace

TEST_F(Watched, ALossFallsAndAnAccuracyRises) {
  auto s = session();
  const double nan = std::nan("");
  BestValue loss("--x", "loss", *s), accuracy("--x", "accuracy", *s);
  EXPECT_FALSE(loss.take(evaluationOf(nan, nan), 1)); // NaN is not even the best of one
  EXPECT_FALSE(loss.take(evaluationOf(HUGE_VAL, nan), 1));
  EXPECT_EQ(loss.text(), "no loss");
  EXPECT_EQ(loss.waited(), 2);
  EXPECT_TRUE(loss.take(evaluationOf(0.5, 0.5), 2));
  EXPECT_TRUE(accuracy.take(evaluationOf(0.5, 0.5), 2));
  EXPECT_FALSE(loss.take(evaluationOf(0.5, 0.6), 3)); // equal is not better
  EXPECT_TRUE(accuracy.take(evaluationOf(0.5, 0.6), 3));
  EXPECT_FALSE(loss.take(evaluationOf(nan, nan), 4));
  EXPECT_FALSE(accuracy.take(evaluationOf(nan, nan), 4));
  EXPECT_EQ(loss.text(), "loss 0.5 (step 2)");
  EXPECT_EQ(accuracy.text(), "accuracy 0.6 (step 3)");
  EXPECT_EQ(loss.waited(), 2);
  EXPECT_EQ(accuracy.waited(), 1);
  // A state brings back all of it, and suits no other metric.
  BestValue again("--x", "accuracy", *s);
  EXPECT_FALSE(again.restore(loss.state()));
  EXPECT_FALSE(again.restore(""));
  EXPECT_EQ(again.text(), "no accuracy");
  EXPECT_TRUE(again.restore(accuracy.state()));
  EXPECT_EQ(again.state(), accuracy.state());
  EXPECT_FALSE(again.take(evaluationOf(0, 0.6), 5));
  EXPECT_TRUE(again.take(evaluationOf(0, std::nextafter(0.6, 1)), 6));
}

TEST_F(Watched, TheBestCheckpointStays) {
  options.watch.saveBest = "loss";
  options.keep = 1;
  std::string text = printed();
  int64_t bestStep = 0, marks = 0;
  double least = HUGE_VAL;
  for (const auto &line : evaluations())
    if (line["val_loss"] < least) {
      least = line["val_loss"];
      bestStep = line["step"];
      ++marks;
    }
  ASSERT_EQ(marks, 7); // the loss rises in the last epoch
  auto s = session();
  EXPECT_EQ(loadCheckpoint(*s, best()).iteration, bestStep);
  DataOptions files;
  files.files = options.validation;
  EXPECT_EQ(evaluate(*s, Dataset(files, inputsOf({&s->entryOfKind("eval")}), 4)).loss, least);
  size_t kept = 0;
  for (const auto &file : std::filesystem::directory_iterator(options.checkpointFolder))
    kept += file.path().extension() == ".safetensors";
  EXPECT_EQ(kept, 2u);
  // The line of each evaluation says whether it was the best so far.
  int64_t said = 0;
  for (size_t at = 0; (at = text.find("  best\n", at)) != text.npos; ++at)
    ++said;
  EXPECT_EQ(said, marks);
  EXPECT_NE(text.find("  step " + std::to_string(bestStep) + "  val_loss"), text.npos) << text;
}

TEST_F(Watched, TheBestValueIsKnownAfterResumption) {
  options.hyper = {{"lr", 30}}; // too much, so that the accuracy rises and falls
  options.watch.saveBest = "accuracy";
  options.watch.patience = 100;
  options.epochs = 4;
  run();
  const std::string last = "/step-00000040.safetensors", whole = readFile(options.checkpointFolder + last),
                    wholeBest = readFile(best());
  // The training is interrupted after every step and continued in a fresh session each time.
  options.checkpointFolder = folder / "again";
  options.resume = true;
  options.interrupted = &stop;
  for (int64_t step = 1; step <= 40; ++step)
    ASSERT_EQ(run().iterations, step);
  run(); // the evaluation behind the last step is due
  EXPECT_EQ(readFile(options.checkpointFolder + last), whole);
  EXPECT_EQ(readFile(best()), wholeBest);
}

TEST_F(Watched, ABestCheckpointOutlivesADeathBeforeTheFirstOther) {
  options.watch.saveBest = "loss";
  run();
  const std::string found = readFile(best());
  for (const auto &file : std::filesystem::directory_iterator(options.checkpointFolder))
    if (file.path().filename().string().starts_with("step-"))
      std::filesystem::remove(file.path());
  EXPECT_NE(message().find("ckpt: holds the checkpoints of another run\nhint: "), std::string::npos) << message();
  options.resume = true;
  options.hyper = {{"lr", 0}}; // nothing becomes better
  options.epochs = 2;
  EXPECT_EQ(run().iterations, 20);
  EXPECT_EQ(readFile(best()), found);
}

TEST_F(Watched, ATrainingThatDoesNotImproveEnds) {
  options.hyper = {{"lr", 0}};
  options.watch.patience = 2;
  std::string text = printed();
  EXPECT_NE(text.find("note: the training ends after step 30: no evaluation of the last 2 is better than loss "),
            text.npos)
      << text;
  EXPECT_TRUE(std::filesystem::exists(options.checkpointFolder + "/step-00000030.safetensors"));
  options.resume = true;
  text = printed(); // the checkpoint knows it
  EXPECT_NE(text.find("note: the training ends after step 30: "), text.npos) << text;
  options.watch.patience = 4;
  TrainResult result = run();
  EXPECT_TRUE(result.stoppedEarly);
  EXPECT_FALSE(result.interrupted);
  EXPECT_EQ(result.iterations, 50);
  // Another metric begins anew, with a note.
  options.watch.stopMetric = "accuracy";
  text = printed();
  EXPECT_NE(text.find("note: --early-stop: the checkpoint knows no best value of this metric"), text.npos) << text;
  EXPECT_EQ(text.find("the training ends"), text.npos) << text;
}

TEST_F(Watched, MistakesAreErrorsBeforeTheFirstStep) {
  options.watch.saveBest = "acuracy";
  EXPECT_EQ(message(), "error: --save-best: the program's evaluation has no number 'acuracy'\nhint: it has: loss, "
                       "accuracy; 'mpc compile --metric' adds others\n");
  options.watch.saveBest = "loss";
  options.checkpointFolder.clear();
  EXPECT_EQ(message(), "error: --save-best: there is no folder for the best checkpoint\nhint: give --checkpoint-dir\n");
  options.validation.clear();
  options.checkpointFolder = folder / "ckpt";
  EXPECT_EQ(message(), "error: --save-best: there is nothing to evaluate\nhint: give --val\n");
  options.watch = {};
  options.watch.patience = 3;
  EXPECT_EQ(message(), "error: --early-stop: there is nothing to evaluate\nhint: give --val\n");
  EXPECT_FALSE(std::filesystem::exists(options.checkpointFolder));
}
