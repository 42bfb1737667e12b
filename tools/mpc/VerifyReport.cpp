// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpc/VerifyReport.h"
#include "runtime/support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;

namespace mpc::tool {

//===-- Bounds ------------------------------------------------------------------------------===//

// float32: a step sums some thousand numbers, whose rounding is 6e-8 each. fp16 and bf16: n independent roundings make
// an error of sqrt(n) units. A score has gone through some 16 of them (a rounded operand and a result in each of some
// eight layers), a gradient through four times as many; without PyTorch's own error, which shows how much a network
// amplifies them, an amplification by 8 is allowed for. A small gradient has an error of a fraction of a unit of the
// others: a sixth, which for float32 is 1e-8. A gradient that is zero (a bias before a batch norm, of attention's keys)
// sums thousands of such errors, which another order of the sums makes another number: 64 units. In 16 bits the
// reference has that error.
static constexpr double kSingle = 0x1p-24, kHalf = 0x1p-11, kBfloat = 0x1p-8;
static constexpr Tolerance kTolerances[] = {
    {"fp32", nullptr, 1e-5, 1e-4, 1e-4, 1e-8, 64 * kSingle},
    {"fp16", "float16", 4 * kHalf, 8 * kHalf, 64 * kHalf, kHalf / 6, kHalf / 6},
    {"bf16", "bfloat16", 4 * kBfloat, 8 * kBfloat, 64 * kBfloat, kBfloat / 6, kBfloat / 6},
};
/// A smaller gradient, relative to all of them, is zero in float64: 1e-16 for each of a million terms. One that is
/// exactly zero is none: PyTorch has not computed it.
static constexpr double kIsZero = 1e-10;
/// A larger bound hardly tells a right gradient from a wrong one.
static constexpr double kSaysLittle = 0.5;

/// How many times PyTorch's own error a gradient of n elements may be off. That error is one draw of n numbers: two
/// draws of a few numbers differ more than two of many (the ratio of two normal numbers exceeds 15 in 4 of 100 cases).
static double timesTorch(int64_t elements) {
  return kOfTorch * (1 + 4 / std::sqrt(double(std::max<int64_t>(elements, 1))));
}

const Tolerance &toleranceOf(StringRef precision) {
  return *llvm::find_if(kTolerances, [&](const Tolerance &each) { return precision == each.precision; });
}

std::string describeTolerances() {
  std::string fixed;
  for (const Tolerance &each : kTolerances)
    fixed +=
        llvm::formatv("{0} {1} {2:e1} and {3:e1}", fixed.empty() ? "" : ",", each.precision, each.loss, each.gradient)
            .str();
  return "Errors are relative to PyTorch's numbers in float64: |difference| / |gradient|, with the Euclidean norm. The "
         "bound is the larger of a fixed one and 3 times the error that PyTorch itself makes, if the reference has it, "
         "in the module's own type, or where all weights and inputs are off by 2e-6, and for fp16 and bf16 in "
         "torch.autocast (for a gradient of n elements 3 + "
         "12/sqrt(n) times, since one run says little of a few numbers). The fixed bounds of loss and gradients:" +
         fixed +
         "; for fp16 and bf16 these are 4 and 8 roundings (2^-11 and 2^-8), and 64 for a gradient where the reference "
         "does not have autocast's error. A gradient below 1e-4 of all gradients' norm (fp16, bf16: 2e-2) is measured "
         "by that, and in fp32 one that is zero but for rounding by 4e-2, so that 64 roundings are allowed. A running "
         "mean is "
         "measured by the standard deviation.";
}

//===-- Comparison --------------------------------------------------------------------------===//

namespace {
double normOf(ArrayRef<double> values) {
  double sum = 0;
  for (double v : values)
    sum += v * v;
  return std::sqrt(sum);
}
double distance(ArrayRef<double> a, ArrayRef<double> b) {
  double sum = 0;
  for (auto [x, y] : llvm::zip_equal(a, b))
    sum += (x - y) * (x - y);
  return std::sqrt(sum);
}
std::vector<double> doubles(const rt::Tensor &tensor) {
  std::vector<double> values(size_t(tensor.elements()));
  rt::convert(tensor.dtype, tensor.bytes.data(), MPC_F64, values.data(), values.size());
  return values;
}

class Comparison {
public:
  Comparison(const StepNumbers &numbers, const Reference &reference, const ImportReport &imported,
             const std::map<std::string, std::string> &variances, const Tolerance &tolerance)
      : numbers(numbers), reference(reference), imported(imported), variances(variances), tolerance(tolerance) {}

