// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Training: progress, loss scaling, logs, exact resumption, and death at any moment.

#include "runtime/core/Train.h"
#include "LogisticProgram.h"
#include "runtime/core/Evaluate.h"
#include "runtime/core/Progress.h"
#include "runtime/core/StepLoop.h"
#include "runtime/core/state/Checkpoint.h"

#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace mpc::rt;
using namespace mpc::rt::test;

namespace {
class Train : public ::testing::Test {
protected:
  void SetUp() override {
    options.data.files = {writeLogisticData(folder / "train.npz", 203)}; // 50 batches of 4; 3 samples are left over
    options.epochs = 3;
    options.seed = 5;
    options.logEvery = 1000000;
  }
  std::unique_ptr<Session> session() {
    SessionOptions one;
    one.threads = 1;
    one.seed = options.seed;
    return std::make_unique<Session>(logisticProgram(), one);
  }
  /// Returns all state bit by bit.
  static std::string stateOf(Session &session) {
    std::string all;
    for (const Variable &v : session.manifest().variables) {
      Tensor value = session.variable(v.name);
      all.append(reinterpret_cast<const char *>(value.bytes.data()), value.bytes.size());
    }
    return all;
  }
  std::vector<nlohmann::json> logLines() {
    std::vector<nlohmann::json> lines;
    std::istringstream text(readFile(options.log));
    for (std::string line; std::getline(text, line);)
      lines.push_back(nlohmann::json::parse(line));
    return lines;
  }
  TemporaryFolder folder;
  TrainOptions options;
  volatile std::sig_atomic_t stop = 1; // used as options.interrupted
};
} // namespace

