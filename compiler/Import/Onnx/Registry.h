//===- Registry.h - the table of ONNX ops -----------------------------------===//
//
// One row per op (or per range of opsets in which its signature is another), in Ops/<Family>.cpp. The
// documentation's op table is printed from it.
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

/// What an input of an op is to training: the letters of OpRow::positions.
enum class Position : char {
  Data = 'd',      // not a parameter's place
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
  View = '=',      // passes its input's elements on: what uses the output uses the input
};

/// For operands in any number.
inline constexpr int kAnyNumber = INT_MAX;

/// The most inputs or outputs that an op has: one number, or {number, opset, number from that opset on, ...}.
class Most {
public:
  constexpr Most(int number, int64_t since = INT64_MAX, int then = 0, int64_t sinceAgain = INT64_MAX,
                 int thenAgain = 0)
      : number(number), then(then), thenAgain(thenAgain), since(since), sinceAgain(sinceAgain) {}
  constexpr int at(int64_t opset) const {
    return opset >= sinceAgain ? thenAgain : opset >= since ? then : number;
  }

private:
  int number, then, thenAgain;
  int64_t since, sinceAgain;
};

struct OpRow {
  llvm::StringLiteral name;
  int64_t since, until;
  Most inputs, outputs;
  /// One letter an input (see Position), the last for all that follow; empty: all data.
  llvm::StringLiteral positions;
  /// What is not supported, for the documentation.
  llvm::StringLiteral limits;
  void (*convert)(Node &);
};

struct OpFamily {
  llvm::StringLiteral name;
  llvm::ArrayRef<OpRow> rows;
};

/// The families, one function in each file of Ops/.
OpFamily mathOps();
OpFamily logicOps();
OpFamily nnOps();
OpFamily normOps();
OpFamily lossOps();
OpFamily reduceOps();
OpFamily tensorOps();
OpFamily indexOps();
OpFamily constantOps();
OpFamily resizeOps();
OpFamily randomOps();
OpFamily sequenceOps();
OpFamily attentionOps();
llvm::ArrayRef<OpFamily> opFamilies();

/// The row of an op at an opset, or null.
const OpRow *findOp(llvm::StringRef name, int64_t opset);

/// The domain of nodes that the import itself puts in the place of others.
inline constexpr llvm::StringLiteral kOwnDomain = "mpc.import";
/// Dropout as the import recognised it (DropoutForms.h): inputs x and the mask; attributes keep and draws.
extern const OpRow kRecognisedDropout;
/// The row of a node: of its op at the opset, or of what the import put there; null for other domains.
const OpRow *rowOf(llvm::StringRef domain, llvm::StringRef name, int64_t opset);
/// Any row of the op, whatever the opset, or null.
const OpRow *findOpAnyVersion(llvm::StringRef name);
Position positionOf(const OpRow &, size_t input);

} // namespace mpc::onnx_import
#endif
