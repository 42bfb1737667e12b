// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pictures of logs: what is read, scales and ticks, curves, and the structure of the SVG.

#include "runtime/core/Plot.h"
#include "LogisticProgram.h"
#include "runtime/core/PlotAxis.h"
#include "runtime/core/PlotCurve.h"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <regex>

using namespace mpc::rt;
using namespace mpc::rt::test;

namespace {
using Texts = std::vector<std::string>;

Texts labelsOf(const Axis &axis) {
  Texts labels;
  axis.eachTick([&](double, const std::string &label) { labels.push_back(label); });
  return labels;
}

size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size())
    ++found;
  return found;
}

/// Returns what the picture says: the contents of its text elements.
Texts textsIn(const std::string &svg) {
  Texts texts;
  std::regex text("<text[^>]*>([^<]*)</text>");
  for (std::sregex_iterator it(svg.begin(), svg.end(), text), end; it != end; ++it)
    texts.push_back((*it)[1]);
  return texts;
}

bool has(const Texts &texts, const std::string &text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

class Plots : public ::testing::Test {
protected:
  std::string file(const std::string &name, const std::string &text) {
    std::filesystem::create_directories(std::filesystem::path(folder / name).parent_path());
    writeFile(folder / name, text);
    return folder / name;
  }
  /// Writes the log of a training whose loss is `first` / step.
  std::string training(const std::string &name, double first, int steps) {
    std::string text;
    for (int step = 1; step <= steps; ++step)
      print(text, "{\"step\":%d,\"epoch\":1,\"time\":1,\"loss\":%.9g,\"lr\":0.1,\"samples_per_s\":9}\n", step,
            first / step);
    print(text,
          "{\"step\":%d,\"epoch\":1,\"time\":1,\"val_loss\":%.9g,\"accuracy\":0.75,\"correct\":3,\"counted\":4,\"val_"
          "samples\":4}\n",
          steps, first / steps);
    return file(name, text);
  }
  std::string svgOf(const Texts &logs, PlotOptions options = {}) {
    options.logs = logs;
    options.out = folder / "out.svg";
    plot(options);
    return readFile(options.out);
  }
  TemporaryFolder folder;
};
} // namespace

