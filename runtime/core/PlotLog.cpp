// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/PlotLog.h"

#include "runtime/core/LogSink.h"
#include "runtime/support/Error.h"
#include "runtime/support/MappedFile.h"

#include <charconv>
#include <cmath>

namespace mpc::rt {

const std::vector<Point> &pointsOf(const std::vector<LogColumn> &columns, const std::string &name) {
  static const std::vector<Point> none;
  for (const LogColumn &column : columns)
    if (column.name == name)
      return column.points;
  return none;
}

namespace {
class Reader {
public:
  explicit Reader(const std::string &path) { log_.path = path; }
  TrainingLog read();

private:
  [[noreturn]] void failHere(const std::string &what) const;
  void takeRow(std::string_view line, bool whole);
  void takeJson(std::string_view line, bool whole);
  void begin(std::optional<double> step, bool evaluation);
  void add(const std::string &name, double value);

  int64_t line_ = 0; // its number, from 1
  std::vector<std::string> header_;
  double step_ = 0;                           // of the current line
  std::vector<LogColumn> *columns_ = nullptr; // those of the current line; null: it has no step
  TrainingLog log_;
};
} // namespace

void Reader::failHere(const std::string &what) const {
  fail(concat(log_.path, ":", line_), what,
       "give files that a training wrote with --log; those whose names end in .csv are tables, all others JSON lines");
}

/// Begins a line. One without a step belongs to others, and is left out.
void Reader::begin(std::optional<double> step, bool evaluation) {
  columns_ = !step || !std::isfinite(*step) ? nullptr : evaluation ? &log_.evaluations : &log_.steps;
  step_ = step.value_or(0);
}

/// Appends a value of the current line. It replaces those of the same step and of later ones.
void Reader::add(const std::string &name, double value) {
  if (!columns_)
    return;
  LogColumn *column = nullptr;
  for (LogColumn &known : *columns_)
    if (known.name == name)
      column = &known;
  if (!column) {
    column = &columns_->emplace_back();
    column->name = name;
  }
  while (!column->points.empty() && column->points.back().x >= step_)
    column->points.pop_back();
  column->points.push_back({step_, std::isfinite(value) ? value : NAN});
}

/// Returns the fields of a row of a table (RFC 4180). No field of a log has an end of line.
static std::vector<std::string> cellsOf(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
      cells.back() += line[++i];
    else if (line[i] == '"')
      quoted = !quoted;
    else if (line[i] == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += line[i];
  }
  return cells;
}

static std::optional<double> numberOf(const std::string &cell) {
  if (cell == "true" || cell == "false")
    return cell == "true";
  double number;
  auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  return error == std::errc() && end == cell.data() + cell.size() ? std::optional(number) : std::nullopt;
}

void Reader::takeRow(std::string_view line, bool whole) {
  std::vector<std::string> cells = cellsOf(line);
  if (header_.empty()) {
    if (cells[0] != "step")
      failHere("is no table of a training: its first column is not 'step'");
    header_ = std::move(cells);
    return;
  }
  if (cells.size() != header_.size() && !whole)
    return;
  if (cells.size() != header_.size())
    failHere(concat("has ", cells.size(), " fields, but the first line names ", header_.size()));
  if (!numberOf(cells[0]))
    failHere(concat("has the step '", cells[0], "', which is no number"));
  bool evaluation = false;
  for (size_t i = 0; i < cells.size(); ++i)
    evaluation |= header_[i] == "val_samples" && !cells[i].empty();
  begin(numberOf(cells[0]), evaluation);
  for (size_t i = 0; i < cells.size(); ++i) {
    if (std::optional<double> number = numberOf(cells[i]))
      add(header_[i], *number);
    // A loss that is not finite is an empty field. The learning rate of its step stands behind it.
    else if (cells[i].empty() && header_[i].ends_with("loss") && i + 1 < cells.size() && !cells[i + 1].empty() &&
             header_[i + 1].ends_with("lr"))
      add(header_[i], NAN);
  }
}

void Reader::takeJson(std::string_view line, bool whole) {
  json all = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!all.is_object() && !whole)
    return;
  if (!all.is_object())
    failHere(all.is_discarded() ? "is no JSON" : "is no JSON object");
  auto step = all.find("step");
  begin(step == all.end() ? std::nullopt : numberOf(*step), all.find("val_samples") != all.end());
  for (const auto &[name, value] : std::as_const(all).items()) {
    if (std::optional<double> number = numberOf(value))
      add(name, *number);
    if (name == "steps" && value.is_object())
      for (const auto &[optimizer, report] : value.items())
        for (const auto &[key, part] : report.items())
          if (std::optional<double> number = numberOf(part))
            add(concat("steps.", optimizer, ".", key), *number);
  }
}

TrainingLog Reader::read() {
  std::shared_ptr<const MappedFile> file = MappedFile::open(log_.path);
  for (std::string_view rest = file->bytes(); !rest.empty();) {
    const size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    ++line_;
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    if (line.find_first_not_of(" \t") != line.npos)
      log_.path.ends_with(".csv") ? takeRow(line, end != line.npos) : takeJson(line, end != line.npos);
  }
  if (log_.steps.empty() && log_.evaluations.empty())
    fail(log_.path, "holds no step and no evaluation of a training",
         "a training writes its first line after --log-every steps; a smaller number shows more");
  return std::move(log_);
}

TrainingLog readLog(const std::string &path) { return Reader(path).read(); }

} // namespace mpc::rt
