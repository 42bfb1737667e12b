// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schedules and problems as text, the choice of schedules by measurement, and what the model expects of them.
#include "passes/Lowering/Schedule/Tuning.h"
#include "HeroHarness.h"
#include "dialects/Graph/IR/Shapes.h"
#include "passes/Lowering/Schedule/ProblemKey.h"
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::hero;
using namespace mpc::test;

namespace {

const GpuArch &hopper() { return *findGpuArch("sm_90a"); }

struct Described {
  explicit Described(const HeroCase &c)
      : context(makeContext()), module(parseCase(context.get(), c)), dispatch(dispatchOf(*module)),
        problem(*describeHero(dispatch)) {}
  std::string key() const { return keyOf(problem).text(); }
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  kernel::DispatchOp dispatch;
  Problem problem;
};

HeroCase square(ConvKind kind, const char *type, int64_t channels, int64_t stride) {
  return convCase(kind, type,
                  {.in = {28, 28},
                   .kernel = {3, 3},
                   .strides = {stride, stride},
                   .dilations = {1, 1},
                   .padLow = {1, 1},
                   .padHigh = {1, 1},
                   .batch = 2,
                   .channels = channels,
                   .outChannels = 64,
                   .weightChannelsLast = true});
}

std::vector<HeroCase> cases() {
  return {matmulCase("f16", 4096, 4096, 4096),
          matmulCase("bf16", 768, 3072, 8192, true, false),
          matmulCase("f16", 200, 100, 50),
          matmulCase("f32", 512, 256, 1024, false, true),
          matmulCase("f64", 64, 64, 64),
          float8Case("f8E4M3FN", "f8E5M2", "bf16", 512, 384, 1024),
          square(ConvKind::Forward, "f16", 64, 1),
          square(ConvKind::InputGrad, "bf16", 64, 2),
          square(ConvKind::WeightGrad, "f16", 72, 1)};
}

TEST(HeroText, SchedulesOfAProblemDifferInTheirTexts) {
  for (const HeroCase &c : cases())
    for (const GpuArch &arch : gpuArchs()) {
      Described d(c);
      auto schedules = schedulesFor(d.problem, arch);
      EXPECT_EQ(schedules.empty(), graph::isFloat8(graph::elementOf(d.problem.a.tensor)) && !arch.hasFloat8Products);
      for (const Schedule &schedule : schedules) {
        std::string text = schedule.contraction().text();
        EXPECT_TRUE(kernel::Contraction::hasForm(text)) << text;
        EXPECT_EQ(kernel::Contraction::parse(text), schedule.contraction()) << text;
        EXPECT_EQ(findSchedule(schedule.contraction(), schedules), &schedule)
            << c.name << " " << arch.name.str() << ": " << text;
      }
    }
  for (const char *text : {"", "wgmma", "wgmma 128x256", "wgmma 128x256x64x1", "wgmma 0x256x64", "wgma 128x256x64",
                           "wgmma 128x256x64 stages", "wgmma 128x256x64  stages=4", "wgmma 128x256x64 =4"})
    EXPECT_FALSE(kernel::Contraction::hasForm(text)) << text;
  EXPECT_TRUE(kernel::Contraction::hasForm("wgmma 128x256x64 stages=4 colour=7"));
  EXPECT_FALSE(kernel::Contraction::parse("wgmma 128x256x64 stages=4 colour=7"));
}

TEST(HeroText, KeysTellProblemsApart) {
  std::set<std::string> texts;
  for (const HeroCase &c : cases()) {
    Described d(c);
    std::string text = d.key();
    EXPECT_TRUE(texts.insert(text).second) << text;
    auto parsed = ProblemKey::parse(text, d.context.get());
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(*parsed, keyOf(d.problem));
    EXPECT_EQ(parsed->text(), text);
  }
  EXPECT_EQ(Described(matmulCase("bf16", 768, 3072, 8192, true, false)).key(),
            "matmul bf16 tn m=768 n=3072 k=8192 z=1 a=tiled b=tiled");
  EXPECT_EQ(Described(float8Case("f8E4M3FN", "f8E5M2", "bf16", 512, 384, 1024)).key(),
            "matmul f8E4M3FN,f8E5M2,bf16 nt m=512 n=384 k=1024 z=1 a=tiled b=tiled");
  EXPECT_EQ(Described(square(ConvKind::WeightGrad, "f16", 72, 1)).key(),
            "conv_weight_grad f16 nhwc,ohwi x=2x28x28x72 w=64x3x3x72 y=2x28x28x64 strides=1x1 dilations=1x1 "
            "pads=1x1 groups=1 a=tiled b=gather8");
  // Batches that share one matrix make one product, unless no single stride walks through them in memory.
  EXPECT_EQ(Described(matmulCase("f16", 8, 16, 32, false, false, "2x3x", "")).key(),
            Described(matmulCase("f16", 48, 16, 32)).key());
  EXPECT_NE(Described(matmulCase("f16", 8, 16, 32, true, false, "6x", "")).key(),
            Described(matmulCase("f16", 48, 16, 32, true, false)).key());
  EXPECT_NE(Described(matmulCase("f16", 8, 16, 32, false, false, "2x3x", "3x")).key(),
            Described(matmulCase("f16", 8, 16, 32, false, false, "2x3x", "2x3x")).key());
  Described any(matmulCase("f16", 8, 16, 32));
  for (const char *text :
       {"", "matmul f16 nt", "product f16 nt m=1 n=1 k=1 a=tiled b=tiled", "relu f16 nt m=1 n=1 k=1 a=tiled b=tiled",
        "matmul f16 nt m=1 n=x k=1 a=tiled b=tiled", "matmul f16 nt m=1 n=1 k=1 b=tiled a=tiled"})
    EXPECT_FALSE(ProblemKey::parse(text, any.context.get())) << text;
}

// A product whose columns are summed is never split along k, so what was measured of it without the sums does
// not hold for it.
TEST(HeroText, ColumnSumsArePartOfTheKey) {
  Described plain(matmulCase("f16", 64, 64, 4096)), summed(withColumnSums(matmulCase("f16", 64, 64, 4096)));
  EXPECT_EQ(plain.key(), "matmul f16 nn m=64 n=64 k=4096 z=1 a=tiled b=tiled");
  EXPECT_EQ(summed.key(), "matmul f16 nn m=64 n=64 k=4096 z=1 column_sums=3 a=tiled b=tiled");
  auto parsed = ProblemKey::parse(summed.key(), summed.context.get());
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, keyOf(summed.problem));
  Tuning tuning{"t.json", "a GPU", "sm_90a", {}};
  for (const Schedule &schedule : schedulesFor(plain.problem, hopper()))
    tuning.problems[plain.key()].push_back({schedule.contraction().text(), schedule.splits > 1 ? 1.0 : 2.0});
  mlir::ScopedDiagnosticHandler silent(summed.context.get(), [](mlir::Diagnostic &) { return mlir::success(); });
  EXPECT_TRUE(succeeded(assignSchedules(*summed.module, hopper(), &tuning)));
  EXPECT_FALSE(planOf(summed.dispatch, hopper(), &tuning).measured);
}

