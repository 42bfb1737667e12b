//===- TrainAttrs.cpp - optimizers, loss scalers and parameter groups as attributes -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each attribute is made by `fromNumbers`, whether its text comes from MLIR or from the user's command line, and
// checked by `verify`.
//
//===----------------------------------------------------------------------===//
#include "dialects/Support/Attributes.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Support/Nearest.h"
#include "dialects/Support/Numbers.h"
#include "dialects/Train/IR/Groups.h"
#include "dialects/Train/Optimizers/Registry.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <variant>

using namespace mlir;
using namespace mpc;
using namespace mpc::train;
using optimizers::Hyperparameter;

//===-- Numbers by name -----------------------------------------------------------===//

/// Parses `, name = number` as often as it is there, and then `>`.
static ParseResult parseNumbers(AsmParser &parser, SmallVectorImpl<NamedNumber> &numbers) {
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc where = parser.getCurrentLocation();
    StringRef name;
    Attribute value;
    if (parser.parseKeyword(&name) || parser.parseEqual() || parser.parseAttribute(value))
      return failure();
    if (llvm::is_contained(llvm::make_first_range(numbers), name))
      return emitErrorWithHint(parser.getEncodedSourceLoc(where), "'" + name + "' is given twice", "keep one of them");
    numbers.emplace_back(name, asNumber(value));
  }
  return parser.parseGreater();
}

/// Prints the shortest text in the form that MLIR's lexer takes: 2, 0.1, 1.0e-10.
static void printNumber(AsmPrinter &printer, StringRef name, double value) {
  std::string text = shortestText(value);
  auto [mantissa, exponent] = StringRef(text).split('e');
  printer << ", " << name << " = " << mantissa;
  if (!exponent.empty())
    printer << (mantissa.contains('.') ? "e" : ".0e") << exponent;
}

static std::string describe(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
}

//===-- Optimizers ----------------------------------------------------------------===//

/// Returns the range that a hyperparameter may lie in: "[0, 1)".
static std::string describeRange(const Hyperparameter &h) {
  std::string text;
  llvm::raw_string_ostream(text) << (std::isinf(h.least) ? '(' : '[') << llvm::format("%g, %g)", h.least, h.below);
  return text;
}

static LogicalResult rejectValue(EmitError emitError, const optimizers::Optimizer &rule, const Hyperparameter &h,
                                 StringRef value) {
  return emitErrorWithHint(emitError,
                           "optimizer " + rule.name + ": '" + h.name + "' is " + value + ", which does not lie in " +
                               describeRange(h),
                           h.name + " is the " + h.doc + "; default " + describe(h.defaultValue));
}

OptimizerAttr OptimizerAttr::fromNumbers(EmitError emitError, MLIRContext *context, StringRef name,
                                         ArrayRef<NamedNumber> numbers) {
  auto fail = [&](const Twine &message, StringRef word, ArrayRef<StringRef> names) {
    (void)emitErrorWithHint(emitError, message,
                            didYouMean(word, names) + "the optimizers are " + optimizers::describeOptimizers());
    return OptimizerAttr();
  };
  const optimizers::Optimizer *rule = optimizers::findOptimizer(name);
  if (!rule)
    return fail("there is no optimizer '" + name + "'", name,
                llvm::map_to_vector(optimizers::allOptimizers(),
                                    [](const optimizers::Optimizer *o) { return StringRef(o->name); }));
  auto values = llvm::map_to_vector(rule->hyperparameters, [](const Hyperparameter *h) { return h->defaultValue; });
  for (const NamedNumber &given : numbers) {
    auto known = llvm::find_if(rule->hyperparameters, [&](const Hyperparameter *h) { return h->name == given.first; });
    if (known == rule->hyperparameters.end())
      return fail(
          "optimizer " + rule->name + ": no hyperparameter '" + given.first + "'", given.first,
          llvm::map_to_vector(rule->hyperparameters, [](const Hyperparameter *h) { return StringRef(h->name); }));
    if (!given.second)
      return (void)rejectValue(emitError, *rule, **known, "no number"), OptimizerAttr();
    values[known - rule->hyperparameters.begin()] = *given.second;
  }
  return getChecked(emitError, context, rule, DenseF64ArrayAttr::get(context, values));
}

LogicalResult OptimizerAttr::verify(EmitError emitError, const optimizers::Optimizer *rule, DenseF64ArrayAttr values) {
  for (auto [h, value] : llvm::zip_equal(rule->hyperparameters, values.asArrayRef()))
    if (!std::isfinite(value) || value < h->least || value >= h->below)
      return rejectValue(emitError, *rule, *h, describe(value));
  return rule->verify ? rule->verify(emitError, {*rule, values.asArrayRef()}) : success();
}

optimizers::Hyperparameters OptimizerAttr::getHyperparameters() const { return {*getRule(), getValues().asArrayRef()}; }