TEST_F(Train, LearnsAndLogs) {
  options.validation = {writeLogisticData(folder / "val.npz", 501, 2)};
  options.log = folder / "run.jsonl";
  options.logEvery = 10;
  auto s = session();
  TrainResult result = train(*s, options);
  EXPECT_EQ(result.iterations, 150);
  EXPECT_EQ(result.skipped, std::vector<int64_t>{0});
  EXPECT_EQ(result.updates, 150);
  auto lines = logLines();
  ASSERT_EQ(lines.size(), 15u + 3u);
  EXPECT_EQ(lines[0]["step"], 10);
  EXPECT_EQ(lines[0]["epoch"], 1); // as on the screen
  EXPECT_GE(lines[0]["time"], 0);
  EXPECT_GE(lines[1]["time"], lines[0]["time"]);
  EXPECT_TRUE(std::regex_match(lines[0]["at"].get<std::string>(), std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)")));
  EXPECT_EQ(lines[0]["skipped"], false);
  EXPECT_EQ(lines[0]["scale"], 65536);
  EXPECT_DOUBLE_EQ(lines[0]["lr"], 0.1);
  EXPECT_GT(lines[0]["samples_per_s"], 0);
  EXPECT_EQ(lines[5]["val_samples"], 501); // comes after 5 step lines
  const auto &last = lines.back();
  EXPECT_EQ(last["epoch"], 3);
  EXPECT_GT(last["accuracy"], 0.93); // the noise mislabels about 4 % of the samples
  EXPECT_EQ(last["accuracy"].get<double>(), last["correct"].get<double>() / 501);
  EXPECT_LT(last["val_loss"], lines[5]["val_loss"]);
}

TEST_F(Train, LearningRateFollowsTheScheduleAndTheOptions) {
  options.log = folder / "run.jsonl";
  options.logEvery = 1;
  options.steps = 20;
  options.hyper = {{"lr", 0.4}, {"momentum", 0.5}};
  options.schedule.kind = Schedule::Linear;
  options.schedule.warmup = 4;
  auto s = session();
  train(*s, options);
  auto lines = logLines();
  ASSERT_EQ(lines.size(), 20u);
  EXPECT_DOUBLE_EQ(lines[0]["lr"], 0.1);
  EXPECT_DOUBLE_EQ(lines[3]["lr"], 0.4);
  EXPECT_DOUBLE_EQ(lines[12]["lr"], 0.2);
  EXPECT_FLOAT_EQ(float(s->variableScalar("main/mu")), 0.5f);
  options.hyper = {{"betas", 1}};
  EXPECT_NE(errorOf([&] { train(*s, options); })
                .text()
                .find("--betas: the program's optimizer has no such "
                      "hyperparameter\nhint: it has: lr, momentum"),
            std::string::npos);
}

TEST_F(Train, AnInjectedInfinitySkipsExactlyThatStep) {
  options.log = folder / "run.jsonl";
  options.logEvery = 1;
  options.injectInf = {7, 30};
  options.steps = 40;
  auto s = session();
  TrainResult result = train(*s, options);
  EXPECT_EQ(result.skipped, std::vector<int64_t>{2});
  EXPECT_EQ(result.updates, 38);
  for (const auto &line : logLines())
    EXPECT_EQ(line["skipped"], line["step"] == 7 || line["step"] == 30) << line;
  // The scale starts at 65536, is halved at step 7, doubled after 20 good steps (27), and halved at step 30.
  EXPECT_EQ(s->variableScalar("main/scale"), 32768);
  EXPECT_EQ(s->variableScalar("main/skipped"), 2);
  // A skipped step changes nothing but the scaler.
  options.log.clear();
  options.steps = 6;
  auto before = session(), after = session();
  train(*before, options);
  options.steps = 7;
  train(*after, options);
  EXPECT_EQ(before->variable("w").bytes, after->variable("w").bytes);
  EXPECT_EQ(before->variable("w/momentum").bytes, after->variable("w/momentum").bytes);
  EXPECT_EQ(after->variableScalar("main/scale"), 32768);
}

TEST_F(Train, ALogTakesThePlaceOfNothingElse) {
  options.log = folder / "run.jsonl";
  options.logEvery = 1;
  options.steps = 3;
  auto train3 = [&] { train(*session(), options); };
  std::ofstream(options.log).close(); // an empty file may be overwritten, since nothing is lost
  for (int run = 0; run < 2; ++run) {
    train3();
    EXPECT_EQ(logLines().size(), 3u);
  }
  for (std::string text : {"PK\3\4", "x", "{\"a\": 1}\n", "{\"steps\":1}\n"}) {
    std::ofstream(options.log) << text;
    EXPECT_NE(errorOf(train3).text().find("run.jsonl: exists and is no log of a training\nhint: give --log"),
              std::string::npos)
        << text;
    EXPECT_EQ(readFile(options.log), text);
  }
}

TEST_F(Train, ABoundOfTheScaleThatActsIsSaidOnce) {
  // The kernel halves its scale down to 1, which is a true lower bound. It has no upper bound: the scale goes from 2 to
  // 4, which looks as if the bound in the manifest had kept it from 8.
  std::string manifest = logisticManifest(), tracker = R"("tracker": "main/tracker",)";
  manifest.insert(manifest.find(tracker) + tracker.size(),
                  R"("lower": {"bound": 1, "factor": 0.5}, "upper": {"bound": 4, "factor": 4},)");
  options.log = folder / "run.jsonl";
  options.logEvery = 1;
  options.steps = 90;
  options.onNan = OnNan::Skip;
  for (int64_t step = 1; step <= 20; ++step)
    options.injectInf.insert(step); // the scale is 1 after 16 of them, and the next four would make it smaller
  SessionOptions one;
  one.threads = 1;
  Session session(logisticProgram(manifest), one);
  train(session, options);
  std::vector<std::pair<int64_t, std::string>> notes;
  for (const auto &line : logLines())
    if (line.contains("note") && line["note"].get<std::string>().starts_with("the loss scale stays"))
      notes.push_back({line["step"], line["note"]});
  // 20 good updates lead to 2, and 20 more to 4.
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[0].first, 17);
  EXPECT_EQ(notes[0].second, "the loss scale stays at 1 (--min-scale), where torch's GradScaler would go on to 0.5");
  EXPECT_EQ(notes[1].first, 60);
  EXPECT_EQ(notes[1].second, "the loss scale stays at 4 (--max-scale), where torch's GradScaler would go on to 8");
}

