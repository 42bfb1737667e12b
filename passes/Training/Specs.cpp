#include "passes/Training/Specs.h"
#include "dialects/Support/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::training;

FailureOr<StepSpec> training::parseStepSpec(Location loc, StringRef text, const StepSpec &base) {
  StepSpec spec = base;
  SmallVector<StringRef> segments;
  text.split(segments, ':');
  spec.name = segments.front().str();
  auto fail = [&](const Twine &message) {
    return emitErrorWithHint(
        loc, "step '" + text + "': " + message,
        "write NAME:loss=FORM:A:B:params=REGEX:optimizer=NAME,lr=0.1 (all but the name optional)");
  };
  if (spec.name.empty() || StringRef(spec.name).contains('='))
    return fail("no name in front");
  std::string *value = nullptr;
  for (StringRef segment : ArrayRef(segments).drop_front()) {
    auto [key, rest] = segment.split('=');
    std::string *field = key == "loss"        ? &spec.loss
                         : key == "params"    ? &spec.parameters
                         : key == "optimizer" ? &spec.optimizer
                         : key == "scaler"    ? &spec.scaler
                                              : nullptr;
    if (field && segment.contains('=')) {
      value = field;
      *value = rest.str();
    } else if (value) {
      *value += (":" + segment).str();
    } else {
      return fail("'" + segment + "' is not loss=, params=, optimizer= or scaler=");
    }
  }
  return spec;
}

/// Parses a number, a bool, an array of numbers, or else a string.
static Attribute parseValue(Builder &b, StringRef text) {
  double number;
  if (!text.getAsDouble(number))
    return b.getF64FloatAttr(number);
  if (text == "true" || text == "false")
    return b.getBoolAttr(text == "true");
  SmallVector<StringRef> parts;
  text.split(parts, '/');
  SmallVector<Attribute> numbers;
  for (StringRef part : parts)
    if (!part.getAsDouble(number))
      numbers.push_back(b.getF64FloatAttr(number));
  if (parts.size() > 1 && numbers.size() == parts.size())
    return b.getArrayAttr(numbers);
  return b.getStringAttr(text);
}

/// Appends `key=value` pairs separated by commas.
static LogicalResult parsePairs(Location loc, StringRef text, NamedAttrList &attributes) {
  Builder b(loc.getContext());
  SmallVector<StringRef> pairs;
  text.split(pairs, ',', -1, /*KeepEmpty=*/false);
  for (StringRef pair : pairs) {
    auto [key, value] = pair.split('=');
    key = key.trim();
    value = value.trim();
    if (key.empty() || value.empty())
      return emitErrorWithHint(loc, "'" + pair + "' is not key=value", "separate key=value pairs by commas");
    if (attributes.get(key))
      return emitErrorWithHint(loc, "'" + key + "' is given twice", "keep one of them");
    attributes.set(key, parseValue(b, value));
  }
  return success();
}

FailureOr<DictionaryAttr> training::parseDictionary(Location loc, StringRef head, StringRef text) {
  auto [name, rest] = text.split(',');
  NamedAttrList attributes;
  attributes.set(head, StringAttr::get(loc.getContext(), name.trim()));
  if (failed(parsePairs(loc, rest, attributes)))
    return failure();
  return attributes.getDictionary(loc.getContext());
}

FailureOr<DictionaryAttr> training::parseGroup(Location loc, StringRef text) {
  auto [match, rest] = text.rsplit(':');
  if (match.empty() || rest.empty())
    return emitErrorWithHint(loc, "'" + text + "' is not a parameter group",
                             "write REGEX:lr=FACTOR,weight_decay=VALUE");
  NamedAttrList attributes;
  attributes.set("match", StringAttr::get(loc.getContext(), match));
  if (failed(parsePairs(loc, rest, attributes)))
    return failure();
  if (Attribute decay = attributes.get("wd")) { // `wd` is short for `weight_decay`
    if (attributes.get("weight_decay"))
      return emitErrorWithHint(loc, "'weight_decay' is given twice", "keep one of wd and weight_decay");
    attributes.erase("wd");
    attributes.set("weight_decay", decay);
  }
  for (NamedAttribute attribute : attributes)
    if (attribute.getName() != "match" &&
        ((attribute.getName() != "lr" && attribute.getName() != "weight_decay") ||
         !isa<FloatAttr>(attribute.getValue())))
      return emitErrorWithHint(
          loc, "'" + attribute.getName().getValue() + "' of a parameter group is not a known number",
          "a group sets lr (a factor) and weight_decay");
  return attributes.getDictionary(loc.getContext());
}