Attribute OptimizerAttr::parse(AsmParser &parser, Type) {
  Location where = parser.getEncodedSourceLoc(parser.getCurrentLocation());
  StringRef name;
  SmallVector<NamedNumber> numbers;
  if (parser.parseLess() || parser.parseKeyword(&name) || parseNumbers(parser, numbers))
    return {};
  return fromNumbers([&] { return emitError(where); }, parser.getContext(), name, numbers);
}

void OptimizerAttr::print(AsmPrinter &printer) const {
  printer << '<' << getRule()->name;
  for (auto [h, value] : llvm::zip_equal(getRule()->hyperparameters, getValues().asArrayRef()))
    if (value != h->defaultValue)
      printNumber(printer, h->name, value);
  printer << '>';
}

//===-- Loss scalers --------------------------------------------------------------===//

namespace {
/// An option of a loss scaler, and the kinds that have it.
struct ScalerOption {
  StringLiteral name;
  std::variant<double Scaler::*, int64_t Scaler::*, std::optional<double> Scaler::*> member;
  unsigned kinds;

  bool isOf(ScalerKind kind) const { return kinds >> unsigned(kind) & 1; }
  /// Returns the number; nullopt says that a bound is off.
  std::optional<double> read(const Scaler &scaler) const {
    return std::visit([&](auto member) { return std::optional<double>(scaler.*member); }, member);
  }
  void write(Scaler &scaler, double number) const {
    if (auto *count =
            std::get_if<int64_t Scaler::*>(&member)) // 0, which no count may be, stands for what is not a whole number
      scaler.**count = number == std::floor(number) && std::fabs(number) < 1e15 ? int64_t(number) : 0;
    else if (auto *bound = std::get_if<std::optional<double> Scaler::*>(&member))
      scaler.**bound = number;
    else
      scaler.*std::get<double Scaler::*>(member) = number;
  }
};
} // namespace

static constexpr unsigned ofDynamic = 1u << unsigned(ScalerKind::Dynamic),
                          ofCalibrate = 1u << unsigned(ScalerKind::Calibrate), ofBoth = ofDynamic | ofCalibrate,
                          ofAll = ofBoth | 1u << unsigned(ScalerKind::Static);
static constexpr ScalerOption scalerOptions[] = {
    {"init_scale", &Scaler::initScale, ofAll},          {"growth_factor", &Scaler::growthFactor, ofDynamic},
    {"backoff_factor", &Scaler::backoffFactor, ofBoth}, {"growth_interval", &Scaler::growthInterval, ofDynamic},
    {"min_scale", &Scaler::minScale, ofBoth},           {"max_scale", &Scaler::maxScale, ofBoth},
    {"hysteresis", &Scaler::hysteresis, ofDynamic},     {"steps", &Scaler::steps, ofCalibrate},
    {"headroom", &Scaler::headroom, ofCalibrate},
};

StringRef train::nameOf(ScalerKind kind) {
  static constexpr StringLiteral names[] = {"none", "static", "dynamic", "calibrate"};
  return names[unsigned(kind)];
}

Scaler::Scaler(ScalerKind kind) : kind(kind) {
  // 1024 is the usual static scale: it is below what overflows in practice and above what vanishes. An
  // overflow lowers it.
  if (calibrates())
    initScale = 1024;
}

llvm::hash_code train::hash_value(const Scaler &scaler) {
  llvm::hash_code hash = llvm::hash_value(scaler.kind);
  for (const ScalerOption &option : scalerOptions)
    hash = llvm::hash_combine(hash, llvm::bit_cast<uint64_t>(option.read(scaler).value_or(0)));
  return hash;
}

/// Says which options each kind has: "static takes init_scale; dynamic takes ...".
static std::string describeScalers() {
  std::string text;
  for (ScalerKind kind : ArrayRef(allScalerKinds).drop_front()) {
    auto options =
        llvm::make_filter_range(scalerOptions, [&](const ScalerOption &option) { return option.isOf(kind); });
    auto names = llvm::map_range(options, [](const ScalerOption &option) { return StringRef(option.name); });
    text += ((text.empty() ? "" : "; ") + nameOf(kind) + " takes " + llvm::join(names, ", ")).str();
  }
  return text;
}

ScalerAttr ScalerAttr::fromNumbers(EmitError emitError, MLIRContext *context, StringRef kind,
                                   ArrayRef<NamedNumber> numbers) {
  auto fail = [&](const Twine &message, const Twine &hint) {
    (void)emitErrorWithHint(emitError, "loss scaler: " + message, hint);
    return ScalerAttr();
  };
  auto known = llvm::find_if(allScalerKinds, [&](ScalerKind k) { return nameOf(k) == kind; });
  if (known == std::end(allScalerKinds))
    return fail("'" + kind + "' is no kind", "none, static, dynamic or calibrate");
  Scaler scaler(*known);
  for (const NamedNumber &given : numbers) {
    if (!given.second || !std::isfinite(*given.second))
      return fail("'" + given.first + "' is not a finite number", "write " + given.first + "=NUMBER");
    auto option =
        llvm::find_if(scalerOptions, [&](const ScalerOption &o) { return o.isOf(*known) && o.name == given.first; });
    if (option == std::end(scalerOptions))
      return fail("'" + given.first + "' is no option of kind " + kind, describeScalers());
    option->write(scaler, *given.second);
  }
  return getChecked(emitError, context, scaler);
}

