// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/NonFinite.h"

#include "runtime/support/Error.h"

#include <algorithm>
#include <cmath>

namespace mpc::rt {

void Numbers::add(const void *data, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    double x = loadDouble(dtype, data, i);
    if (std::isfinite(x)) {
      low = std::min(low, x);
      high = std::max(high, x);
    } else {
      ++(std::isnan(x) ? nan : x > 0 ? above : below);
    }
  }
  count += int64_t(n);
}

namespace {
/// A tensor together with the result of scanning it.
struct Scanned : Numbers {
  const FloatTensor *tensor;
};

/// A dispatch, which may be several launches.
struct Record {
  const Launch *launch; // its last launch
  std::vector<Scanned> operands, results;
};

const Scanned *firstBad(const std::vector<Scanned> &tensors) {
  auto it = std::find_if(tensors.begin(), tensors.end(), [](const Scanned &t) { return !t.finite(); });
  return it == tensors.end() ? nullptr : &*it;
}

class Scan : public LaunchObserver {
public:
  explicit Scan(const Session &session) : session_(session) {}

  void before(const Launch &launch) override {
    if (!launch.operands.empty())
      operands_ = scan(launch.operands);
  }
  void after(const Launch &launch) override {
    if (!launch.results.empty()) {
      records.push_back({&launch, std::move(operands_), scan(launch.results)});
      operands_.clear();
    }
  }
  std::vector<Record> records;

private:
  std::vector<Scanned> scan(const std::vector<FloatTensor> &tensors) {
    std::vector<Scanned> all;
    for (const FloatTensor &tensor : tensors) {
      Scanned &now = all.emplace_back();
      now.tensor = &tensor;
      now.dtype = tensor.dtype;
      size_t size = sizeOf(tensor.dtype);
      std::byte piece[4096];
      for (int64_t at = 0; at < tensor.bytes(); at += int64_t(sizeof piece)) {
        size_t bytes = std::min(sizeof piece, size_t(tensor.bytes() - at));
        session_.device().read(tensor.offset + at, piece, bytes);
        now.add(piece, bytes / size);
      }
    }
    return all;
  }
  const Session &session_;
  std::vector<Scanned> operands_; // operands of the dispatch whose launches are running
};

class Search {
public:
  Search(const Session &session, const Entry &entry, const std::vector<Record> &records)
      : session_(session), entry_(entry), records_(records) {}

  /// Returns the number of the dispatch that the values which are not finite come from; nothing if all are finite.
  std::optional<size_t> origin() const;
  std::string describe(const Record &record) const;

private:
  /// Returns the dispatch before `end` that last wrote to these bytes.
  std::optional<size_t> producer(const FloatTensor &tensor, size_t end) const;
  std::string labelOf(const Scanned &operand, size_t record) const;