TEST_F(Train, RefusesRatesThatTheVariableCannotHold) {
  auto s = session();
  auto before = stateOf(*s);
  options.hyper = {{"lr", 1e300}};
  EXPECT_NE(errorOf([&] { train(*s, options); }).text().find("--lr: 1e+300 is no value of type f32"),
            std::string::npos);
  options.hyper.clear();
  EXPECT_EQ(stateOf(*s), before);
  options.schedule.kind = Schedule::Step; // the second step gets its rate from the schedule
  options.schedule.stepSize = 1;
  options.schedule.stepGamma = 1e40;
  EXPECT_NE(errorOf([&] { train(*s, options); }).text().find("lr: 1e+39 is no value of type f32"), std::string::npos);
  StepLoop loop(*s, {}, {});
  for (double wrong : {1e39, double(NAN), double(INFINITY)})
    EXPECT_NE(errorOf([&] { loop.setHyper("lr", wrong); }).text().find("is no value of type f32"), std::string::npos);
  loop.setHyper("lr", 3e38);
}

TEST_F(Train, NothingToDoHasNoLoss) {
  options.checkpointFolder = folder / "ckpt";
  options.steps = 5;
  auto s = session();
  EXPECT_TRUE(train(*s, options).loss);
  options.resume = true;
  EXPECT_FALSE(train(*s, options).loss);
}

TEST_F(Train, ResumeKeepsTheLinesOfOthersInTheLog) {
  options.log = folder / "run.jsonl";
  options.logEvery = 1;
  options.checkpointFolder = folder / "ckpt";
  options.steps = 2;
  auto s = session();
  train(*s, options);
  std::string log = readFile(options.log), others = "{\"step\":\"x\"}\n# a note\n[1]\n{\"lr\":2}\n{\"step\":1e99}\n";
  writeFile(options.log, log + others + "{\"step\":3,\"loss\":1}\n{\"step\":4,\"lo");
  options.resume = true;
  options.steps = 3;
  train(*s, options);
  std::string after = readFile(options.log);
  EXPECT_EQ(after.substr(0, log.size() + others.size()), log + others);
  EXPECT_EQ(after.find("{\"step\":3,\"epoch\":1", log.size() + others.size()), log.size() + others.size());
  EXPECT_EQ(std::count(after.begin() + long(log.size() + others.size()), after.end(), '\n'), 1);
}

TEST_F(Train, ALogThatEndsInCsvIsATable) {
  options.validation = {writeLogisticData(folder / "val.npz", 20, 2)};
  options.log = folder / "run.csv";
  options.logEvery = 25;
  options.injectInf = {25};
  options.checkpointFolder = folder / "ckpt";
  options.epochs = 1;
  train(*session(), options);
  auto rows = [&] {
    std::vector<std::vector<std::string>> rows;
    std::istringstream text(readFile(options.log));
    for (std::string line; std::getline(text, line);) {
      std::istringstream cells(line + ",end");
      rows.emplace_back();
      for (std::string cell; std::getline(cells, cell, ',');)
        rows.back().push_back(cell);
    }
    return rows;
  };
  const std::string header =
      "step,epoch,time,at,loss,lr,scale,skipped,samples_per_s,val_loss,val_loss_samples,accuracy,"
      "correct,counted,accuracy_nan,val_samples,note";
  auto table = rows();
  ASSERT_EQ(table.size(), 4u);
  EXPECT_EQ(readFile(options.log).substr(0, header.size() + 1), header + "\n");
  for (const auto &row : table)
    EXPECT_EQ(row.size(), table[0].size());
  EXPECT_EQ(table[1][0], "25");
  EXPECT_EQ(table[1][1], "1");
  EXPECT_NE(table[1][4], ""); // the gradient was infinite, the loss was not
  EXPECT_EQ(table[1][7], "true");
  EXPECT_EQ(table[2][7], "false");
  EXPECT_EQ(table[2][9], "");
  EXPECT_NE(table[3][9], "");
  EXPECT_EQ(table[3][14], ""); // no score was NaN
  EXPECT_EQ(table[3][15], "20");
  // A resumed training drops what comes after its checkpoint, and a line that a killed process has left.
  std::string before = readFile(options.log);
  writeFile(options.log, before + "51,2,0,x,1,0,0,false,1,,,,,,,,\n52,2,");
  options.resume = true;
  options.epochs = 2;
  train(*session(), options);
  EXPECT_EQ(readFile(options.log).substr(0, before.size()), before);
  EXPECT_EQ(rows().size(), 7u);
  EXPECT_EQ(rows()[4][0], "75");
  // A table with other columns is left alone.
  writeFile(options.log, "step,epoch,time,at,loss,lr\n1,1,0,x,1,1\n");
  options.epochs = 3;
  Error error = errorOf([&] { train(*session(), options); });
  EXPECT_NE(
      error.text().find("run.csv: has other columns than this training writes: 'step,epoch,time,at,loss,lr', not '" +
                        header + "'\nhint: give --log a new file"),
      std::string::npos)
      << error.text();
  EXPECT_EQ(readFile(options.log), "step,epoch,time,at,loss,lr\n1,1,0,x,1,1\n");
  options.resume = false;
  options.checkpointFolder.clear();
  writeFile(options.log, "a,b\n");
  EXPECT_NE(errorOf([&] { train(*session(), options); }).text().find("exists and is no log of a training"),
            std::string::npos);
}

