//===- ElementEmitter.cpp - elements, loads and stores, registers -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/Elemental/ElementEmitter.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "dialects/Support/Diagnostics.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace mpc;

#include "passes/Lowering/Elemental/ElementalOpInterface.cpp.inc"

//===-- Elements -------------------------------------------------------------------===//

static size_t keyOf(Value tensor, ArrayRef<Index> index) {
  llvm::hash_code key = hash_value(tensor);
  for (const Index &i : index)
    key = llvm::hash_combine(key, hash_value(i));
  return key;
}

Value *ElementEmitter::lookup(Value tensor, ArrayRef<Index> index) {
  auto [first, last] = memo.equal_range(keyOf(tensor, index));
  for (; first != last; ++first)
    if (first->second.tensor == tensor && ArrayRef<Index>(first->second.index) == index && visible(first->second.value))
      return &first->second.value;
  return nullptr;
}

void ElementEmitter::define(Value tensor, ArrayRef<Index> index, Value value) {
  memo.insert({keyOf(tensor, index), {tensor, IndexVector(index), value}});
}

// The keys of `remember` are longer than a tensor's rank, so they never equal an element's key.
static IndexVector tagged(ArrayRef<Index> index, int64_t tag) {
  IndexVector key(16, Index(tag));
  llvm::append_range(key, index);
  return key;
}
Value ElementEmitter::recall(Value tensor, ArrayRef<Index> index, int64_t tag) {
  Value *known = lookup(tensor, tagged(index, tag));
  return known ? *known : Value();
}
void ElementEmitter::remember(Value tensor, ArrayRef<Index> index, int64_t tag, Value value) {
  define(tensor, tagged(index, tag), value);
}

Value ElementEmitter::element(Value tensor, ArrayRef<Index> index) {
  // An extent of 1 has one index, however it is written; with constant 0 there are fewer distinct keys.
  IndexVector plain(index);
  ArrayRef<int64_t> shape = graph::shapeOf(tensor);
  for (auto [i, n] : llvm::zip_equal(plain, shape))
    if (n == 1)
      i = Index(0);
  if (Value *known = lookup(tensor, plain))
    return *known;

  Value value;
  auto buffer = buffers.find(tensor);
  if (buffer != buffers.end()) {
    value = load(buffer->second, linearize(plain, shape));
  } else {
    Operation *op = tensor.getDefiningOp();
    assert(op && "an input of the dispatch has a buffer");
    auto model = dyn_cast<ElementalOpInterface>(op);
    if (!model) {
      if (!hasFailed)
        (void)emitErrorWithHint(
            op->getLoc(), "'" + op->getName().getStringRef() + "' op has no lowering to loops",
            "composite ops need mpc-decompose first; matmul and convolutions need a dispatch of the form contraction");
      hasFailed = true;
      return constant(registerType(graph::elementOf(tensor)), 0);
    }
    Location outer = b.getLoc();
    b.setLoc(op->getLoc());
    value = model.emitElement(cast<OpResult>(tensor).getResultNumber(), plain, *this);
    b.setLoc(outer);
  }
  define(tensor, plain, value);
  return value;
}

Value ElementEmitter::broadcastOperand(Operation *op, unsigned i, ArrayRef<Index> index) {
  Value x = op->getOperand(i);
  return element(x, index.take_back(graph::typeOf(x).getRank())); // `element` pins extents of 1 to index 0
}

//===-- Loads and stores --------------------------------------------------------------===//

Type ElementEmitter::registerType(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), integer.getWidth());
  return graph::computeType(element);
}

Type ElementEmitter::storageType(Type element) {
  MLIRContext *context = element.getContext();
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(context, std::max(8u, integer.getWidth()));
  if (graph::isFloat8(element))
    return IntegerType::get(context, 8);
  return element.isBF16() ? Type(IntegerType::get(context, 16)) : element;
}

/// The address of element `linear`. The variable part and the constant are separate steps, so that neighbours
/// share the first one.
static Value address(ElementEmitter &e, const Buffer &buffer, const Index &linear, Type storage) {
  Value at = buffer.pointer;
  Type pointer = at.getType(); // with its address space
  auto step = [&](Value by) {
    at = LLVM::GEPOp::create(e.b, pointer, storage, at, ValueRange{by}, LLVM::GEPNoWrapFlags::inbounds);
  };
  Index variable = linear - Index(linear.constant());
  if (!variable.isConstant())
    step(e.materialize(variable));
  if (linear.constant() != 0)
    step(e.i64(linear.constant()));
  return at;
}

Value ElementEmitter::load(const Buffer &buffer, const Index &linear) {
  Type element = buffer.type.getElementType(), storage = storageType(element);
  unsigned bytes = storage.getIntOrFloatBitWidth() / 8;
  auto op = LLVM::LoadOp::create(b, storage, address(*this, buffer, linear, storage), bytes);
  op.setAliasScopesAttr(buffer.aliasScopes);
  op.setNoaliasScopesAttr(buffer.noaliasScopes);
  Value v = op;
  if (element.isF16())
    return extend(b.getF32Type(), v);
  if (element.isBF16())
    return bitcast(b.getF32Type(), shiftLeft(zeroExtend(b.getI32Type(), v), 16));
  if (graph::isFloat8(element))
    return decodeFloat8(v, element);
  return element.isInteger(1) ? isNotZero(v) : v;
}

