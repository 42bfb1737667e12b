// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each metric against numbers that were computed by hand, and what becomes of NaN, ignored labels and padding.

#include "LogisticProgram.h"
#include "runtime/core/Evaluate.h"
#include "runtime/core/MetricCounts.h"
#include "runtime/core/MetricScores.h"
#include "runtime/core/MetricSequences.h"

#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace mpc::rt;
using namespace mpc::rt::test;

namespace {
using Rows = std::vector<std::vector<double>>;

/// Measures rows of scores. `targets` has a label for each row, or a target for each score.
MetricResult measured(const std::string &kind, const Rows &scores, const Rows &targets, bool elementwise = false) {
  std::unique_ptr<Measure> measure =
      makeMeasure(kind, {int64_t(scores.size()), int64_t(scores[0].size()), 1, elementwise});
  MetricResult result;
  result.name = kind;
  if (!measure) {
    ADD_FAILURE() << kind << " is unknown";
    return result;
  }
  for (size_t i = 0; i < scores.size(); ++i)
    measure->add(scores[i], targets[i]);
  measure->finish(result);
  return result;
}
double value(const std::string &kind, const Rows &scores, const Rows &targets, bool elementwise = false) {
  return measured(kind, scores, targets, elementwise).value;
}

// Six samples of three classes; the decisions are 0 0 1 1 0 2.
const Rows logits = {{3, 2, 1}, {3, 1, 2}, {1, 3, 2}, {2, 3, 1}, {3, 2, 1}, {1, 2, 3}};
const Rows labels = {{0}, {0}, {1}, {0}, {2}, {2}};
} // namespace

TEST(Metrics, TheLabelIsAmongTheLargestScores) {
  EXPECT_EQ(value("accuracy", logits, labels), 4 / 6.);
  EXPECT_EQ(value("top1", logits, labels), 4 / 6.);
  EXPECT_EQ(value("top2", logits, labels), 5 / 6.); // sample 3 has its label second, sample 4 third
  EXPECT_EQ(value("top3", logits, labels), 1);
  MetricResult top = measured("top2", logits, labels);
  EXPECT_EQ(top.correct, 5);
  EXPECT_EQ(top.text(": "), "top2: 0.833333 (5/6)");
  // Of equal scores the first class comes first.
  EXPECT_EQ(value("accuracy", {{1, 1, 0}}, {{1}}), 0);
  EXPECT_EQ(value("top2", {{1, 1, 0}}, {{1}}), 1);
  EXPECT_EQ(value("top2", {{1, 1, 1}}, {{2}}), 0);
}

TEST(Metrics, ConfusionCountsLabelsByDecisions) {
  MetricResult result = measured("confusion", logits, labels);
  EXPECT_EQ(result.table, (std::vector<std::vector<int64_t>>{{2, 1, 0}, {0, 1, 0}, {1, 0, 1}}));
  EXPECT_EQ(result.tableText(), "confusion (row: the label, column: the class of the largest score)\n"
                                "     0  1  2\n  0  2  1  0\n  1  0  1  0\n  2  1  0  1\n");
  std::vector<double> many(41);
  EXPECT_EQ(measured("confusion", {many}, {{0}}).tableText(),
            "confusion: a table of 41 classes, which --json prints\n");
}

