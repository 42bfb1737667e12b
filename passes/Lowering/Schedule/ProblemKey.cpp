//===- ProblemKey.cpp - what tells the problems of heroes apart, as text -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/Schedule/ProblemKey.h"
#include "dialects/Graph/IR/Shapes.h"
#include "passes/Lowering/Schedule/Feed.h"
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

/// Whether the graph dialect has a contraction of this name.
static bool isContraction(StringRef kind, MLIRContext *context) {
  auto name = RegisteredOperationName::lookup((GraphDialect::getDialectNamespace() + "." + kind).str(), context);
  return name && name->hasInterface<ContractionOpInterface>();
}

std::string ProblemKey::text() const {
  std::string text = kind + " " + element + " " + layout;
  for (const auto &[name, digits] : extents)
    text += " " + name + "=" + joined(digits);
  return text + " a=" + feedA + " b=" + feedB;
}

std::optional<ProblemKey> ProblemKey::parse(StringRef text, MLIRContext *context) {
  SmallVector<StringRef> words;
  text.split(words, ' ');
  if (words.size() < 6 || !isContraction(words[0], context) || !words[words.size() - 2].consume_front("a=") ||
      !words.back().consume_front("b=") || llvm::is_contained(words, ""))
    return std::nullopt;
  ProblemKey key{words[0].str(), words[1].str(), words[2].str(), {}, words[words.size() - 2].str(), words.back().str()};
  for (StringRef word : ArrayRef(words).drop_front(3).drop_back(2)) {
    auto [name, value] = word.split('=');
    std::optional<Digits> digits = parseDigits(value);
    if (name.empty() || !digits)
      return std::nullopt;
    key.extents.push_back({name.str(), *digits});
  }
  return key;
}

/// "n" where the rows or columns of an operand follow each other along `inner`, else "t".
static const char *orderOf(const MatrixProduct::Coordinates &at, Axis inner) {
  return llvm::any_of(at.back().terms, [&](const Term &term) { return term.axis == inner; }) ? "n" : "t";
}

/// The extents of the dimensions of an operand that only tell matrices apart.
static Digits batchOf(const MatrixProduct::Coordinates &at) {
  Digits batch;
  for (const MatrixProduct::Coordinate &c : at)
    if (llvm::all_of(c.terms, [](const Term &term) { return term.axis == Axis::Z; }))
      batch.push_back(c.extent);
  return batch;
}

static void describe(const MatrixProduct &product, const Problem &p, ProblemKey &key) {
  key.layout = std::string(orderOf(product.atA, Axis::K)) + orderOf(product.atB, Axis::N);
  key.extents = {{"m", p.a.digits[unsigned(Axis::M)]},
                 {"n", p.b.digits[unsigned(Axis::N)]},
                 {"k", p.a.digits[unsigned(Axis::K)]},
                 {"z", {p.z()}}};
  Digits a = batchOf(product.atA), b = batchOf(product.atB);
  if (p.z() > 1 && a != b) {
    key.extents.push_back({"batch_a", a});
    key.extents.push_back({"batch_b", b});
  }
}

static void describe(ConvolutionOpInterface op, ProblemKey &key) {
  key.layout = op.getLayout() == Layout::ChannelsLast ? "nhwc," : "nchw,";
  key.layout += op.getWeightChannelsLast() ? "ohwi" : "oihw";
  key.extents = {{"x", Digits(shapeOf(op.getInput()))},    {"w", Digits(shapeOf(op.getWeight()))},
                 {"y", Digits(shapeOf(op.getOutput()))},   {"strides", Digits(op.getStrides())},
                 {"dilations", Digits(op.getDilations())}, {"pads", Digits(op.getPadLow())},
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
    describe(cast<ContractionOpInterface>(problem.hero).getProduct(), problem, key);
  if (!problem.columnSums.empty())
    key.extents.push_back({"column_sums", {int64_t(problem.columnSums.size())}});
  key.feedA = feedOf(problem.a);
  key.feedB = feedOf(problem.b);
  return key;
}
