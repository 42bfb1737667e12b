//===- ElementEmitter.h - emits single elements of tensor values -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The core of loop code generation: given the index of an element of a tensor value, it emits the scalar code
// that computes it. It asks the value's op (ElementalOpInterface), which asks for the elements of its
// operands, down to buffers. Loop nests (LoopPlan and the targets) decide which elements are wanted, where
// and in which order.
//
// Registers. Elements of 8- and 16-bit float types are held in f32 and are always exactly representable in
// their element type: an op computes in f32 and calls `round` once, at its boundary. Unsigned integers are
// signless, and booleans are i1 (one byte in memory).
//
//===----------------------------------------------------------------------===//
#ifndef MPC_LOWERING_ELEMENTAL_ELEMENTEMITTER_H
#define MPC_LOWERING_ELEMENTAL_ELEMENTEMITTER_H
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Kernel/Analysis/Indices.h"
#include "passes/Lowering/Scalar/ScalarBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMAttrs.h"
#include <unordered_map>

namespace mpc {

class ElementEmitter;

/// The memory of a tensor: row-major from `pointer`.
struct Buffer {
  mlir::Value pointer; ///< !llvm.ptr of any address space
  mlir::RankedTensorType type;
  mlir::ArrayAttr aliasScopes, noaliasScopes; ///< may be null
};

/// Emits elements and the arithmetic on them. Constants stand at the start of the block where the emitter begins.
class ElementEmitter : public ScalarBuilder {
public:
  ElementEmitter(mlir::ImplicitLocOpBuilder &b, mlir::ModuleOp module)
      : ScalarBuilder(b, Integers::Elements, b.getInsertionBlock()), module(module), entry(b.getInsertionBlock()) {}

  //===-- Symbols and indices ------------------------------------------------------===//

  /// A loop variable in [0, extent). It must be bound before an index that contains it is materialised.
  SymbolId addSymbol(int64_t extent);
  /// Binds several adjacent symbols, outer to inner, to one variable, whose value is their row-major number.
  void bindSymbols(llvm::ArrayRef<SymbolId> ids, mlir::Value value);
  /// Changes the known range of a symbol, and forgets the elements at indices that contain it: in another range a pad
  /// or a concatenation gives another value.
  void setRange(SymbolId id, int64_t low, int64_t high);
  /// A symbol for a computed i64 whose value is in [low, high].
  Index opaque(mlir::Value value, int64_t low, int64_t high);
  /// The least and the greatest value of the index.
  Indices::Range range(const Index &i) const { return indices.range(i); }

  /// Returns (i / divisor, i % divisor) of an index that is not negative, like the two functions below.
  Indices::Division divide(const Index &i, int64_t divisor);
  Index floorDiv(const Index &i, int64_t divisor) { return divide(i, divisor).first; }
  Index mod(const Index &i, int64_t divisor) { return divide(i, divisor).second; }
  /// max(low, min(i, high)).
  Index clamp(const Index &i, int64_t low, int64_t high);
  Index linearize(llvm::ArrayRef<Index> index, llvm::ArrayRef<int64_t> shape) const {
    return indices.linearize(index, shape);
  }
  IndexVector delinearize(const Index &linear, llvm::ArrayRef<int64_t> shape) {
    return Indices::delinearize(linear, shape, [this](const Index &i, int64_t by) { return divide(i, by); });
  }
  /// Whether low <= i < high: an i1, or null when it always is. `never` is set when it never is.
  mlir::Value inBounds(const Index &i, int64_t low, int64_t high, bool &never);
  mlir::Value materialize(const Index &i); ///< i64

  //===-- Elements -------------------------------------------------------------------===//