TEST(Metrics, PrecisionRecallAndF1) {
  // Class: right, decided, labelled. 0: 2, 3, 3; 1: 1, 2, 1; 2: 1, 1, 2.
  EXPECT_DOUBLE_EQ(value("precision", logits, labels), (2 / 3. + 1 / 2. + 1) / 3);
  EXPECT_DOUBLE_EQ(value("recall:macro", logits, labels), (2 / 3. + 1 + 1 / 2.) / 3);
  EXPECT_DOUBLE_EQ(value("f1", logits, labels), (2 / 3. + 2 / 3. + 2 / 3.) / 3);
  for (const char *kind : {"precision:micro", "recall:micro", "f1:micro"})
    EXPECT_DOUBLE_EQ(value(kind, logits, labels), 4 / 6.) << kind; // of one label each they are the accuracy
  // A class that neither a label nor a decision names is no part of the mean.
  MetricResult rare = measured("f1", {{3, 2, 1}, {3, 2, 1}}, {{0}, {1}});
  EXPECT_DOUBLE_EQ(rare.value, (2 / 3. + 0) / 2);
  EXPECT_EQ(rare.text(" "), "f1 0.333333 (over 2 of 3 classes)");
  // The second class of two is the positive one. Decisions 1 1 0 1, labels 1 0 1 1.
  const Rows two = {{0, 1}, {0, 1}, {1, 0}, {0, 1}}, yes = {{1}, {0}, {1}, {1}};
  EXPECT_DOUBLE_EQ(value("precision:binary", two, yes), 2 / 3.);
  EXPECT_DOUBLE_EQ(value("recall:binary", two, yes), 2 / 3.);
  EXPECT_DOUBLE_EQ(value("f1:binary", two, yes), 2 / 3.);
  // What would divide by zero is zero.
  EXPECT_EQ(value("precision:binary", {{1, 0}}, {{1}}), 0);
  EXPECT_EQ(value("recall:binary", {{0, 1}}, {{0}}), 0);
  EXPECT_EQ(makeMeasure("f1:binary", {1, 3, 1, false}), nullptr);
  EXPECT_EQ(makeMeasure("f1:weighted", {1, 3, 1, false}), nullptr);
}

TEST(Metrics, SeveralLabelsOfASample) {
  // Decisions 1 0 1, 0 0 0, 1 1 1.
  const Rows scores = {{1, -1, 0.5}, {-1, 0, -2}, {1, 2, 3}}, targets = {{1, 0, 0}, {0, 0, 1}, {1, 1, 1}};
  EXPECT_DOUBLE_EQ(value("multilabel", scores, targets, true), 7 / 9.);
  EXPECT_DOUBLE_EQ(value("exact", scores, targets, true), 1 / 3.);
  // Label: right, decided, wanted. 0: 2, 2, 2; 1: 1, 1, 1; 2: 1, 2, 2.
  EXPECT_DOUBLE_EQ(value("f1", scores, targets, true), (1 + 1 + 1 / 2.) / 3);
  EXPECT_DOUBLE_EQ(value("precision:micro", scores, targets, true), 4 / 5.);
  EXPECT_DOUBLE_EQ(value("recall:micro", scores, targets, true), 4 / 5.);
  // A label that never occurs is a part of the mean, because the task has it.
  EXPECT_DOUBLE_EQ(value("f1", {{1, -1}}, {{1, 0}}, true), 1 / 2.);
  EXPECT_DOUBLE_EQ(value("f1:binary", {{1}, {1}, {-1}}, {{1}, {0}, {1}}, true), 1 / 2.);
}

TEST(Metrics, AreaUnderTheCurve) {
  auto area = [](std::vector<std::pair<double, bool>> scores) { return areaUnderCurve(scores); };
  // Of the four pairs of a positive and a negative, three are in order.
  EXPECT_DOUBLE_EQ(area({{0.1, false}, {0.4, false}, {0.35, true}, {0.8, true}}), 3 / 4.);
  // Equal scores count one half: 1 > 0 once, 1 = 1 once.
  EXPECT_DOUBLE_EQ(area({{1, true}, {1, false}, {0, false}}), 1.5 / 2);
  EXPECT_DOUBLE_EQ(area({{2, true}, {2, true}, {2, false}, {2, false}}), 1 / 2.);
  EXPECT_TRUE(std::isnan(area({{1, true}, {2, true}})));
  EXPECT_TRUE(std::isnan(area({})));
  // Of two classes, the difference of the scores decides: -1, 2, 1 for no, yes, no.
  EXPECT_DOUBLE_EQ(value("auc", {{5, 4}, {0, 2}, {1, 2}}, {{0}, {1}, {0}}), 1);
  // A class that no label names has no curve.
  MetricResult some = measured("auc", {{3, 2, 1}, {1, 2, 0}, {2, 2, 2}}, {{0}, {1}, {0}});
  EXPECT_EQ(some.columns, (std::pair<int64_t, int64_t>(2, 3)));
  EXPECT_EQ(some.value, 1);
  EXPECT_TRUE(std::isnan(value("auc", {{3, 2}}, {{0}})));
  // One label of two is ranked perfectly, the other one the wrong way round.
  EXPECT_DOUBLE_EQ(value("auc", {{1, 1}, {2, 2}}, {{0, 1}, {1, 0}}, true), 1 / 2.);
}

