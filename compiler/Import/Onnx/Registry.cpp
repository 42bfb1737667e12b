// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Registry.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mpc;
using namespace mpc::onnx_import;

llvm::ArrayRef<OpFamily> onnx_import::opFamilies() {
  static const llvm::SmallVector<OpFamily> families = {
      mathOps(),     logicOps(),    controlOps(),   reduceOps(),      nnOps(),        normOps(),
      lossOps(),     tensorOps(),   indexOps(),     scatterOps(),     selectionOps(), detectionOps(),
      samplingOps(), bitOps(),      spectrumOps(),  patchOps(),       constantOps(),  resizeOps(),
      randomOps(),   sequenceOps(), attentionOps(), contractionOps(), orderOps(),     recurrentOps()};
  return families;
}

static const llvm::StringMap<llvm::SmallVector<const OpRow *, 2>> &rowsByName() {
  static const auto map = [] {
    llvm::StringMap<llvm::SmallVector<const OpRow *, 2>> result;
    for (const OpFamily &family : opFamilies())
      for (const OpRow &row : family.rows)
        result[row.name].push_back(&row);
    return result;
  }();
  return map;
}

const OpRow *onnx_import::findOp(llvm::StringRef name, int64_t opset) {
  auto it = rowsByName().find(name);
  if (it != rowsByName().end())
    for (const OpRow *row : it->second)
      if (opset >= row->since && opset <= row->until)
        return row;
  return nullptr;
}

const OpRow *onnx_import::rowOf(llvm::StringRef domain, llvm::StringRef name, int64_t opset) {
  if (domain == kOwnDomain)
    return &kRecognisedDropout;
  return domain.empty() || domain == "ai.onnx" ? findOp(name, opset) : nullptr;
}

const OpRow *onnx_import::findOpAnyVersion(llvm::StringRef name) {
  auto it = rowsByName().find(name);
  return it == rowsByName().end() ? nullptr : it->second.front();
}

Position onnx_import::positionOf(const OpRow &row, size_t input) {
  if (row.positions.empty())
    return Position::Data;
  return Position(row.positions[std::min(input, row.positions.size() - 1)]);
}

std::vector<SupportedOp> mpc::supportedOps() {
  std::vector<SupportedOp> result;
  for (const OpFamily &family : opFamilies())
    for (const OpRow &row : family.rows)
      result.push_back({row.name, family.name, row.since, row.until, row.limits});
  llvm::stable_sort(result, [](const SupportedOp &a, const SupportedOp &b) {
    return std::tie(a.family, a.name, a.since) < std::tie(b.family, b.name, b.since);
  });
  return result;
}
