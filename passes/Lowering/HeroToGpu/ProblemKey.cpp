//===- ProblemKey.cpp - what tells the problems of heroes apart, as text -------------------------===//
#include "passes/Lowering/HeroToGpu/ProblemKey.h"
#include "dialects/Graph/IR/Shapes.h"
#include "passes/Lowering/HeroToGpu/Box.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;
using namespace mpc::graph;

static std::string joined(ArrayRef<int64_t> numbers) {
  return llvm::join(llvm::map_range(numbers, [](int64_t n) { return std::to_string(n); }), "x");
}

/// "3x28x28" as numbers; nullopt for anything else.
static std::optional<Digits> parseDigits(StringRef text) {
  Digits digits;
  SmallVector<StringRef> parts;
  text.split(parts, 'x');
  for (StringRef part : parts) {
    int64_t value = 0;
    if (part.getAsInteger(10, value) || value < 0)
      return std::nullopt;
    digits.push_back(value);
  }
  return digits;
}

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
    std::optional<Digits> digits = parseDigits(value);
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

static void describe(ConvolutionOpInterface op, ProblemKey &key) {
  key.layout = op.getLayout() == Layout::ChannelsLast ? "nhwc," : "nchw,";
  key.layout += op.getWeightChannelsLast() ? "ohwi" : "oihw";
  key.extents = {{"x", Digits(shapeOf(op.getInput()))},
                 {"w", Digits(shapeOf(op.getWeight()))},
                 {"y", Digits(shapeOf(op.getOutput()))},
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
  if (auto convolution = dyn_cast<ConvolutionOpInterface>(problem.hero))
    describe(convolution, key);
  else
    describe(cast<MatMulOp>(problem.hero), problem, key);
  key.feedA = feedOf(problem.a);
  key.feedB = feedOf(problem.b);
  return key;
}
