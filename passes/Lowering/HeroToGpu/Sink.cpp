//===- Sink.cpp - the epilogue, and partial sums -----------------------------------------------===//
#include "passes/Lowering/HeroToGpu/Sink.h"
#include "dialects/Graph/IR/Shapes.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

//===-- Epilogue ---------------------------------------------------------------------------------===//

Epilogue::Epilogue(const Problem &problem, ElementEmitter &e, llvm::SmallVector<Buffer> results, Value z,
                   int tileM, int tileN, int neighbours)
    : problem(problem), e(e), results(std::move(results)), tileM(tileM), tileN(tileN),
      vector(problem.storeVector(neighbours)), z(symbolsOf(Axis::Z, z)) {}

Epilogue::Symbols Epilogue::symbolsOf(Axis axis, Value number) {
  Symbols symbols;
  const Digits &extents = problem.digits[unsigned(axis)];
  for (auto [d, extent] : llvm::enumerate(extents))
    symbols.push_back(e.addSymbol(axis == Axis::N && d + 1 == extents.size() ? extent / vector : extent));
  Code c{e.b};
  e.bindSymbols(symbols, c.wide(number));
  return symbols;
}

void Epilogue::put(Value m, Value n, ArrayRef<Value> sums) {
  Code c{e.b};
  if (known.find(m) == known.end())
    known[m] = symbolsOf(Axis::M, m);
  Value inside = problem.m() % tileM != 0 ? c.below(m, problem.m()) : Value();
  for (size_t i = 0; i < sums.size(); i += vector) {
    Value first = c.add(n, i);
    Value number = c.div(first, vector);
    if (known.find(first) == known.end())
      known[first] = symbolsOf(Axis::N, number);
    Value also = problem.n() % tileN != 0 ? c.below(first, problem.n()) : Value();
    c.when(c.both(inside, also), [&] { putVector(m, first, sums.slice(i, vector)); });
  }
}

void Epilogue::putVector(Value m, Value n, ArrayRef<Value> sums) {
  const std::array<Symbols, axisCount> symbols = {known[m], known[n], Symbols(), z};
  Value hero = problem.hero->getResult(0);
  ArrayRef<int64_t> shape = graph::shapeOf(hero);
  kernel::DispatchOp dispatch = problem.dispatch;
  ValueRange yielded = dispatch.getBody().front().getTerminator()->getOperands();
  // All values first: a result may share the buffer of an operand that is read at the same index.
  llvm::SmallVector<std::pair<Index, Value>> stores;
  for (auto [j, sum] : llvm::enumerate(sums)) {
    IndexVector index;
    for (const Coordinate &at : problem.c) {
      Index position(at.constant);
      for (const Term &t : at.terms) {
        Symbols ofAxis = symbols[unsigned(t.axis)];
        Index digit = Index::symbol(ofAxis[t.digit]);
        if (t.axis == Axis::N && t.digit + 1 == ofAxis.size())
          digit = digit * vector + Index(int64_t(j));
        position = position + digit * t.coefficient;
      }
      index.push_back(at.extent == 1 ? Index(0) : position);
    }
    e.define(hero, index, e.round(sum, problem.element()));
    Index linear = e.linearize(index, shape);
    for (Value result : yielded) {
      ArrayRef<int64_t> resultShape = graph::shapeOf(result);
      IndexVector own = resultShape == shape ? index : e.delinearize(linear, resultShape);
      stores.push_back({linear, e.element(result, own)});
    }
  }
  for (size_t r = 0; r < yielded.size(); ++r)
    for (size_t j = 0; j < sums.size(); ++j) {
      auto &[linear, value] = stores[j * yielded.size() + r];
      e.store(results[r], linear, value);
    }
}

//===-- Partial sums --------------------------------------------------------------------------------===//

Partials::Partials(const Problem &problem, Code c, Value scratch, Value split, Value z, int tileM, int tileN,
                   int neighbours)
    : problem(problem), c(c), tileM(tileM), tileN(tileN), vector(problem.storeVector(neighbours)) {
  int64_t bytes = problem.accumulator().getIntOrFloatBitWidth() / 8;
  Value matrix = c.add(c.mul(c.wide(split), problem.z()), c.wide(z));
  first = c.at(scratch, c.mul(matrix, problem.m() * problem.n() * bytes));
}

void Partials::put(Value m, Value n, ArrayRef<Value> sums) {
  unsigned bytes = problem.accumulator().getIntOrFloatBitWidth() / 8;
  Value inside = problem.m() % tileM != 0 ? c.below(m, problem.m()) : Value();
  int piece = std::min<int>(vector, 16 / bytes);
  for (size_t i = 0; i < sums.size(); i += piece) {
    Value at = c.add(n, i);
    Value also = problem.n() % tileN != 0 ? c.below(at, problem.n()) : Value();
    c.when(c.both(inside, also), [&] {
      Value element = c.add(c.mul(c.wide(m), problem.n()), c.wide(at));
      Value pointer = c.at(first, c.mul(element, bytes));
      c.store(piece == 1 ? sums[i] : c.vector(sums.slice(i, piece)), pointer, piece * bytes);
    });
  }
}
