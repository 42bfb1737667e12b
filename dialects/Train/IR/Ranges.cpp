// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Train/IR/Ranges.h"
#include "dialects/Train/IR/Train.h"

using namespace mlir;
using namespace mpc;

static std::optional<int64_t> integer(const NamedAttrList &argument, StringRef name) {
  auto attr = dyn_cast_or_null<IntegerAttr>(argument.get(name));
  return attr ? std::optional<int64_t>(attr.getInt()) : std::nullopt;
}

void train::boundLabels(NamedAttrList &argument, MLIRContext *context, int64_t classes,
                        std::optional<int64_t> ignored) {
  Builder b(context);
  if (ignored && *ignored >= 0 && *ignored < classes)
    ignored.reset(); // the bound allows it already
  if (std::optional<int64_t> before = integer(argument, kLabelsBelowAttr)) {
    classes = std::min(classes, *before);
    if (integer(argument, kLabelsIgnoreAttr) != ignored)
      ignored.reset();
  }
  argument.set(kLabelsBelowAttr, b.getI64IntegerAttr(classes));
  argument.erase(kLabelsIgnoreAttr);
  if (ignored)
    argument.set(kLabelsIgnoreAttr, b.getI64IntegerAttr(*ignored));
}

void train::boundIndices(NamedAttrList &argument, MLIRContext *context, int64_t extent) {
  extent = std::min(extent, integer(argument, kIndicesBelowAttr).value_or(extent));
  argument.set(kIndicesBelowAttr, Builder(context).getI64IntegerAttr(extent));
}

void train::boundLengths(NamedAttrList &argument, MLIRContext *context, int64_t most) {
  most = std::min(most, integer(argument, kLengthsUpToAttr).value_or(most));
  argument.set(kLengthsUpToAttr, Builder(context).getI64IntegerAttr(most));
}

void train::boundPart(NamedAttrList &argument, MLIRContext *context, ArrayRef<int64_t> from, ArrayRef<int64_t> to,
                      function_ref<void(NamedAttrList &)> bound) {
  Builder b(context);
  NamedAttrList part;
  part.set("from", b.getDenseI64ArrayAttr(from));
  part.set("to", b.getDenseI64ArrayAttr(to));
  SmallVector<Attribute> parts;
  if (auto before = dyn_cast_or_null<ArrayAttr>(argument.get(kPartsAttr)))
    for (auto other : before.getAsRange<DictionaryAttr>()) {
      if (other.get("from") == part.get("from") && other.get("to") == part.get("to"))
        part = NamedAttrList(other);
      else
        parts.push_back(other);
    }
  bound(part);
  parts.push_back(part.getDictionary(context));
  argument.set(kPartsAttr, b.getArrayAttr(parts));
}