  std::vector<VerifyRow> run() {
    addLoss(VerifyRow::Kind::Loss, "loss", numbers.loss);
    addGradients();
    for (const std::string &name : reference.names("buffer"))
      addBuffer(name);
    if (numbers.secondLoss)
      addLoss(VerifyRow::Kind::SecondLoss, "loss/2", *numbers.secondLoss);
    // Only what `predict` returns can be compared: it has no losses and other numbers of a whole batch.
    for (const auto &[name, tensor] : numbers.evaluated)
      addEvaluation(name, tensor);
    return std::move(rows);
  }

private:
  VerifyRow &add(VerifyRow::Kind kind, const std::string &name) {
    rows.emplace_back().kind = kind;
    rows.back().name = name;
    return rows.back();
  }
  static void judge(VerifyRow &row, double error, double bound) {
    row.error = error;
    row.bound = bound;
    row.ok = std::isfinite(error) && error <= bound;
    if (!std::isfinite(error))
      row.note = "not finite here";
  }
  static void differ(VerifyRow &row, VerifyRow::Cause cause, const Twine &note) {
    row.cause = cause;
    row.note = note.str();
  }

  void addLoss(VerifyRow::Kind kind, const std::string &name, double loss);
  void addGradients();
  std::vector<std::string> namesInOrder() const;
  void addMissing(VerifyRow &row, double norm);
  void addBuffer(const std::string &name);
  void addEvaluation(const std::string &name, const rt::Tensor &ours);

  /// The same of one gradient, in absolute numbers.
  struct Gradient {
    VerifyRow row;
    int64_t elements = 0;
    double norm = 0, difference = 0;
    double own = 0;                 ///< of PyTorch in the module's precision, or where its inputs are slightly off
    std::optional<double> autocast; ///< of torch.autocast
  };
  std::optional<Gradient> gradientOf(const std::string &name, double &norm);

