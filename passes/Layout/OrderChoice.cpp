// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Layout/OrderChoice.h"
#include <queue>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::layout;

/// The most axes that one walk looks at. Few axes come before another: in a transformer, samples and tokens before all
/// others, and heads. (Very many may come behind one, so walks go from an axis to those before it.)
static constexpr size_t kLongestWalk = 256;

//===-- Axes ---------------------------------------------------------------------===//

OrderChoice::Id OrderChoice::firstAxis(Value v) {
  auto [it, isNew] = first.try_emplace(v, axes.size());
  if (!isNew)
    return it->second;
  values.push_back(v);
  for (int64_t size : shapeOf(v)) {
    Id id = axes.size();
    axes.push_back({.parent = id, .size = size, .after = {}});
    groups.push_back(it->second);
  }
  return it->second;
}

/// The axis that the axis has been united with. The forest is balanced by the size of its trees only through halving of
/// paths, which makes a walk O(log n) on average.
OrderChoice::Id OrderChoice::find(Id axis) {
  while (axes[axis].parent != axis)
    axis = axes[axis].parent = axes[axes[axis].parent].parent;
  return axis;
}
/// The first axis of the value that stands for all values that are tied to that of this axis.
OrderChoice::Id OrderChoice::group(Id member) {
  while (groups[member] != member)
    member = groups[member] = groups[groups[member]];
  return member;
}

void OrderChoice::appendDigits(Id axis, Digits &digits) {
  int64_t size = axes[axis].size;
  axis = find(axis);
  if (!axes[axis].isSplit) {
    digits.push_back({axis, size});
    return;
  }
  appendDigits(axes[axis].outer, digits);
  appendDigits(axes[axis].inner, digits);
}
OrderChoice::Digits OrderChoice::digitsOf(Value v, int64_t dim) {
  Digits digits;
  appendDigits(firstAxis(v) + dim, digits);
  return digits;
}
OrderChoice::Digits OrderChoice::digitsOf(Value v) {
  Digits digits;
  for (Id dim = 0; dim < typeOf(v).getRank(); ++dim)
    appendDigits(firstAxis(v) + dim, digits);
  return digits;
}

void OrderChoice::splitAxis(Id axis, int64_t inner) {
  Axis old = axes[axis];
  Id low = axes.size(), high = low + 1;
  axes.push_back({.parent = low, .size = inner, .ordered = old.ordered, .after = old.after});
  axes.push_back({.parent = high, .size = old.size / inner, .ordered = old.ordered, .after = old.after});
  groups.append(2, 0);
  if (old.ordered)
    axes[low].after.push_back(high);
  axes[axis].isSplit = true;
  axes[axis].outer = high, axes[axis].inner = low;
}

/// Removes the digits of size 1, which may stand anywhere, unless there is nothing else to pair.
static void dropUnits(auto &x, auto &y) {
  if (x.size() == 1 && y.size() == 1)
    return;
  auto isUnit = [](const auto &digit) { return digit.size == 1; };
  llvm::erase_if(x, isUnit);
  llvm::erase_if(y, isUnit);
}

/// Whether the digits can be paired, the innermost first, where a digit that is a multiple of the other is split.
bool OrderChoice::canAlign(Digits x, Digits y) {
  dropUnits(x, y);
  bool single = x.size() == 1 && y.size() == 1;
  while (!x.empty() && !y.empty()) {
    Digit &a = x.back(), &b = y.back();
    bool whole = axes[a.axis].whole || axes[b.axis].whole;
    if (a.size == b.size || (whole && single)) {
      x.pop_back(), y.pop_back();
      continue;
    }
    Digits &larger = a.size > b.size ? x : y, &smaller = a.size > b.size ? y : x;
    if (whole || smaller.back().size == 0 || larger.back().size % smaller.back().size != 0)
      return false;
    larger.back().size /= smaller.back().size;
    smaller.pop_back();
  }
  return x.empty() && y.empty();
}
/// Splits axes so that digits pair, and appends the pairs. canAlign has said that this is possible.
void OrderChoice::align(Digits x, Digits y, SmallVectorImpl<std::pair<Id, Id>> &pairs) {
  dropUnits(x, y);
  while (!x.empty()) {
    Digit a = x.pop_back_val(), b = y.pop_back_val();
    if (a.size != b.size && !axes[a.axis].whole && !axes[b.axis].whole) {
      bool first = a.size > b.size;
      Digit &large = first ? a : b;
      splitAxis(large.axis, first ? b.size : a.size);
      (first ? x : y).push_back({axes[large.axis].outer, axes[axes[large.axis].outer].size});
      large.axis = axes[large.axis].inner;
    }
    pairs.push_back({a.axis, b.axis});
  }
}

