//===- Sink.cpp - the epilogue, and partial sums -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/HeroToGpu/Sink.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Analysis/Space.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

//===-- Epilogue ---------------------------------------------------------------------------------===//

Epilogue::Epilogue(const Problem &problem, ElementEmitter &e, llvm::SmallVector<Buffer> results, Value z, int64_t spanM,
                   int64_t spanN, int neighbours, RowParts parts)
    : problem(problem), e(e), results(std::move(results)), spanM(spanM), spanN(spanN),
      vector(problem.storeVector(neighbours)), parts(parts), matrix(z), z(symbolsOf(Axis::Z, z)) {}

Epilogue::Symbols Epilogue::symbolsOf(Axis axis, Value number) {
  Symbols symbols;
  const Digits &extents = problem.digits[unsigned(axis)];
  for (auto [d, extent] : llvm::enumerate(extents))
    symbols.push_back(e.addSymbol(axis == Axis::N && d + 1 == extents.size() ? extent / vector : extent));
  e.bindSymbols(symbols, e.zeroExtend(e.b.getI64Type(), number));
  return symbols;
}

Values Epilogue::initial(int columns) {
  return Values(problem.columnSums.size() * columns, e.constant(problem.accumulator(), 0));
}

Values Epilogue::put(Value m, Value n, ArrayRef<Value> sums, ValueRange state) {
  Code c(e.b);
  Values next(state);
  if (known.find(m) == known.end())
    known[m] = symbolsOf(Axis::M, m);
  Value inside = problem.m() % spanM != 0 ? c.below(m, problem.m()) : Value();
  for (size_t i = 0; i < sums.size(); i += vector) {
    Value first = c.add(n, i);
    Value number = c.div(first, vector);
    if (known.find(first) == known.end())
      known[first] = symbolsOf(Axis::N, number);
    Value also = problem.n() % spanN != 0 ? c.below(first, problem.n()) : Value();
    Value exists = c.both(inside, also);
    for (auto [position, at] : llvm::zip_equal(indexOf(m, first, 0), problem.c))
      if (at.checked) {
        bool never = false; // a position is inside for some sums at least, so this is not used
        exists = c.both(exists, e.inBounds(position, 0, at.extent, never));
      }
    auto compute = [&] {
      Elements computed = elements(m, first, sums.slice(i, vector));
      for (size_t r = 0; r < results.size(); ++r)
        for (int j = 0; j < vector; ++j) {
          auto &[linear, value] = computed.stores[j * results.size() + r];
          e.store(results[r], linear, value);
        }
      return computed.terms;
    };
    Values terms;
    if (problem.columnSums.empty() || !exists)
      c.when(exists, [&] { terms = compute(); });
    else // rows and columns beyond C add zeros
      terms =
          c.when(exists, llvm::SmallVector<Type>(problem.columnSums.size() * vector, problem.accumulator()), compute);
    for (auto [t, term] : llvm::enumerate(terms)) {
      Value &sum = next[t / vector * sums.size() + i + t % vector];
      sum = e.add(sum, term);
    }
  }
  return next;
}

void Epilogue::finish(Value part, Value n, ValueRange state) {
  if (state.empty())
    return;
  Code c(e.b);
  int bytes = problem.accumulator().getIntOrFloatBitWidth() / 8;
  size_t columns = state.size() / problem.columnSums.size();
  Value inMatrix = c.wide(part), number = c.add(c.mul(c.wide(matrix), parts.count / problem.z()), inMatrix);
  for (size_t s = 0; s < problem.columnSums.size(); ++s) {
    Value row = c.at(parts.scratch, c.mul(c.add(number, int64_t(s) * parts.count), problem.n() * bytes));
    for (size_t i = 0; i < columns; ++i) {
      Value column = c.add(n, i);
      c.when(problem.n() % spanN != 0 ? c.below(column, problem.n()) : Value(),
             [&] { c.store(state[s * columns + i], c.at(row, c.mul(c.wide(column), bytes)), bytes); });
    }
  }
}