TEST(Metrics, ErrorsAndPerplexity) {
  EXPECT_DOUBLE_EQ(value("mae", {{1}, {2}, {4}}, {{2}, {2}, {1}}, true), 4 / 3.);
  EXPECT_DOUBLE_EQ(value("rmse", {{1}, {2}, {4}}, {{2}, {2}, {1}}, true), std::sqrt(10 / 3.));
  // Two equal classes: each label has one bit. Adding a number to all scores changes nothing.
  EXPECT_DOUBLE_EQ(value("perplexity", {{0, 0}, {1000, 1000}}, {{0}, {1}}), 2);
  // log(3) and 0 above log(1): the labels have the probabilities 3/4 and 1/4.
  EXPECT_NEAR(value("perplexity", {{std::log(3.), 0}, {std::log(3.), 0}}, {{0}, {1}}), std::sqrt(16 / 3.), 1e-14);
  EXPECT_EQ(value("perplexity", {{-INFINITY, 0}}, {{0}}), INFINITY);
  EXPECT_EQ(makeMeasure("perplexity", {1, 3, 1, true}), nullptr);
  EXPECT_EQ(makeMeasure("mae", {1, 3, 1, false}), nullptr);
}

TEST(Metrics, ErrorsOfSequences) {
  auto distance = [](std::vector<double> a, std::vector<double> b) {
    EXPECT_EQ(editDistance(a, b), editDistance(b, a));
    return editDistance(a, b);
  };
  EXPECT_EQ(distance({}, {}), 0);
  EXPECT_EQ(distance({}, {1, 2}), 2);
  EXPECT_EQ(distance({1, 2, 3}, {1, 2, 3}), 0);
  EXPECT_EQ(distance({1, 2, 3}, {2, 3, 4}), 2);                      // one goes in front, one comes at the end
  EXPECT_EQ(distance({1, 2, 3, 3, 4, 5}, {6, 2, 3, 3, 2, 5, 7}), 3); // kitten, sitting
  auto measure = makeMeasure("token_error_rate", {.sequences = true});
  ASSERT_NE(measure, nullptr);
  MetricResult result;
  result.name = "token_error_rate";
  measure->finish(result);
  EXPECT_TRUE(std::isnan(result.value));
  measure->add(std::vector<double>{1, 2, 3}, std::vector<double>{2, 3, 4});
  measure->add(std::vector<double>{kUndecided}, std::vector<double>{4, 4});
  measure->add(std::vector<double>{}, std::vector<double>{});
  measure->finish(result);
  EXPECT_EQ(result.text(": "), "token_error_rate: 0.8 (4/5)"); // of all labels, not a mean over samples
  EXPECT_EQ(makeMeasure("token_error_rate", {}), nullptr);
  EXPECT_EQ(makeMeasure("accuracy", {.sequences = true}), nullptr);
}

TEST(Metrics, ErrorRatesWantSequencesWithLengths) {
  std::string manifest = logisticManifest();
  manifest.replace(manifest.find(R"("kind": "accuracy")"), 18, R"("kind": "token_error_rate")");
  TemporaryFolder folder;
  Session session(logisticProgram(manifest));
  DataOptions options;
  options.files = {writeLogisticData(folder / "d.npz", 8)};
  Dataset data(options, inputsOf({&session.entry("eval")}), 4);
  EXPECT_EQ(
      errorOf([&] { evaluate(session, data); }).text(),
      "error: metric 'accuracy': decoded labels [4,2] and targets [4] are no sequences with lengths\nhint: compile "
      "the model again\n");
}