/// Unites two axes. Each axis in front of them is listed once.
void OrderChoice::unite(Id x, Id y) {
  x = find(x), y = find(y);
  if (axes[x].after.size() < axes[y].after.size())
    std::swap(x, y);
  axes[y].parent = x;
  Axis &united = axes[x];
  united.after.append(axes[y].after);
  axes[y].after.clear();
  for (Id &front : united.after)
    front = find(front);
  llvm::sort(united.after);
  united.after.erase(llvm::unique(united.after), united.after.end());
  united.whole |= axes[y].whole;
  united.ordered |= axes[y].ordered;
}

//===-- Demands ------------------------------------------------------------------===//

void OrderChoice::tie(Value x, Value y, SmallVector<DimPair, 6> dims, Rank rank) {
  firstAxis(x), firstAxis(y);
  demands.push_back({std::min(bytesOf(x), bytesOf(y)), rank, x, y, std::move(dims), {}});
}
void OrderChoice::tieReshape(Value x, Value y) { tie(x, y, {}); }
void OrderChoice::wish(Value v, SmallVector<DimPair, 6> before, SmallVector<int64_t, 6> whole, Rank rank) {
  firstAxis(v);
  demands.push_back({rank == Rank::Prefer ? 0 : bytesOf(v), rank, v, Value(), std::move(before), std::move(whole)});
}
void OrderChoice::wishOrder(Value v, ArrayRef<int64_t> dims, Rank rank) {
  SmallVector<DimPair, 6> before;
  for (size_t i = 1; i < dims.size(); ++i)
    before.push_back({dims[i - 1], dims[i]});
  wish(v, std::move(before), SmallVector<int64_t, 6>(dims), rank);
}
void OrderChoice::keepWhole(Value v, int64_t dim) { axes[firstAxis(v) + dim].whole = true; }

/// Returns which of the axes come before which others, through any axes.
OrderChoice::Relation OrderChoice::relationOf(ArrayRef<Id> some) {
  llvm::SmallDenseMap<Id, unsigned> positions;
  for (auto [i, axis] : llvm::enumerate(some))
    positions[axis] = i;
  Relation result(some.size(), llvm::SmallBitVector(some.size()));
  for (auto [i, last] : llvm::enumerate(some)) {
    SmallVector<Id> work{last};
    llvm::SmallDenseSet<Id, 16> seen;
    while (!work.empty()) {
      Digits front;
      for (Id axis : axes[work.pop_back_val()].after)
        appendDigits(axis, front);
      for (const Digit &digit : front) {
        if (!seen.insert(digit.axis).second)
          continue;
        if (auto it = positions.find(digit.axis); it != positions.end())
          result[it->second].set(i);
        work.push_back(digit.axis);
      }
      if (seen.size() > kLongestWalk) {
        result[i].set(i); // an axis that comes before itself contradicts everything
        return result;
      }
    }
  }
  return result;
}

/// Whether no axis comes before itself, if both relations hold.
static bool areCompatible(const auto &a, const auto &b) {
  llvm::SmallBitVector left(a.size(), true);
  for (bool changed = true; changed && left.any();) {
    changed = false;
    for (unsigned i : llvm::SmallVector<unsigned>(left.set_bits_begin(), left.set_bits_end()))
      if (!a[i].anyCommon(left) && !b[i].anyCommon(left)) {
        left.reset(i);
        changed = true;
      }
  }
  return left.none();
}

void OrderChoice::grantTie(const Demand &demand) {
  if (group(firstAxis(demand.x)) == group(firstAxis(demand.y)))
    return;
  SmallVector<std::pair<Digits, Digits>, 0> sides;
  for (DimPair dims : demand.dims)
    sides.push_back({digitsOf(demand.x, dims.x), digitsOf(demand.y, dims.y)});
  if (demand.dims.empty())
    sides.push_back({digitsOf(demand.x), digitsOf(demand.y)});
  if (!llvm::all_of(sides, [&](const auto &side) { return canAlign(side.first, side.second); }))
    return;
  SmallVector<std::pair<Id, Id>> pairs;
  for (const auto &[x, y] : sides)
    align(x, y, pairs);
  SmallVector<Id> xs, ys;
  for (auto [x, y] : pairs)
    xs.push_back(x), ys.push_back(y);
  if (pairs.empty() || !areCompatible(relationOf(xs), relationOf(ys)))
    return;
  for (auto [x, y] : pairs)
    unite(x, y);
  groups[group(firstAxis(demand.x))] = group(firstAxis(demand.y));
}