  const StepNumbers &numbers;
  const Reference &reference;
  const ImportReport &imported;
  const std::map<std::string, std::string> &variances;
  const Tolerance &tolerance;
  std::vector<VerifyRow> rows;
};
} // namespace

void Comparison::addLoss(VerifyRow::Kind kind, const std::string &name, double loss) {
  const double truth = reference.number(name), scale = std::max(std::fabs(truth), 1e-30);
  // PyTorch's own error in the first loss stands for that in the second one, too.
  const double first = reference.number("loss");
  double torch = 0;
  if (std::optional<double> own = reference.numberIfAny("own/loss"))
    torch = std::fabs(*own - first) / std::max(std::fabs(first), 1e-30);
  torch = std::max(torch, reference.numberIfAny("rounding/loss").value_or(0) / std::max(std::fabs(first), 1e-30));
  if (tolerance.numpy)
    torch = std::max(torch, reference.numberIfAny(rt::concat("error/", tolerance.numpy, "/loss")).value_or(0));
  VerifyRow &row = add(kind, name);
  judge(row, std::fabs(loss - truth) / scale, std::max(tolerance.loss, kOfTorch * torch));
  row.note = llvm::formatv("{0:e6} (PyTorch: {1:e6})", loss, truth).str();
}

void Comparison::addMissing(VerifyRow &row, double norm) {
  auto tensor = llvm::find_if(imported.tensors, [&](const TensorVerdict &each) { return each.name == row.name; });
  if (norm == 0) {
    row.ok = true;
    row.note = "no gradient on either side";
  } else if (tensor == imported.tensors.end()) {
    differ(row, VerifyRow::Cause::Absent, "the file has no tensor of this name");
  } else if (tensor->role == "parameter") {
    differ(row, VerifyRow::Cause::NotTrained, "the loss does not depend on it here");
  } else {
    differ(row, VerifyRow::Cause::NotTrained, "not trained here: " + tensor->why);
  }
}

/// Returns the numbers of a gradient that both sides have; `norm` is set in any case.
std::optional<Comparison::Gradient> Comparison::gradientOf(const std::string &name, double &norm) {
  const std::string array = "grad/" + name;
  const rt::Shape shape = reference.shapeOf(array);
  const std::vector<double> truth = reference.values(array, shape);
  norm = normOf(truth);
  auto ours = numbers.gradients.find(name);
  if (ours == numbers.gradients.end() || ours->second.shape != shape)
    return std::nullopt;
  Gradient gradient;
  gradient.elements = int64_t(truth.size());
  gradient.norm = norm;
  gradient.difference = distance(doubles(ours->second), truth);
  if (reference.has("own/" + array))
    if (double own = distance(reference.values("own/" + array, shape), truth); std::isfinite(own))
      gradient.own = own;
  gradient.own = std::max(gradient.own, reference.numberIfAny("rounding/" + array).value_or(0));
  if (tolerance.numpy)
    if (std::optional<double> error = reference.numberIfAny(rt::concat("error/", tolerance.numpy, "/", name));
        error && std::isfinite(*error))
      gradient.autocast = *error * norm;
  return gradient;
}

/// The names of the reference's gradients, in the order of the file.
std::vector<std::string> Comparison::namesInOrder() const {
  std::map<std::string, size_t> position;
  for (auto [i, tensor] : llvm::enumerate(imported.tensors))
    position.emplace(tensor.name, i);
  std::vector<std::string> names = reference.names("grad");
  llvm::stable_sort(names, [&](const std::string &a, const std::string &b) {
    auto of = [&](const std::string &name) {
      auto found = position.find(name);
      return found == position.end() ? position.size() : found->second;
    };
    return of(a) < of(b);
  });
  return names;
}

/// Returns whether a tensor has the shape of the reference's, and says so in the row if not.
static bool checkShape(VerifyRow &row, const rt::Shape &ours, const rt::Shape &torch) {
  if (ours == torch)
    return true;
  row.cause = VerifyRow::Cause::Shape;
  row.note = "has the shape " + rt::toString(ours) + " here and " + rt::toString(torch) + " in PyTorch";
  return false;
}

void Comparison::addGradients() {
  std::vector<std::pair<size_t, Gradient>> both; // with the rows' indices
  double squares = 0;
  for (const std::string &name : namesInOrder()) {
    double norm = 0;
    std::optional<Gradient> gradient = gradientOf(name, norm);
    squares += norm * norm;
    VerifyRow &row = add(VerifyRow::Kind::Gradient, name);
    if (gradient)
      both.emplace_back(rows.size() - 1, std::move(*gradient));
    else if (auto ours = numbers.gradients.find(name); ours != numbers.gradients.end())
      (void)checkShape(row, ours->second.shape, reference.shapeOf("grad/" + name));
    else
      addMissing(row, norm);
  }
  const double all = std::sqrt(squares);
  for (auto &[index, gradient] : both) {
    const double fixed = tolerance.numpy && !gradient.autocast ? tolerance.unknownGradient : tolerance.gradient;
    const bool isZero = gradient.norm > 0 && gradient.norm < kIsZero * all;
    const double zero = isZero ? tolerance.onlyZero : tolerance.zero;
    const double norm = std::max({gradient.norm, all * zero / tolerance.gradient, 1e-30});
    const double torch = std::max(gradient.own, gradient.autocast.value_or(0)) / norm;
    judge(rows[index], gradient.difference / norm, std::max(fixed, timesTorch(gradient.elements) * torch));
    rows[index].saysLittle =
        rows[index].ok && !isZero && *rows[index].bound * norm > kSaysLittle * gradient.norm && gradient.norm > 0;
    if (!rows[index].ok && gradient.norm == 0)
      rows[index].note = "no gradient in PyTorch";
    if (rows[index].saysLittle)
      rows[index].note = *rows[index].bound > kSaysLittle
                             ? "says little: PyTorch itself is that far from float64"
                             : "says little: too small beside the other gradients to be judged in this precision";
  }
  for (const auto &[name, tensor] : numbers.gradients) {
    if (reference.has("grad/" + name))
      continue;
    VerifyRow &row = add(VerifyRow::Kind::Gradient, name);
    row.ok = normOf(doubles(tensor)) == 0;
    if (row.ok)
      row.note = "no gradient on either side";
    else
      differ(row, VerifyRow::Cause::OnlyTrainedHere, "trained here, and not in PyTorch");
  }
}

void Comparison::addBuffer(const std::string &name) {
  VerifyRow &row = add(VerifyRow::Kind::Buffer, name);
  const rt::Shape shape = reference.shapeOf("buffer/" + name);
  const std::vector<double> truth = reference.values("buffer/" + name, shape);
  auto ours = numbers.buffers.find(name);
  if (ours == numbers.buffers.end())
    return differ(row, VerifyRow::Cause::Absent, "not updated here: the file has no state of this name");
  if (!checkShape(row, ours->second.shape, shape))
    return;
  double norm = normOf(truth);
  // What a running mean is, and what it is off by, counts in standard deviations, by which it is divided.
  if (auto variance = variances.find(name);
      variance != variances.end() && reference.has("buffer/" + variance->second)) {
    double sum = 0;
    for (double v : reference.values("buffer/" + variance->second, shape))
      sum += std::fabs(v);
    norm = std::max(norm, std::sqrt(sum));
  }
  norm = std::max(norm, 1e-30);
  double torch = reference.numberIfAny("rounding/buffer/" + name).value_or(0) / norm;
  if (tolerance.numpy)
    if (auto error = reference.numberIfAny(rt::concat("error/", tolerance.numpy, "/buffer/", name)))
      torch = std::max(torch, *error * normOf(truth) / norm);
  judge(row, distance(doubles(ours->second), truth) / norm,
        std::max(tolerance.gradient, timesTorch(int64_t(truth.size())) * torch));
}

void Comparison::addEvaluation(const std::string &name, const rt::Tensor &ours) {
  VerifyRow &row = add(VerifyRow::Kind::Evaluation, name);
  const std::string array = "eval/" + name;
  if (!checkShape(row, ours.shape, reference.shapeOf(array)))
    return;
  const std::vector<double> truth = reference.values(array, ours.shape);
  const double norm = std::max(normOf(truth), 1e-30);
  double torch = reference.numberIfAny("rounding/" + array).value_or(0) / norm;
  if (tolerance.numpy)
    torch = std::max(torch, reference.numberIfAny(rt::concat("error/", tolerance.numpy, "/", array)).value_or(0));
  judge(row, distance(doubles(ours), truth) / norm,
        std::max(tolerance.gradient, timesTorch(int64_t(truth.size())) * torch));
}

std::vector<VerifyRow> compareStep(const StepNumbers &numbers, const Reference &reference, const ImportReport &imported,
                                   const std::map<std::string, std::string> &variances, const Tolerance &tolerance) {
  return Comparison(numbers, reference, imported, variances, tolerance).run();
}

//===-- Output ------------------------------------------------------------------------------===//

static std::string shown(const VerifyRow &row) {
  const char *before = row.kind == VerifyRow::Kind::Buffer       ? "buffer "
                       : row.kind == VerifyRow::Kind::Evaluation ? "eval "
                                                                 : "";
  return before + row.name;
}

void printRows(ArrayRef<VerifyRow> rows) {
  constexpr size_t kWidest = 60;
  size_t width = 0;
  for (const VerifyRow &row : rows)
    width = std::max(width, std::min(shown(row).size(), kWidest));
  auto number = [](std::optional<double> value) { return value ? llvm::formatv("{0:e1}", *value).str() : "-"; };
  auto line = [&](const std::string &name, const std::string &error, const std::string &bound,
                  const std::string &verdict) {
    llvm::outs() << name << std::string(width - std::min(name.size(), width), ' ')
                 << llvm::formatv("  {0,8}  {1,8}  {2}\n", error, bound, verdict);
  };
  line("", "error", "bound", "verdict");
  for (const VerifyRow &row : rows)
    line(shown(row), number(row.error), number(row.bound),
         (row.ok ? "ok" : "DIFFERS") + (row.note.empty() ? "" : (row.ok ? "       " : "  ") + row.note));
}

nlohmann::json rowsAsJson(ArrayRef<VerifyRow> rows) {
  using nlohmann::json;
  static constexpr const char *kinds[] = {"loss", "gradient", "buffer", "second loss", "evaluation"};
  auto number = [](std::optional<double> value) { return value && std::isfinite(*value) ? json(*value) : json(); };
  json result = json::array();
  for (const VerifyRow &row : rows)
    result.push_back({{"kind", kinds[size_t(row.kind)]},
                      {"name", row.name},
                      {"error", number(row.error)},
                      {"bound", number(row.bound)},
                      {"ok", row.ok},
                      {"note", row.note}});
  return result;
}

} // namespace mpc::tool