TEST(Metrics, ScoresThatAreNoNumbersAreNoDecisions) {
  const Rows scores = {{NAN, 0}, {0, 1}}, yes = {{0}, {1}};
  EXPECT_EQ(value("accuracy", scores, yes), 1 / 2.);
  EXPECT_EQ(measured("confusion", scores, yes).table, (std::vector<std::vector<int64_t>>{{0, 0}, {0, 1}}));
  EXPECT_EQ(value("recall", scores, yes), 1 / 2.);
  EXPECT_EQ(value("multilabel", {{NAN}}, {{0}}, true), 0);
  for (const char *kind : {"auc", "perplexity"})
    EXPECT_TRUE(std::isnan(value(kind, scores, yes))) << kind;
  EXPECT_TRUE(std::isnan(value("auc", {{INFINITY, INFINITY}, {0, 1}}, {{0}, {1}})));
  for (const char *kind : {"mae", "rmse"})
    EXPECT_TRUE(std::isnan(value(kind, {{NAN}, {1}}, {{1}, {1}}, true))) << kind;
}

TEST(Metrics, EvaluationReportsAllOfThem) {
  TemporaryFolder folder;
  std::string list = R"("metrics": [)", manifest = logisticManifest();
  for (const char *kind : {"accuracy", "top2", "f1", "f1:binary", "auc", "perplexity", "confusion"})
    list += concat(list.back() == '[' ? "" : ", ", R"({"name": ")", kind, R"(", "kind": ")", kind,
                   R"(", "logits": "logits", "labels": "target"})");
  manifest.replace(manifest.find(R"("metrics": [)"), manifest.find(R"("plans")") - manifest.find(R"("metrics": [)"),
                   list + "],\n  ");
  auto evaluated = [&](int64_t samples) {
    Session session(logisticProgram(manifest));
    DataOptions options;
    options.files = {writeLogisticData(folder / "d.npz", samples)};
    return evaluate(session, Dataset(options, inputsOf({&session.entry("eval")}), 4));
  };
  // The last batch has three samples, and one that is padding.
  Evaluation evaluation = evaluated(11);
  ASSERT_EQ(evaluation.metrics.size(), 7u);
  for (const MetricResult &metric : evaluation.metrics)
    EXPECT_EQ(metric.counted, 11) << metric.name;
  auto json = nlohmann::json::parse(evaluation.asJson());
  EXPECT_EQ(json["top2"], 1);
  int64_t total = 0, right = 0;
  for (size_t r = 0; r < 2; ++r)
    for (size_t c = 0; c < 2; ++c) {
      total += json["confusion"][r][c].get<int64_t>();
      right += r == c ? json["confusion"][r][c].get<int64_t>() : 0;
    }
  EXPECT_EQ(total, 11);
  EXPECT_EQ(json["accuracy_correct"], right);
  EXPECT_GT(json["perplexity"], 1);
  EXPECT_NE(evaluation.asText().find("\nf1:binary: "), std::string::npos) << evaluation.asText();
  // How the samples fall into batches changes nothing: the first eight are evaluated alike.
  EXPECT_EQ(evaluated(8).asJson(), evaluated(8).asJson());
}

TEST(Metrics, AnUnknownOneIsAnError) {
  std::string manifest = logisticManifest();
  size_t at = manifest.find(R"("kind": "accuracy")");
  manifest.replace(at, 18, R"("kind": "f7")");
  TemporaryFolder folder;
  Session session(logisticProgram(manifest));
  DataOptions options;
  options.files = {writeLogisticData(folder / "d.npz", 8)};
  Dataset data(options, inputsOf({&session.entry("eval")}), 4);
  EXPECT_EQ(errorOf([&] { evaluate(session, data); }).text(),
            "error: metric 'accuracy': 'f7' is no metric for scores [4,2] and targets [4]\nhint: compile the model "
            "again\n");
}