TEST(HeroTuning, TheFastestThatIsStillKnownWins) {
  Described d(matmulCase("f16", 1024, 1024, 4096));
  auto schedules = schedulesFor(d.problem, hopper());
  std::string slow = schedules.front().contraction().text(), fast = schedules.back().contraction().text();
  Tuning tuning{"t.json", "a GPU", "sm_90a", {}};
  tuning.problems[d.key()] = {{"wgmma 512x512x64 stages=9", 1}, {fast, 2}, {slow, 3}};
  int warnings = 0;
  mlir::ScopedDiagnosticHandler handler(d.context.get(), [&](mlir::Diagnostic &diagnostic) {
    EXPECT_EQ(diagnostic.getSeverity(), mlir::DiagnosticSeverity::Warning);
    EXPECT_NE(diagnostic.str().find("1 measured schedules are not known any more"), std::string::npos);
    ++warnings;
    return mlir::success();
  });
  EXPECT_TRUE(succeeded(assignSchedules(*d.module, hopper(), &tuning)));
  EXPECT_EQ(warnings, 1);
  EXPECT_EQ(d.dispatch.getScheduleAttr().getSchedule().text(), fast);
  // Emission and the memory plan use the same schedule.
  EXPECT_EQ(scheduleOf(d.problem, hopper())->contraction().text(), fast);
  int64_t scratch = scratchBytes(d.problem, schedules.back());
  EXPECT_GT(scratch, 0);
  EXPECT_EQ(d.dispatch->getAttrOfType<mlir::IntegerAttr>("scratch_bytes").getInt(), scratch);
  EXPECT_TRUE(planOf(d.dispatch, hopper(), &tuning).measured);
}

