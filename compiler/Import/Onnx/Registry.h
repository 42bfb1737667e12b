//===- Registry.h - the table of ONNX ops -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// There is one row for each op (or for each range of opsets in which its signature differs), in
// Ops/<Family>.cpp. The documentation's op table is printed from the rows.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_IMPORT_ONNX_REGISTRY_H
#define MPC_IMPORT_ONNX_REGISTRY_H
#include "compiler/Import/Onnx/Importer.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <climits>
#include <cstdint>

namespace mpc::onnx_import {
class Node;

/// The meaning of an op's input for training; the letters are those of OpRow::positions.
enum class Position : char {
  Data = 'd',      // no parameter can be here
  Weight = 'w',    // convolution and Gemm weights
  Bias = 'b',      // biases
  Scale = 's',     // scales of normalisations
  Slope = 'p',     // PRelu
  Mean = 'm',      // running mean
  Variance = 'v',  // running variance
  Embedding = 'e', // a table that is gathered from
  MatMul = '@',    // either operand of a matrix product
  Add = '+',       // either operand of an addition
  Mul = '*',       // either operand of a product
  View = '=',      // passes its input's elements on, so that uses of the output are uses of the input
};

/// Stands for any number of operands.
inline constexpr int kAnyNumber = INT_MAX;

/// The most inputs or outputs that an op has: one number, or {number, opset, number from that opset on, ...}.
class Most {
public:
  constexpr Most(int number, int64_t since = INT64_MAX, int then = 0, int64_t sinceAgain = INT64_MAX, int thenAgain = 0)
      : number(number), then(then), thenAgain(thenAgain), since(since), sinceAgain(sinceAgain) {}
  constexpr int at(int64_t opset) const { return opset >= sinceAgain ? thenAgain : opset >= since ? then : number; }

private:
  int number, then, thenAgain;
  int64_t since, sinceAgain;
};

struct OpRow {
  llvm::StringLiteral name;
  int64_t since, until;
  Most inputs, outputs;
  /// One letter for each input (see Position); the last one also stands for all that follow. Where it is
  /// empty, all inputs are data.
  llvm::StringLiteral positions;
  /// The restrictions, for the documentation.
  llvm::StringLiteral limits;
  void (*convert)(Node &);
};

struct OpFamily {
  llvm::StringLiteral name;
  llvm::ArrayRef<OpRow> rows;
};

/// Each file of Ops/ defines one of these functions, which return the families.
OpFamily mathOps();
OpFamily logicOps();
OpFamily controlOps();
OpFamily nnOps();
OpFamily normOps();
OpFamily lossOps();
OpFamily reduceOps();
OpFamily tensorOps();
OpFamily indexOps();
OpFamily scatterOps();
OpFamily selectionOps();
OpFamily detectionOps();
OpFamily samplingOps();
OpFamily bitOps();
OpFamily spectrumOps();
OpFamily patchOps();
OpFamily constantOps();
OpFamily resizeOps();
OpFamily randomOps();
OpFamily sequenceOps();
OpFamily recurrentOps();
OpFamily attentionOps();
OpFamily contractionOps();
OpFamily orderOps();
llvm::ArrayRef<OpFamily> opFamilies();

/// The row of an op at an opset, or null.
const OpRow *findOp(llvm::StringRef name, int64_t opset);

/// The domain of nodes that the import itself puts in place of others.
inline constexpr llvm::StringLiteral kOwnDomain = "mpc.import";
/// Dropout that the import has recognised (DropoutForms.h): its inputs are x and the mask, its attributes
/// keep and draws.
extern const OpRow kRecognisedDropout;
/// The row of a node: that of its op at the opset, or that of a node of kOwnDomain; null for other domains.
const OpRow *rowOf(llvm::StringRef domain, llvm::StringRef name, int64_t opset);
/// Any row of the op, whatever the opset; or null.
const OpRow *findOpAnyVersion(llvm::StringRef name);
Position positionOf(const OpRow &, size_t input);
/// Returns a hint that says what to export in place of an op that has no row; it is empty where nothing is known
/// (Alternatives.cpp).
llvm::StringRef insteadOf(llvm::StringRef op);

} // namespace mpc::onnx_import
#endif
