//===- Recomputed.cpp - what a plan computes again to save memory -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Train/IR/Recomputed.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mpc;

std::optional<train::Recomputed> train::recomputedOf(ModuleOp module) {
  auto report = module->getAttrOfType<DictionaryAttr>(kRecomputedAttr);
  if (!report)
    return std::nullopt;
  auto count = [&](StringRef name) { return report.getAs<IntegerAttr>(name).getInt(); };
  auto number = [&](StringRef name) { return report.getAs<FloatAttr>(name).getValueAsDouble(); };
  return Recomputed{count("segments"), count("repeated"), number("flops"), number("flops_again")};
}

void train::setRecomputed(ModuleOp module, const Recomputed &report) {
  Builder b(module.getContext());
  module->setAttr(kRecomputedAttr, b.getDictionaryAttr({
                                       b.getNamedAttr("segments", b.getI64IntegerAttr(report.segments)),
                                       b.getNamedAttr("repeated", b.getI64IntegerAttr(report.repeated)),
                                       b.getNamedAttr("flops", b.getF64FloatAttr(report.flops)),
                                       b.getNamedAttr("flops_again", b.getF64FloatAttr(report.flopsAgain)),
                                   }));
}