TEST(PlotAxis, TicksAreNiceNumbers) {
  EXPECT_EQ(labelsOf(Axis(Axis::Linear, 0.1, 0.9, 5, true)), (Texts{"0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
  EXPECT_EQ(labelsOf(Axis(Axis::Linear, 0, 748, 5, false)), (Texts{"0", "200", "400", "600"}));
  EXPECT_EQ(labelsOf(Axis(Axis::Linear, 0, 46900, 5, false)), (Texts{"0", "10k", "20k", "30k", "40k"}));
  EXPECT_EQ(labelsOf(Axis(Axis::Linear, 0, 2.5e6, 5, false)), (Texts{"0", "500k", "1.0M", "1.5M", "2.0M", "2.5M"}));
  EXPECT_EQ(labelsOf(Axis(Axis::Linear, 0, 3e-5, 3, true)), (Texts{"0", "1e-5", "2e-5", "3e-5"}));
  EXPECT_EQ(labelsOf(Axis(Axis::Linear, 0.1, 0.1, 2, true)), (Texts{"0.05", "0.10", "0.15"})); // a constant
  EXPECT_EQ(labelsOf(Axis(Axis::Linear, -1, 1, 4, true)), (Texts{"-1.0", "-0.5", "0", "0.5", "1.0"}));
  EXPECT_EQ(labelsOf(Axis(Axis::Log10, 0.001, 10, 5, true)), (Texts{"0.001", "0.01", "0.1", "1", "10"}));
  EXPECT_EQ(labelsOf(Axis(Axis::Log10, 0.3, 3, 5, true)), (Texts{"0.5", "1", "2"}));
  EXPECT_EQ(labelsOf(Axis(Axis::Log2, 32768, 65536, 5, true)), (Texts{"2¹⁴", "2¹⁵", "2¹⁶", "2¹⁷"}));
  EXPECT_LE(labelsOf(Axis(Axis::Log2, 1, 1e9, 5, true)).size(), 7u);
}

TEST(PlotAxis, MapsItsEndsTo0And1) {
  Axis linear(Axis::Linear, 3, 7, 4, false), logarithmic(Axis::Log10, 0.01, 100, 4, true);
  EXPECT_EQ(linear.at(3), 0);
  EXPECT_EQ(linear.at(7), 1);
  EXPECT_EQ(linear.at(4), 0.25);
  EXPECT_NEAR(logarithmic.at(1), 0.5, 1e-12);
  EXPECT_NEAR(logarithmic.at(0.01 / 1.15), 0, 1e-12);
  EXPECT_NEAR(logarithmic.at(115), 1, 1e-12);
}

TEST(PlotCurve, MeansLeaveOutWhatIsNotFinite) {
  std::vector<Point> points;
  for (int i = 0; i < 400; ++i)
    points.push_back({double(i), i % 2 == 0 ? 1. : 3.});
  points[100].y = NAN;
  points[200].y = 1e30; // leaves no trace behind its window
  for (int i = 300; i < 320; ++i)
    points[size_t(i)].y = NAN;
  std::vector<Point> means = smoothed(points);
  ASSERT_EQ(means.size(), points.size());
  EXPECT_EQ(means[0].y, 1);           // a window of one point
  EXPECT_NEAR(means[50].y, 2, 0.1);   // 11 points
  EXPECT_NEAR(means[100].y, 2, 0.25); // one point is left out
  EXPECT_NEAR(means[206].y, 2, 0.1);
  EXPECT_TRUE(std::isnan(means[310].y));
  EXPECT_NEAR(means[399].y, 2, 0.25); // the window ends with the points
  points.resize(49);
  EXPECT_EQ(smoothed(points)[20].y, points[20].y); // too few
}

TEST(PlotCurve, ThinningKeepsTheExtremesOfEachColumn) {
  std::vector<Point> points;
  for (int i = 0; i < 1000; ++i)
    points.push_back({i / 100., i == 555 ? 9. : i == 556 ? -9. : double(i % 7)});
  std::vector<Point> kept = thinned(points);
  EXPECT_EQ(kept.size(), 20u);
  EXPECT_EQ(kept[10].y, 9);
  EXPECT_EQ(kept[11].y, -9);
  points[200].y = NAN; // a gap stays
  kept = thinned(points);
  EXPECT_TRUE(std::isnan(kept[4].y));
  EXPECT_EQ(pathData({{1, 2}, {3, 4.55}, {5, NAN}, {6, 7}}, false), "M1.0 2.0L3.0 4.5M6.0 7.0h0");
  EXPECT_EQ(pathData({{1, 2}, {3, 4}}, true), "M1.0 2.0H3.0V4.0");
}

TEST(PlotCurve, TextsAreXml) {
  EXPECT_EQ(escaped("a<b>&\"ü🙂"), "a&lt;b&gt;&amp;&quot;ü🙂");
  EXPECT_EQ(escaped("\x01z\xff\xc3("), std::string("?z?") + "?(");
  EXPECT_EQ(escaped("\xed\xa0\x80\xc0\xaf"), "?????"); // a surrogate, and a long form of '/'
}

TEST(PlotNames, AreWhatTellsPathsApart) {
  EXPECT_EQ(shortNames({"runs/a/run.jsonl"}), Texts{"run"});
  EXPECT_EQ(shortNames({"runs/o0/run.jsonl", "runs/o2/run.jsonl"}), (Texts{"o0", "o2"}));
  EXPECT_EQ(shortNames({"runs/o0-seed1.jsonl", "runs/o2-seed1.jsonl"}), (Texts{"o0-seed1", "o2-seed1"}));
  EXPECT_EQ(shortNames({"run.jsonl", "run.csv"}), (Texts{"run.jsonl", "run.csv"}));
  EXPECT_EQ(shortNames({"run.jsonl", "x/run.jsonl"}), (Texts{"run", "x/run"}));
  EXPECT_EQ(shortNames({"a/1/x.csv", "a/2/y.csv", "a/1/z.csv"}), (Texts{"1/x", "2/y", "1/z"}));
  EXPECT_EQ(shortNames({"/x/run.csv", "/x/run.csv"}), (Texts{"run.csv", "run.csv"}));
}

TEST_F(Plots, OneRunHasAPanelForEachQuantity) {
  std::string svg = svgOf({training("run.jsonl", 2, 40)});
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  EXPECT_EQ(count(svg, "<clipPath"), 3u);
  Texts texts = textsIn(svg);
  for (const char *text : {"training", "validation", "loss", "accuracy", "learning rate", "step"})
    EXPECT_TRUE(has(texts, text)) << text;
  EXPECT_FALSE(has(texts, "loss scale") || has(texts, "correct") || has(texts, "skipped step"));
  EXPECT_NE(svg.find("<title>run training: 0.05 at step 40, least 0.05, greatest 2</title>"), svg.npos);
  EXPECT_NE(svg.find("<title>run validation: 0.75 at step 40, least 0.75, greatest 0.75</title>"), svg.npos);
}

TEST_F(Plots, SeveralRunsHaveColoursAndALegend) {
  PlotOptions options;
  options.title = "a < b";
  options.width = 700;
  options.height = 500;
  std::string svg = svgOf({training("a/run.jsonl", 2, 400), training("b/run.jsonl", 3, 300)}, options);
  Texts texts = textsIn(svg);
  for (const char *text : {"a", "b", "a &lt; b", "loss (logarithmic)", "0.01"}) // the loss falls by a factor of 400
    EXPECT_TRUE(has(texts, text)) << text;
  EXPECT_NE(svg.find("width=\"700\" height=\"500\""), svg.npos);
  EXPECT_GT(count(svg, "#0072b2"), 3u);
  EXPECT_GT(count(svg, "#d55e00"), 3u);
  EXPECT_EQ(count(svg, "stroke-opacity=\"0.3\""), 2u); // all points of the two losses, thin
}

TEST_F(Plots, ALogarithmicAxisIsForPositiveLosses) {
  PlotOptions options;
  options.logLoss = true;
  EXPECT_TRUE(has(textsIn(svgOf({training("run.jsonl", 2, 4)}, options)), "loss (logarithmic)"));
  std::string negative =
      file("negative.jsonl", "{\"step\":1,\"loss\":5,\"lr\":1}\n{\"step\":2,\"loss\":-0.25,\"lr\":1}\n");
  EXPECT_EQ(
      errorOf([&] { svgOf({negative}, options); }).text(),
      "error: --log-loss: 'negative training' has the loss -0.25 at step 2, which a logarithmic axis cannot show\n"
      "hint: leave --log-loss out\n");
  EXPECT_TRUE(has(textsIn(svgOf({negative})), "loss"));
}

TEST_F(Plots, LostStepsAreMarkedAndScalesHavePowersOf2) {
  std::string text;
  for (int step = 1; step <= 20; ++step)
    print(text, "{\"step\":%d,\"loss\":%s,\"lr\":0.1,\"scale\":%d,\"skipped\":%s}\n", step,
          step == 7   ? "null"
          : step == 3 ? "50"
                      : "2",
          step < 7 ? 65536 : 32768, step == 3 || step == 7 ? "true" : "false");
  std::string svg = svgOf({file("run.jsonl", text)});
  Texts texts = textsIn(svg);
  for (const char *label : {"loss scale", "2¹⁵", "2¹⁶", "skipped step", "loss is not finite"})
    EXPECT_TRUE(has(texts, label)) << label;
  EXPECT_EQ(count(svg, "l6 6m0 -6l-6 6"), 2u);                                       // one step, and the legend
  EXPECT_NE(svg.find("run training: 2 at step 20, least 2, greatest 2<"), svg.npos); // without the skipped step's 50
  // The same as a table, where a loss that is not finite is an empty field.
  std::string table = "step,loss,lr,scale,skipped,val_samples,\"a \"\"note\"\"\"\n";
  for (int step = 1; step <= 20; ++step)
    print(table, "%d,%s,0.1,%d,%s,,\"x, y\"\n", step,
          step == 7   ? ""
          : step == 3 ? "50"
                      : "2",
          step < 7 ? 65536 : 32768, step == 3 || step == 7 ? "true" : "false");
  EXPECT_EQ(svgOf({file("run.csv", table)}), svg);
}

TEST_F(Plots, SeveralOptimizersAreSeveralCurves) {
  std::string text;
  for (int step = 1; step <= 5; ++step)
    print(text,
          "{\"step\":%d,\"loss\":1,\"lr\":0.1,\"steps\":{\"body\":{\"loss\":1,\"lr\":0.1},\"head\":{\"loss\":2,\"lr\":"
          "0.2}}}\n",
          step);
  std::string svg = svgOf({file("run.jsonl", text)});
  EXPECT_TRUE(has(textsIn(svg), "body") && has(textsIn(svg), "head"));
  EXPECT_NE(svg.find("<title>head training: 2 at step 5"), svg.npos);
  EXPECT_NE(svg.find("<title>head: 0.2 at step 5"), svg.npos);
}

TEST_F(Plots, LaterLinesReplaceThoseOfTheSameSteps) {
  std::string log =
      file("run.jsonl", "{\"step\":1,\"loss\":5,\"lr\":1}\n{\"step\":2,\"loss\":6,\"lr\":1}\n{\"note\":\"of others\"}\n"
                        "{\"step\":2,\"loss\":7,\"lr\":1}\n{\"step\":3,\"lo");
  std::vector<LogColumn> steps = readLog(log).steps;
  ASSERT_EQ(pointsOf(steps, "loss").size(), 2u);
  EXPECT_EQ(pointsOf(steps, "loss")[1].y, 7);
}

TEST_F(Plots, MistakesNameTheLine) {
  auto mistake = [&](const std::string &name, const std::string &text) {
    return errorOf([&] { svgOf({file(name, text)}); }).text();
  };
  std::string bad = mistake("bad.jsonl", "{\"step\":1,\"loss\":5,\"lr\":1}\nepoch 1  step 2/10  loss 3\n");
  EXPECT_NE(bad.find("bad.jsonl:2: is no JSON\nhint: give files that a training wrote with --log"), bad.npos) << bad;
  EXPECT_NE(mistake("array.jsonl", "[1]\n").find("array.jsonl:1: is no JSON object"), bad.npos);
  EXPECT_NE(mistake("a.csv", "a,b\n").find("a.csv:1: is no table of a training: its first column is not 'step'"),
            bad.npos);
  EXPECT_NE(mistake("b.csv", "step,loss\n1\n").find("b.csv:2: has 1 fields, but the first line names 2"), bad.npos);
  EXPECT_NE(mistake("c.csv", "step,loss\nx,1\n").find("c.csv:2: has the step 'x', which is no number"), bad.npos);
  EXPECT_NE(mistake("empty.jsonl", "").find("empty.jsonl: holds no step and no evaluation of a training"), bad.npos);
  EXPECT_NE(mistake("out.svg", "{\"step\":1,\"loss\":5,\"lr\":1}\n").find("out.svg: is read, so it cannot be written"),
            bad.npos);
  EXPECT_NE(errorOf([&] { svgOf({folder / "none.jsonl"}); }).text().find("none.jsonl: cannot open"), bad.npos);
}

TEST_F(Plots, LongRunsStaySmall) {
  std::string svg = svgOf({training("run.jsonl", 2, 20000)});
  EXPECT_LT(svg.size(), 300'000u);
  EXPECT_TRUE(has(textsIn(svg), "10k"));
}