  void bindBuffer(mlir::Value tensor, Buffer buffer) { buffers[tensor] = buffer; }
  /// The element of a tensor value, in its register type. A second request for the same index returns the
  /// same value.
  mlir::Value element(mlir::Value tensor, llvm::ArrayRef<Index> index);
  mlir::Value operand(mlir::Operation *op, unsigned i, llvm::ArrayRef<Index> index) {
    return element(op->getOperand(i), index);
  }
  /// The element of operand i that numpy broadcasting combines into the result's element at `index`.
  mlir::Value broadcastOperand(mlir::Operation *op, unsigned i, llvm::ArrayRef<Index> index);
  /// Makes `value` the element of `tensor` at `index`, wherever the current region's values are visible.
  void define(mlir::Value tensor, llvm::ArrayRef<Index> index, mlir::Value value);
  /// A memo for the models, with the same rules, for values that are not elements but worth sharing; `tag`
  /// distinguishes uses.
  mlir::Value recall(mlir::Value tensor, llvm::ArrayRef<Index> index, int64_t tag);
  void remember(mlir::Value tensor, llvm::ArrayRef<Index> index, int64_t tag, mlir::Value value);
  mlir::Value load(const Buffer &buffer, const Index &linear);
  void store(const Buffer &buffer, const Index &linear, mlir::Value value);
  /// A read-only array of the module, for tables and constants; `values` is dense.
  Buffer constantBuffer(mlir::DenseElementsAttr values);
  unsigned tableAddressSpace = 0; ///< the address space of constantBuffer's arrays

  //===-- Registers --------------------------------------------------------------------===//

  static mlir::Type registerType(mlir::Type element);
  static mlir::Type storageType(mlir::Type element);
  /// Rounds a register to its element type, as graph.cast does: floats of 8 and 16 bits to nearest even (`f`
  /// is f32 or f64); other types stay as they are.
  mlir::Value round(mlir::Value f, mlir::Type element);
  /// The operand of the `round` that gave v, or v itself. A function that commutes with rounding (relu) uses
  /// it, so that both round once.
  mlir::Value unrounded(mlir::Value v) const { return beforeRounding.lookup_or(v, v); }

  /// Whether an op had no elemental model, for which a diagnostic was emitted.
  bool failed() const { return hasFailed; }

private:
  struct Symbol {
    int64_t extent;
    mlir::Value value;            ///< the variable that holds it; null while unbound
    std::vector<SymbolId> shared; ///< the symbols of that variable, outer to inner
  };
  struct Memo {
    mlir::Value tensor;
    IndexVector index;
    mlir::Value value;
  };
  bool visible(mlir::Value v);
  mlir::Value decodeFloat8(mlir::Value code, mlir::Type element);
  mlir::Value *lookup(mlir::Value tensor, llvm::ArrayRef<Index> index);

  mlir::ModuleOp module;
  mlir::Block *entry;
  Indices indices;             ///< the ranges of symbols, and the divisions that were emitted
  std::vector<Symbol> symbols; ///< of `indices`, which all are made here
  llvm::DenseMap<mlir::Value, Buffer> buffers;
  std::unordered_multimap<size_t, Memo> memo;
  std::unordered_multimap<size_t, std::pair<Index, mlir::Value>> materialized;
  llvm::DenseMap<mlir::Value, mlir::Value> beforeRounding;
  llvm::DenseMap<mlir::Value, mlir::Value> float8Codes; ///< the code of an f32 that holds an 8-bit float
  bool hasFailed = false;
};

/// The most products of an element of a depthwise convolution, or of the gradient of one's input, that are unrolled
/// (Ops/Pool.cpp). Others are computed in a loop.
inline constexpr int64_t mostUnrolledTaps = 49;

/// How much code an element of an op takes besides that of its operands.
enum class ElementCost {
  Free,  ///< none: a constant, or an element of an operand
  Short, ///< a few instructions, so that the code may be repeated where registers are scarce
  Long,  ///< more, or a function or table
};

} // namespace mpc

#include "passes/Lowering/Elemental/ElementalOpInterface.h.inc"

namespace mlir {
class DialectRegistry;
}
namespace mpc {
/// Attaches the elemental models of all graph ops that have one.
void registerElementalModels(mlir::DialectRegistry &registry);
} // namespace mpc
#endif