TEST(HeroTuning, UnknownProblemsGetTheLeastEstimate) {
  Described d(matmulCase("f16", 1024, 1024, 4096)), plain(matmulCase("f16", 1024, 1024, 4096));
  Tuning tuning{"t.json", "a GPU", "sm_90a", {}};
  tuning.problems["matmul f16 nn m=1 n=1 k=1 z=1 a=tiled b=tiled"] = {{"wgmma 64x64x64 stages=6", 1}};
  EXPECT_TRUE(succeeded(assignSchedules(*d.module, hopper(), &tuning)));
  EXPECT_EQ(d.dispatch.getScheduleAttr().getSchedule(), fastestSchedule(plain.problem, hopper()).contraction());
  EXPECT_FALSE(planOf(d.dispatch, hopper(), &tuning).measured);
  // A schedule that the problem does not have is an error; it is not replaced by another one.
  plain.dispatch.setScheduleAttr(
      kernel::ContractionAttr::get(plain.context.get(), *kernel::Contraction::parse("simt 1x1x1")));
  std::string message;
  mlir::ScopedDiagnosticHandler handler(plain.context.get(), [&](mlir::Diagnostic &diagnostic) {
    message += diagnostic.str();
    return mlir::success();
  });
  EXPECT_TRUE(failed(assignSchedules(*plain.module, hopper(), nullptr)));
  EXPECT_NE(message.find("'simt 1x1x1' is no schedule of this problem on sm_90a"), std::string::npos) << message;
}

TEST(HeroModel, NothingIsFasterThanTheRoofline) {
  for (const HeroCase &c : cases())
    for (const GpuArch &arch : gpuArchs()) {
      Described d(c);
      Roofline roofline = rooflineOf(d.problem, arch);
      for (const Schedule &schedule : schedulesFor(d.problem, arch)) {
        Estimate e = estimate(d.problem, schedule, arch);
        EXPECT_GT(e.seconds(arch), roofline.seconds())
            << c.name << " " << arch.name.str() << " " << schedule.contraction().text();
        EXPECT_GE(e.globalBytes, roofline.bytes);
        EXPECT_EQ(e.sums > 0, schedule.splits > 1);
      }
    }
}

TEST(HeroModel, CountsTilesWavesAndBytes) {
  Described d(matmulCase("f16", 4096, 4096, 4096));
  Roofline roofline = rooflineOf(d.problem, hopper());
  EXPECT_FALSE(roofline.memoryBound());
  EXPECT_NEAR(roofline.flops / roofline.seconds() * 1e-12, 989.4, 0.5); // the H100 SXM's data sheet says 989.4
  EXPECT_EQ(roofline.bytes, 3 * 2 * 4096.0 * 4096);
  for (const Schedule &schedule : schedulesFor(d.problem, hopper())) {
    Estimate e = estimate(d.problem, schedule, hopper());
    int64_t tilesM = (4096 + schedule.spanM() - 1) / schedule.spanM() * schedule.spanM() / schedule.tile.m,
            tilesN = (4096 + schedule.spanN() - 1) / schedule.spanN() * schedule.spanN() / schedule.tile.n;
    EXPECT_EQ(e.tiles, tilesM * tilesN * schedule.splits);
    EXPECT_DOUBLE_EQ(e.waves, double(e.tiles) / 132);
  }
  EXPECT_TRUE(rooflineOf(Described(matmulCase("f16", 8192, 64, 64)).problem, hopper()).memoryBound());
}

} // namespace