bool OrderChoice::grantBefore(Value v, ArrayRef<DimPair> before, ArrayRef<int64_t> whole) {
  // The axes of each dimension that is spoken of, as places in `some`.
  SmallVector<Id> some;
  SmallVector<SmallVector<unsigned>> places(typeOf(v).getRank());
  llvm::SmallBitVector named(places.size());
  for (int64_t dim : whole)
    named.set(dim);
  for (DimPair dims : before)
    named.set(dims.x), named.set(dims.y);
  for (unsigned dim : named.set_bits())
    for (const Digit &digit : digitsOf(v, dim)) {
      places[dim].push_back(some.size());
      some.push_back(digit.axis);
    }
  SmallVector<std::pair<unsigned, unsigned>> asked;
  for (int64_t dim : whole)
    for (size_t i = 1; i < places[dim].size(); ++i)
      asked.push_back({places[dim][i - 1], places[dim][i]});
  for (DimPair dims : before)
    for (unsigned x : places[dims.x])
      for (unsigned y : places[dims.y])
        asked.push_back({x, y});
  Relation granted = relationOf(some), wanted(some.size(), llvm::SmallBitVector(some.size()));
  for (auto [x, y] : asked)
    wanted[x].set(y);
  if (!areCompatible(granted, wanted))
    return false;
  for (auto [x, y] : asked)
    if (!granted[x].test(y))
      axes[some[y]].after.push_back(some[x]);
  for (int64_t dim : whole)
    for (unsigned i : places[dim])
      axes[some[i]].ordered = true;
  return true;
}

void OrderChoice::grantWish(const Demand &demand) {
  if (demand.rank == Rank::Together) {
    // One axis on each side lies together in any order.
    auto isSingle = [&](bool first) {
      llvm::SmallDenseSet<Id> side;
      for (DimPair dims : demand.dims)
        for (const Digit &digit : digitsOf(demand.x, first ? dims.x : dims.y))
          if (digit.size != 1)
            side.insert(digit.axis);
      return side.size() <= 1;
    };
    if (isSingle(true) && isSingle(false))
      return;
  }
  if (grantBefore(demand.x, demand.dims, demand.whole) || demand.rank != Rank::Together)
    return;
  grantBefore(demand.x, llvm::map_to_vector(demand.dims, [](DimPair dims) { return DimPair{dims.y, dims.x}; }),
              demand.whole);
}

//===-- The choice -----------------------------------------------------------------===//

void OrderChoice::solve() {
  llvm::stable_sort(demands, [](const Demand &a, const Demand &b) {
    return std::pair(-a.bytes, a.rank) < std::pair(-b.bytes, b.rank);
  });
  for (const Demand &demand : demands)
    demand.y ? grantTie(demand) : grantWish(demand);
  preferProgramOrder();
  number();
}

/// What is open becomes the order of the program, of the largest values first.
void OrderChoice::preferProgramOrder() {
  SmallVector<Value, 0> largest(values);
  llvm::stable_sort(largest, [](Value a, Value b) { return bytesOf(a) > bytesOf(b); });
  for (Value v : largest) {
    Digits digits = digitsOf(v);
    for (size_t i = 1; i < digits.size(); ++i) {
      Id pair[] = {digits[i - 1].axis, digits[i].axis};
      Relation known = relationOf(pair);
      if (known[0].none() && known[1].none())
        axes[pair[1]].after.push_back(pair[0]);
    }
  }
}

/// Numbers the axes so that each comes behind those that its list names; where two may come next, the one that the
/// program has first.
void OrderChoice::number() {
  SmallVector<unsigned, 0> missing(axes.size(), 0);
  std::vector<SmallVector<Id, 4>> behind(axes.size());
  auto isLeaf = [&](Id axis) { return axes[axis].parent == axis && !axes[axis].isSplit; };
  for (Id axis = 0; axis < axes.size(); ++axis) {
    if (!isLeaf(axis))
      continue;
    Digits front;
    for (Id before : axes[axis].after)
      appendDigits(before, front);
    for (const Digit &digit : front)
      behind[digit.axis].push_back(axis);
    missing[axis] = front.size();
  }
  std::priority_queue<Id, std::vector<Id>, std::greater<Id>> ready;
  for (Id axis = 0; axis < axes.size(); ++axis)
    if (isLeaf(axis) && missing[axis] == 0)
      ready.push(axis);
  numbers.assign(axes.size(), 0);
  for (int64_t count = 0; !ready.empty(); ++count) {
    Id axis = ready.top();
    ready.pop();
    numbers[axis] = count;
    for (Id next : behind[axis])
      if (--missing[next] == 0)
        ready.push(next);
  }
}

Order OrderChoice::orderOf(Value v) {
  if (!first.contains(v))
    return Order::identity(shapeOf(v));
  SmallVector<std::pair<int64_t, Piece>> pieces;
  for (int64_t dim = 0; dim < typeOf(v).getRank(); ++dim) {
    int64_t stride = 1;
    Digits digits = digitsOf(v, dim);
    for (const Digit &digit : llvm::reverse(digits)) {
      pieces.push_back({numbers[digit.axis], {dim, stride, digit.size}});
      stride *= digit.size;
    }
  }
  llvm::stable_sort(pieces, llvm::less_first());
  return Order(llvm::map_to_vector(pieces, [](const auto &numbered) { return numbered.second; }));
}