void ElementEmitter::store(const Buffer &buffer, const Index &linear, Value v) {
  Type element = buffer.type.getElementType(), storage = storageType(element);
  unsigned bytes = storage.getIntOrFloatBitWidth() / 8;
  if (element.isF16()) {
    v = truncate(element, v);
  } else if (element.isBF16()) {
    v = truncate(storage, shiftRight(bits(v), 16));
  } else if (graph::isFloat8(element)) {
    // A value that came from `round` or `load` has its code already.
    Value code = float8Codes.lookup(v);
    v = code ? code : create<kernel::EncodeFloat8Op>(storage, v, TypeAttr::get(element));
  } else if (element.isInteger(1)) {
    v = zeroExtend(storage, v);
  }
  auto op = LLVM::StoreOp::create(b, v, address(*this, buffer, linear, storage), bytes);
  op.setAliasScopesAttr(buffer.aliasScopes);
  op.setNoaliasScopesAttr(buffer.noaliasScopes);
}

//===-- Rounding ------------------------------------------------------------------------===//

/// Converts f64 to f32 by round to odd: a later rounding to at most 22 bits then gives the same as a single
/// rounding (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using
/// rounding to odd", 2008).
static Value truncateToOdd(ElementEmitter &e, Value wide) {
  Value nearest = e.truncate(e.b.getF32Type(), wide);
  Value back = e.extend(e.b.getF64Type(), nearest);
  Value bits = e.bits(nearest);
  // Comparing the magnitudes, as integers of the f64's bits, tells whether the value was rounded away from zero.
  Value exact = e.bitAnd(e.bits(wide), INT64_MAX), rounded = e.bitAnd(e.bits(back), INT64_MAX);
  Value away = e.compare(arith::CmpIPredicate::ugt, rounded, exact);
  Value towardZero = e.select(away, e.sub(bits, 1), bits);
  // The predicate is ordered and different, so a NaN stays what it is.
  Value inexact = e.compare(arith::CmpFPredicate::ONE, back, wide);
  return e.bitcast(e.b.getF32Type(), e.select(inexact, e.bitOr(towardZero, 1), bits));
}

Value ElementEmitter::decodeFloat8(Value code, Type element) {
  Value x = create<kernel::DecodeFloat8Op>(b.getF32Type(), code, TypeAttr::get(element));
  float8Codes[x] = code;
  return x;
}

Value ElementEmitter::round(Value f, Type element) {
  if (!graph::isLowPrecision(element) && !graph::isFloat8(element))
    return f;
  if (f.getType().isF64())
    f = truncateToOdd(*this, f);
  auto remember = [&](Value rounded) {
    beforeRounding[rounded] = f;
    return rounded;
  };
  if (graph::isFloat8(element))
    return remember(decodeFloat8(create<kernel::EncodeFloat8Op>(b.getI8Type(), f, TypeAttr::get(element)), element));
  if (element.isF16())
    return remember(extend(b.getF32Type(), truncate(element, f)));
  return remember(create<kernel::RoundBF16Op>(b.getF32Type(), f));
}

//===-- Tables ----------------------------------------------------------------------===//

Buffer ElementEmitter::constantBuffer(DenseElementsAttr values) {
  auto type = cast<RankedTensorType>(values.getType());
  Type element = type.getElementType(), storage = storageType(element);
  // Globals hold storage types: bits of bf16 and of 8-bit floats, bytes of booleans, signless integers.
  auto flat = RankedTensorType::get({type.getNumElements()}, storage);
  DenseElementsAttr data;
  if (element.isInteger(1)) {
    llvm::SmallVector<int8_t> bytes;
    for (bool v : values.getValues<bool>())
      bytes.push_back(v);
    data = DenseElementsAttr::get(flat, ArrayRef<int8_t>(bytes));
  } else {
    data = DenseElementsAttr::getFromRawBuffer(flat, values.getRawData());
  }
  auto arrayType = LLVM::LLVMArrayType::get(storage, type.getNumElements());
  LLVM::GlobalOp global;
  for (auto g : module.getOps<LLVM::GlobalOp>())
    if (g.getValueOrNull() == data && g.getGlobalType() == arrayType)
      global = g;
  OpBuilder::InsertionGuard guard(b);
  if (!global) {
    size_t count = llvm::range_size(module.getOps<LLVM::GlobalOp>());
    b.setInsertionPointToStart(module.getBody());
    global = LLVM::GlobalOp::create(b, arrayType, /*isConstant=*/true, LLVM::Linkage::Internal,
                                    "table" + std::to_string(count), data, /*alignment=*/64, tableAddressSpace);
  }
  b.setInsertionPointToStart(entry);
  return {LLVM::AddressOfOp::create(b, global), type, {}, {}};
}
