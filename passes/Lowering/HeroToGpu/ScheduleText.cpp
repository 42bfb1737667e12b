//===- ScheduleText.cpp - schedules and problems as text ---------------------------------------===//
#include "passes/Lowering/HeroToGpu/ScheduleText.h"
#include "dialects/Graph/IR/Shapes.h"
#include "passes/Lowering/HeroToGpu/Box.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;
using namespace mpc::graph;

//===-- Schedules ------------------------------------------------------------------------------===//

namespace {
/// A number of a schedule behind its tile. A field in which schedules of one problem differ has a row here.
struct Field {
  llvm::StringLiteral name;
  int64_t (*get)(const Schedule &);
  int64_t standard; ///< is not printed
};
constexpr Field fields[] = {
    {"stages", [](const Schedule &s) -> int64_t { return s.tile.stages; }, 0},
    {"pingpong", [](const Schedule &s) -> int64_t { return s.tile.pingPong; }, 0},
    {"splits", [](const Schedule &s) { return s.splits; }, 1},
    {"cluster_m", [](const Schedule &s) -> int64_t { return s.clusterAxis == Axis::M ? s.cluster : 1; }, 1},
    {"cluster_n", [](const Schedule &s) -> int64_t { return s.clusterAxis == Axis::N ? s.cluster : 1; }, 1},
};
} // namespace

static std::string joined(ArrayRef<int64_t> numbers) {
  return llvm::join(llvm::map_range(numbers, [](int64_t n) { return std::to_string(n); }), "x");
}

/// "3x28x28" as positive numbers; nullopt for anything else.
static std::optional<Digits> parseDigits(StringRef text, bool zeros) {
  Digits digits;
  SmallVector<StringRef> parts;
  text.split(parts, 'x');
  for (StringRef part : parts) {
    int64_t value = 0;
    if (part.getAsInteger(10, value) || value < (zeros ? 0 : 1))
      return std::nullopt;
    digits.push_back(value);
  }
  return digits;
}

std::string mpc::hero::textOf(const Schedule &schedule) {
  const Tile &tile = schedule.tile;
  std::string text = (nameOf(tile.mainloop) + " " + joined({tile.m, tile.n, tile.k})).str();
  for (const Field &field : fields)
    if (int64_t value = field.get(schedule); value != field.standard)
      text += (" " + field.name + "=" + Twine(value)).str();
  return text;
}

const Schedule *mpc::hero::findSchedule(StringRef text, ArrayRef<Schedule> candidates) {
  auto *found = llvm::find_if(candidates, [&](const Schedule &schedule) { return textOf(schedule) == text; });
  return found == candidates.end() ? nullptr : found;
}

bool mpc::hero::isScheduleText(StringRef text) {
  SmallVector<StringRef> words;
  text.split(words, ' ');
  if (words.size() < 2)
    return false;
  bool known = llvm::any_of(allMainloops, [&](Mainloop mainloop) { return nameOf(mainloop) == words[0]; });
  std::optional<Digits> tile = parseDigits(words[1], /*zeros=*/false);
  // Fields need not be ours: a file may have been written by a version with others.
  return known && tile && tile->size() == 3 &&
         llvm::all_of(ArrayRef(words).drop_front(2), [](StringRef word) {
           auto [name, value] = word.split('=');
           return !name.empty() && parseDigits(value, /*zeros=*/true);
         });
}

//===-- Problems -------------------------------------------------------------------------------===//

static constexpr llvm::StringLiteral kinds[] = {"matmul", "conv", "conv_input_grad", "conv_weight_grad"};

std::string ProblemKey::text() const {
  std::string text = kind + " " + element + " " + layout;
  for (const auto &[name, digits] : extents)
    text += " " + name + "=" + joined(digits);
  return text + " a=" + feedA + " b=" + feedB;
}

std::optional<ProblemKey> ProblemKey::parse(StringRef text) {
  SmallVector<StringRef> words;
  text.split(words, ' ');
  if (words.size() < 6 || !llvm::is_contained(kinds, words[0]) ||
      !words[words.size() - 2].consume_front("a=") || !words.back().consume_front("b=") ||
      llvm::is_contained(words, ""))
    return std::nullopt;
  ProblemKey key{words[0].str(),    words[1].str(), words[2].str(), {}, words[words.size() - 2].str(),
                 words.back().str()};
  for (StringRef word : ArrayRef(words).drop_front(3).drop_back(2)) {
    auto [name, value] = word.split('=');
    std::optional<Digits> digits = parseDigits(value, /*zeros=*/true);
    if (name.empty() || !digits)
      return std::nullopt;
    key.extents.push_back({name.str(), *digits});
  }
  return key;
}

static std::string feedOf(const Operand &operand) {
  std::optional<Box> box =
      boxOf(operand, /*tileOuter=*/128, 1024 / elementOf(operand.tensor).getIntOrFloatBitWidth());
  return !box ? "gather" + std::to_string(operand.vector) : box->pixels ? "im2col" : "tiled";
}

static void describe(MatMulOp op, const Problem &p, ProblemKey &key) {
  key.layout = std::string(op.getTransposeA() ? "t" : "n") + (op.getTransposeB() ? "t" : "n");
  key.extents = {{"m", p.a.digits[unsigned(Axis::M)]},
                 {"n", p.b.digits[unsigned(Axis::N)]},
                 {"k", p.a.digits[unsigned(Axis::K)]},
                 {"z", {p.z()}}};
  ArrayRef<int64_t> a = shapeOf(op.getA()).drop_back(2), b = shapeOf(op.getB()).drop_back(2);
  if (p.z() > 1 && a != b) {
    key.extents.push_back({"batch_a", Digits(a)});
    key.extents.push_back({"batch_b", Digits(b)});
  }
}

template <typename OpT>
static void describe(OpT op, Value x, Value w, Value y, ProblemKey &key) {
  key.layout = op.getLayout() == Layout::ChannelsLast ? "nhwc," : "nchw,";
  key.layout += op->hasAttr("weight_channels_last") ? "ohwi" : "oihw";
  key.extents = {{"x", Digits(shapeOf(x))},
                 {"w", Digits(shapeOf(w))},
                 {"y", Digits(shapeOf(y))},
                 {"strides", Digits(op.getStrides())},
                 {"dilations", Digits(op.getDilations())},
                 {"pads", Digits(op.getPadLow())},
                 {"groups", {int64_t(op.getGroups())}}};
}

ProblemKey mpc::hero::keyOf(const Problem &problem) {
  ProblemKey key;
  key.kind = problem.hero->getName().stripDialect().str();
  llvm::raw_string_ostream element(key.element);
  if (Type a = elementOf(problem.a.tensor), b = elementOf(problem.b.tensor); isFloat8(a))
    element << a << ',' << b << ',';
  element << problem.element();
  llvm::TypeSwitch<Operation *>(problem.hero)
      .Case([&](MatMulOp op) { describe(op, problem, key); })
      .Case([&](ConvOp op) { describe(op, op.getX(), op.getW(), op.getY(), key); })
      .Case([&](ConvInputGradOp op) { describe(op, op.getDx(), op.getW(), op.getDy(), key); })
      .Case([&](ConvWeightGradOp op) { describe(op, op.getX(), op.getDw(), op.getDy(), key); });
  key.feedA = feedOf(problem.a);
  key.feedB = feedOf(problem.b);
  return key;
}