LogicalResult ScalerAttr::verify(EmitError emitError, Scaler options) {
  auto fail = [&](const Twine &message, const Twine &hint) {
    return emitErrorWithHint(emitError, "loss scaler: " + message, hint);
  };
  // The inverse of a scale unscales the gradients, so both must be normal fp32 numbers.
  for (double scale : {options.initScale, options.minScale.value_or(1), options.maxScale.value_or(1)})
    if (!(scale > 0 && std::isnormal(float(scale)) && std::isnormal(float(1 / scale))))
      return fail("a scale must be a positive fp32 number whose inverse is one, too",
                  "65536 is the usual initial scale, 1024 a usual static one");
  if (!(options.growthFactor > 1) || !(options.backoffFactor > 0 && options.backoffFactor < 1))
    return fail("growth_factor must exceed 1, backoff_factor lie between 0 and 1", "the defaults are 2 and 0.5");
  if (options.growthInterval < 1 || options.growthInterval > INT32_MAX || options.hysteresis < 1 ||
      options.hysteresis > INT32_MAX)
    return fail("growth_interval and hysteresis are positive 32-bit integers", "the defaults are 2000 and 1");
  if (options.steps < 1 || options.steps > INT32_MAX || !(options.headroom >= 1 && options.headroom <= 65504))
    return fail("steps is a positive 32-bit integer, headroom lies between 1 and 65504", "the defaults are 100 and 4");
  if (options.minScale.value_or(0) > options.initScale || options.maxScale.value_or(INFINITY) < options.initScale)
    return fail("the initial scale does not lie between min_scale and max_scale", "change init_scale or the bound");
  return success();
}

Attribute ScalerAttr::parse(AsmParser &parser, Type) {
  Location where = parser.getEncodedSourceLoc(parser.getCurrentLocation());
  StringRef kind;
  SmallVector<NamedNumber> numbers;
  if (parser.parseLess() || parser.parseKeyword(&kind) || parseNumbers(parser, numbers))
    return {};
  return fromNumbers([&] { return emitError(where); }, parser.getContext(), kind, numbers);
}

void ScalerAttr::print(AsmPrinter &printer) const {
  printer << '<' << nameOf(getOptions().kind);
  Scaler defaults(getOptions().kind);
  for (const ScalerOption &option : scalerOptions)
    if (std::optional<double> number = option.read(getOptions()); number && number != option.read(defaults))
      printNumber(printer, option.name, *number);
  printer << '>';
}

//===-- Parameter groups ----------------------------------------------------------===//

GroupAttr GroupAttr::fromNumbers(EmitError emitError, MLIRContext *context, StringRef match,
                                 ArrayRef<NamedNumber> numbers) {
  Builder b(context);
  FloatAttr lr = b.getF64FloatAttr(1), weightDecay;
  for (auto [key, number] : numbers) {
    if ((key != "lr" && key != "weight_decay") || !number)
      return (void)emitErrorWithHint(emitError, "'" + key + "' of a parameter group is not a known number",
                                     "a group sets lr (a factor) and weight_decay"),
             GroupAttr();
    (key == "lr" ? lr : weightDecay) = b.getF64FloatAttr(*number);
  }
  return getChecked(emitError, context, match, lr, weightDecay);
}

LogicalResult GroupAttr::verify(EmitError emitError, StringRef match, FloatAttr lr, FloatAttr weightDecay) {
  for (auto [key, number] : {std::pair("lr", lr), std::pair("weight_decay", weightDecay)})
    if (number && !(std::isfinite(number.getValueAsDouble()) && number.getValueAsDouble() >= 0))
      return emitErrorWithHint(emitError, "parameter group '" + match + "': cannot set '" + key + "' so",
                               "a group sets lr (a factor) and weight_decay, not negative");
  return GroupPattern::verify(emitError, match);
}

Attribute GroupAttr::parse(AsmParser &parser, Type) {
  Location where = parser.getEncodedSourceLoc(parser.getCurrentLocation());
  std::string match;
  SmallVector<NamedNumber> numbers;
  if (parser.parseLess() || parser.parseString(&match) || parseNumbers(parser, numbers))
    return {};
  return fromNumbers([&] { return emitError(where); }, parser.getContext(), match, numbers);
}

void GroupAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printString(getMatch());
  if (getLr().getValueAsDouble() != 1)
    printNumber(printer, "lr", getLr().getValueAsDouble());
  if (getWeightDecay())
    printNumber(printer, "weight_decay", getWeightDecay().getValueAsDouble());
  printer << '>';
}