TEST(Bar, FitsIntoTheColumnsAndKeepsTheTime) {
  const std::string status = "epoch 12  loss 0.0827632  lr 0.037621  scale 32768  2171 samples/s";
  for (int columns : {20, 30, 40, 60, 80, 120, 300}) {
    std::string text = barText("train", 1234, 56100, 4321, status, columns);
    EXPECT_LT(text.size(), size_t(columns)) << text;
    if (columns >= 60) {
      EXPECT_NE(text.find(" 1234/56100  left 1:12:01"), std::string::npos) << text;
    }
  }
  EXPECT_EQ(barText("train", 1, 2, 7, status, 80),
            "train [########.........] 1/2  left 0:07  epoch 12  loss 0.0827632  lr 0.037621");
  EXPECT_EQ(barText("eval", 0, 10, std::nullopt, "", 30), "eval [.................] 0/10");
}

TEST_F(Train, ResumeIsBitExact) {
  options.schedule.kind = Schedule::Cosine;
  options.schedule.warmup = 10;
  options.injectInf = {33};
  auto undisturbed = session();
  train(*undisturbed, options);
  // The training is interrupted after every single step and continued in a fresh session each time.
  options.checkpointFolder = folder / "ckpt";
  options.resume = true;
  options.interrupted = &stop;
  for (int64_t step = 1; step <= 150; ++step) {
    auto s = session();
    ASSERT_EQ(train(*s, options).iterations, step);
    if (step == 150) {
      EXPECT_EQ(stateOf(*s), stateOf(*undisturbed));
    }
  }
}

