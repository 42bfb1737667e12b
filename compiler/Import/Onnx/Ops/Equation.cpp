//===- Equation.cpp - reads the equations of Einsum ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Ops/Equation.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace mlir;
using namespace mpc;
using namespace mpc::onnx_import;

/// Stands for an ellipsis until its dimensions are known.
static constexpr int kEllipsis = 0;

void Equation::malformed(const Twine &why) const {
  n.fail("the equation '" + printable(text) + "' " + why,
         "write a term of letters for each input, as in 'bij,bjk->bik'; '...' stands for further dimensions",
         "equation");
}

Labels Equation::parseTerm(StringRef term) const {
  Labels labels;
  while (!term.empty()) {
    if (term.consume_front("...")) {
      if (llvm::is_contained(labels, kEllipsis))
        malformed("has two ellipses in one term");
      labels.push_back(kEllipsis);
    } else if (llvm::isAlpha(term.front())) {
      labels.push_back(term.front());
      term = term.drop_front();
    } else {
      malformed("has '" + printable(term.take_front().str()) + "' in a term");
    }
  }
  return labels;
}

Equation::Equation(Node &n) : n(n), text(n.stringAttribute("equation")) {
  std::string squeezed;
  llvm::copy_if(text, std::back_inserter(squeezed), [](char c) { return !llvm::isSpace(c); });
  auto [left, right] = StringRef(squeezed).split("->");
  SmallVector<StringRef> parts;
  left.split(parts, ',');
  for (StringRef part : parts)
    terms.push_back(parseTerm(part));
  const bool hasResult = StringRef(squeezed).contains("->");
  if (hasResult)
    result = parseTerm(right);
  if (terms.size() != n.numInputs())
    malformed("has " + Twine(terms.size()) + " terms for " + Twine(n.numInputs()) + " inputs");
  resolve(hasResult);
}

void Equation::resolve(bool hasResult) {
  int64_t widest = 0; // the most dimensions that an ellipsis stands for
  std::map<int, int> uses;
  auto expand = [](Labels &labels, int64_t dims) {
    auto *at = llvm::find(labels, kEllipsis);
    if (at == labels.end())
      return;
    Labels all(labels.begin(), at);
    for (int64_t d = dims; d > 0; --d)
      all.push_back(int(-d));
    all.append(at + 1, labels.end());
    labels = all;
  };
  for (auto [i, labels] : llvm::enumerate(terms)) {
    const bool open = llvm::is_contained(labels, kEllipsis);
    const int64_t named = int64_t(labels.size()) - open, rank = n.rank(i);
    if (open ? named > rank : named != rank)
      malformed("names " + Twine(named) + " dimensions of input " + Twine(i) + ", which has " + Twine(rank));
    if (open)
      widest = std::max(widest, rank - named);
    expand(labels, rank - named);
    for (int label : labels)
      ++uses[label];
  }
  if (!hasResult) {
    result = {kEllipsis};
    for (auto [label, count] : uses)
      if (label > 0 && count == 1)
        result.push_back(label); // in alphabetical order, as the map has them
  } else if (widest > 0 && !llvm::is_contained(result, kEllipsis)) {
    // numpy and ONNX Runtime refuse it, and torch takes the sum.
    malformed("has an ellipsis before '->' and none behind it, so it does not say what becomes of these dimensions");
  }
  expand(result, widest);
  for (auto [i, label] : llvm::enumerate(result)) {
    if (label > 0 && !uses.count(label))
      malformed("has '" + Twine(char(label)) + "' behind '->' and in no input");
    if (llvm::is_contained(ArrayRef(result).take_front(i), label))
      malformed("has '" + Twine(char(label)) + "' twice behind '->'");
  }
}