  const Session &session_;
  const Entry &entry_;
  const std::vector<Record> &records_;
};

std::optional<size_t> Search::producer(const FloatTensor &tensor, size_t end) const {
  while (end-- > 0)
    for (const Scanned &result : records_[end].results)
      if (result.tensor->offset < tensor.offset + tensor.bytes() &&
          tensor.offset < result.tensor->offset + result.tensor->bytes())
        return end;
  return std::nullopt;
}

std::optional<size_t> Search::origin() const {
  std::optional<size_t> start;
  const Port *loss = entry_.outputOfRole("loss");
  if (loss && elementsOf(loss->shape) > 0 && !std::isfinite(session_.readScalar(*loss)))
    start = producer({loss->offset, loss->dtype, 1}, records_.size());
  for (size_t i = records_.size(); !start && i-- > 0;)
    if (firstBad(records_[i].results))
      start = i;
  if (!start)
    return start;
  // The search is depth first. A NaN says more than an infinity, and +inf says more than -inf, because masks
  // are made of -inf.
  std::optional<size_t> deepest;
  std::vector<size_t> work = {*start};
  std::vector<bool> seen(records_.size());
  while (!work.empty()) {
    size_t at = work.back();
    work.pop_back();
    if (seen[at])
      continue;
    seen[at] = true;
    if (!firstBad(records_[at].operands))
      return at;
    size_t before = work.size();
    for (int rank = 0; rank < 3; ++rank)
      for (const Scanned &operand : records_[at].operands)
        if (!operand.finite() && rank == (operand.nan ? 2 : operand.above ? 1 : 0))
          if (std::optional<size_t> from = producer(*operand.tensor, at))
            work.push_back(*from);
    if (work.size() == before && !deepest)
      deepest = at; // the values that it read come from outside: data, parameters, constants
  }
  return deepest ? deepest : start;
}

/// Returns " 'x'" for an input or a variable, as long as nothing has been written over it.
std::string Search::labelOf(const Scanned &operand, size_t record) const {
  const FloatTensor &tensor = *operand.tensor;
  if (producer(tensor, record))
    return "";
  for (const Port &port : entry_.inputs)
    if (port.offset == tensor.offset)
      return concat(" '", port.name, "'");
  for (const Storage &storage : session_.plan().storage)
    if (storage.offset == tensor.offset) {
      const Variable *variable = session_.manifest().variable(storage.variable);
      if (variable->init.kind == Init::Copy)
        variable = session_.manifest().variable(variable->of);
      return concat(" '", variable->userName(), "'");
    }
  return "";
}

std::string Search::describe(const Record &record) const {
  constexpr size_t most = 6; // the number of operands and nodes that are listed
  size_t number = size_t(&record - records_.data());
  const Launch &launch = *record.launch;
  std::string text = concat("the first result that is not finite is that of '", launch.name, "'");
  std::vector<std::string> nodes = launch.nodes;
  if (nodes.empty() && !launch.loc.empty())
    nodes.push_back(launch.loc);
  for (size_t i = 0; i < std::min(nodes.size(), most); ++i)
    text += concat(i > 0 ? ", '" : nodes.size() > 1 ? " (nodes '" : " (node '", nodes[i], "'");
  text += nodes.size() > most ? concat(" and ", nodes.size() - most, " more)") : nodes.empty() ? "" : ")";
  if (const Scanned *bad = firstBad(record.results))
    text += concat(": ", bad->above + bad->below, " of ", bad->count, " ", nameOf(bad->dtype),
                   " numbers are infinite and ", bad->nan, " are NaN");
  size_t listed = 0;
  for (const Scanned &operand : record.operands) {
    if (listed++ == most) {
      text += concat(" and ", record.operands.size() - most, " more");
      break;
    }
    text += concat(listed == 1 ? "; it read " : ", ", nameOf(operand.dtype), labelOf(operand, number));
    if (operand.low <= operand.high)
      text += concat(" from ", operand.low + 0.0, " to ", operand.high + 0.0) /* + 0.0 turns -0 into 0 */;
    if (int64_t infinite = operand.above + operand.below)
      text += concat(" with ", infinite, " infinite");
    if (operand.nan)
      text += concat(" with ", operand.nan, " NaN");
  }
  return text;
}
} // namespace

std::set<std::string> nonFiniteParameters(const Session &session) {
  std::set<std::string> names;
  for (const Variable &variable : session.manifest().variables) {
    if (variable.role != "parameter" || !isFloat(variable.dtype) || !session.stores(variable.name))
      continue;
    Tensor values = session.variable(variable.name);
    Numbers numbers{variable.dtype};
    numbers.add(values.bytes.data(), size_t(values.elements()));
    if (!numbers.finite())
      names.insert(variable.name);
  }
  return names;
}

std::string firstNonFinite(Session &session, const Entry &entry) {
  Scan scan(session);
  session.runObserved(entry, scan);
  Search search(session, entry, scan.records);
  std::optional<size_t> origin = search.origin();
  return origin ? search.describe(scan.records[*origin]) : "";
}

} // namespace mpc::rt