TEST_F(Train, KilledAtRandomItResumesToTheSameBits) {
  auto undisturbed = session();
  options.epochs = 20;
  train(*undisturbed, options);
  options.checkpointFolder = folder / "ckpt";
  options.checkpointEvery = 3;
  options.log = folder / "run.jsonl";
  options.logEvery = 1;
  options.resume = true;
  auto newest = [&] {
    int64_t step = 0;
    std::error_code none; // before the first checkpoint there is no folder
    for (const auto &file : std::filesystem::directory_iterator(options.checkpointFolder, none))
      if (file.path().extension() == ".safetensors")
        step = std::max<int64_t>(step, std::stoll(file.path().stem().string().substr(5)));
    return step;
  };
  using Clock = std::chrono::steady_clock;
  std::mt19937 random(1);
  std::uniform_real_distribution<double> share(0, 1);
  Clock::duration startup{};
  // Each kill comes after some new checkpoints, and then after a random part of the time between two checkpoints. It
  // can therefore come at any moment of the work, however fast the machine is. Every fourth attempt is killed during
  // its start instead and does not count.
  int kills = 0;
  for (int attempt = 1; kills < 20; ++attempt) {
    ASSERT_LE(attempt, 200) << "only " << kills << " could be killed";
    bool early = attempt % 4 == 0;
    size_t wanted = 2 + random() % 15; // 333 checkpoints are written in all
    Clock::duration earlyMoment = std::chrono::duration_cast<Clock::duration>(startup * share(random));
    double behind = share(random);
    int64_t last = newest();
    Clock::time_point start = Clock::now(), end = start + std::chrono::minutes(2), due = end;
    if (early)
      due = start + earlyMoment;
    pid_t child = fork();
    if (child == 0) {
      std::freopen("/dev/null", "w", stdout);
      auto s = session();
      train(*s, options);
      _exit(0);
    }
    std::vector<Clock::time_point> seen;
    int status = 0;
    pid_t ended = 0;
    for (Clock::time_point now = start; now < due && (ended = waitpid(child, &status, WNOHANG)) == 0;
         now = Clock::now()) {
      if (int64_t step = newest(); step > last) {
        last = step;
        seen.push_back(Clock::now());
        if (!early && seen.size() == wanted)
          due = seen.back() +
                std::chrono::duration_cast<Clock::duration>((seen.back() - seen.front()) * behind / double(wanted - 1));
      }
      usleep(100);
    }
    if (ended == 0) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
    }
    if (WIFEXITED(status)) { // it finished before the kill: start over
      EXPECT_EQ(WEXITSTATUS(status), 0);
      std::filesystem::remove_all(options.checkpointFolder);
      std::filesystem::remove(options.log);
    } else if (!early) {
      ASSERT_GE(seen.size(), wanted) << "no new checkpoint in two minutes";
      startup = seen.front() - start;
      ++kills;
    }
  }
  train(*session(), options);
  auto s = session();
  loadCheckpoint(*s, CheckpointFolder(options.checkpointFolder, 3).pathOf(1000));
  for (const char *name : {"w", "w/momentum", "w/f16", "main/scale", "main/tracker", "main/skipped"})
    EXPECT_EQ(s->variable(name).bytes, undisturbed->variable(name).bytes) << name;
  // The log holds every step once and in order.
  int64_t next = 1;
  for (const auto &line : logLines())
    EXPECT_EQ(line["step"], next++);
  EXPECT_EQ(next, 1001);
}

TEST_F(Train, ANewRunRefusesTheFolderOfAnother) {
  options.checkpointFolder = folder / "ckpt";
  options.steps = 20;
  auto first = session();
  train(*first, options);
  options.steps = 5;
  auto second = session();
  auto before = stateOf(*second);
  Error error = errorOf([&] { train(*second, options); });
  EXPECT_NE(error.text().find("ckpt: holds the checkpoints of another run\nhint: continue that one with --resume"),
            std::string::npos)
      << error.text();
  EXPECT_EQ(stateOf(*second), before);
  loadCheckpoint(*second, CheckpointFolder(options.checkpointFolder, 3).pathOf(20)); // the folder is untouched
  // Other files do not count as checkpoints.
  std::filesystem::create_directories(folder / "other");
  std::ofstream(folder / "other/step-5.safetensors") << "mine";
  options.checkpointFolder = folder / "other";
  EXPECT_EQ(train(*second, options).iterations, 5);
}

TEST_F(Train, ResumeRefusesOtherData) {
  options.checkpointFolder = folder / "ckpt";
  options.steps = 5;
  auto s = session();
  train(*s, options);
  options.resume = true;
  options.data.files = {writeLogisticData(folder / "other.npz", 100)};
  EXPECT_NE(
      errorOf([&] { train(*s, options); }).text().find("holds 100 samples; the checkpoint comes from training on 203"),
      std::string::npos);
}

TEST_F(Train, InterruptionFinishesTheStepAndSaves) {
  options.interrupted = &stop;
  options.checkpointFolder = folder / "ckpt";
  auto s = session();
  TrainResult result = train(*s, options);
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.iterations, 1);
  EXPECT_TRUE(std::filesystem::exists(folder / "ckpt/step-00000001.safetensors"));
}