llvm::SmallVector<Values> Epilogue::values(Value m, Value n, ArrayRef<Value> sums) {
  Code c(e.b);
  assert(int(sums.size()) == vector && "columns are whole neighbours");
  // Where a sum does not exist, the epilogue reads what the last existing sum reads.
  if (problem.m() % spanM != 0)
    m = c.min(m, problem.m() - 1);
  if (problem.n() % spanN != 0)
    n = c.min(n, problem.n() - vector);
  known[m] = symbolsOf(Axis::M, m);
  known[n] = symbolsOf(Axis::N, c.div(n, vector));
  Elements each = elements(m, n, sums);
  llvm::SmallVector<Values> byResult(results.size());
  for (auto [i, element] : llvm::enumerate(each.stores)) {
    size_t r = i % results.size();
    byResult[r].push_back(c.truncate(results[r].type.getElementType(), element.second));
  }
  return byResult;
}

IndexVector Epilogue::indexOf(Value m, Value n, int64_t neighbour) {
  const std::array<Symbols, axisCount> symbols = {known[m], known[n], Symbols(), z};
  IndexVector index;
  for (const Coordinate &at : problem.c) {
    Index position(at.constant);
    for (const Term &t : at.terms) {
      const Symbols &ofAxis = symbols[unsigned(t.axis)];
      Index digit = Index::symbol(ofAxis[t.digit]);
      if (t.axis == Axis::N && t.digit + 1 == ofAxis.size())
        digit = digit * vector + Index(neighbour);
      position = position + digit * t.coefficient;
    }
    index.push_back(position);
  }
  return index;
}

Epilogue::Elements Epilogue::elements(Value m, Value n, ArrayRef<Value> sums) {
  Value hero = problem.hero->getResult(0);
  ArrayRef<int64_t> shape = graph::shapeOf(hero);
  kernel::DispatchOp dispatch = problem.dispatch;
  ValueRange yielded = dispatch.yielded();
  Elements computed;
  computed.terms.resize(problem.columnSums.size() * sums.size());
  for (auto [j, sum] : llvm::enumerate(sums)) {
    IndexVector index = indexOf(m, n, int64_t(j));
    for (auto [position, extent] : llvm::zip_equal(index, shape))
      if (extent == 1)
        position = Index(0);
    e.define(hero, index, e.round(sum, problem.element()));
    Index linear = e.linearize(index, shape);
    auto indexIn = [&](Value tensor) {
      return graph::shapeOf(tensor) == shape ? index : e.delinearize(linear, graph::shapeOf(tensor));
    };
    // The values of reshapes of the sum are defined here: an index that came back through a reshape has
    // another form and would not be recognised as the sum's.
    for (auto reshape : dispatch.getBody().front().getOps<graph::ReshapeOp>())
      if (kernel::countOf(reshape.getY()) == kernel::countOf(hero)) {
        Value value = e.element(reshape.getX(), indexIn(reshape.getX()));
        e.define(reshape.getY(), indexIn(reshape.getY()), value);
      }
    for (unsigned r : problem.fullResults)
      computed.stores.push_back({linear, e.element(yielded[r], indexIn(yielded[r]))});
    for (auto [s, sum] : llvm::enumerate(problem.columnSums))
      computed.terms[s * sums.size() + j] = e.element(sum.op->getOperand(0), indexIn(sum.op->getOperand(0)));
  }
  return computed;
}

//===-- Partial sums --------------------------------------------------------------------------------===//

Partials::Partials(const Problem &problem, Code c, Value scratch, const BlockPlace &place, int neighbours)
    : problem(problem), c(c), spanM(place.spanM), spanN(place.spanN), vector(problem.storeVector(neighbours)) {
  int64_t bytes = problem.accumulator().getIntOrFloatBitWidth() / 8;
  Value inSplit = c.wide(place.z), matrix = c.add(c.mul(c.wide(place.split), problem.z()), inSplit);
  first = c.at(scratch, c.mul(matrix, problem.m() * problem.n() * bytes));
}

Values Partials::put(Value m, Value n, ArrayRef<Value> sums, ValueRange) {
  unsigned bytes = problem.accumulator().getIntOrFloatBitWidth() / 8;
  Value inside = problem.m() % spanM != 0 ? c.below(m, problem.m()) : Value();
  int piece = std::min<int>(vector, 16 / bytes);
  for (size_t i = 0; i < sums.size(); i += piece) {
    Value at = c.add(n, i);
    Value also = problem.n() % spanN != 0 ? c.below(at, problem.n()) : Value();
    c.when(c.both(inside, also), [&] {
      Value column = c.wide(at), element = c.add(c.mul(c.wide(m), problem.n()), column);
      Value pointer = c.at(first, c.mul(element, bytes));
      c.store(piece == 1 ? sums[i] : c.vector(sums.slice(i, piece)), pointer, piece * bytes);
    });
  }
  return {};
}
