// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/PerClass.h"

#include "runtime/support/Error.h"
#include "runtime/support/Json.h"
#include "runtime/support/MappedFile.h"

#include <algorithm>

namespace mpc::rt {

std::vector<std::string> readClassNames(const std::string &path) {
  std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  std::vector<std::string> names;
  for (std::string_view rest = file->bytes(); !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    names.emplace_back(line);
  }
  while (!names.empty() && names.back().empty())
    names.pop_back();
  if (names.empty())
    fail(path, "holds no names of classes", "write the name of a class in each line, in the order of their numbers");
  return names;
}

/// Returns the names of the columns, and then a row for each class; "" stands for the share of no labels.
static std::vector<std::vector<std::string>> rowsOf(const Evaluation &evaluation, const std::vector<std::string> &names,
                                                    const std::string &path) {
  std::vector<const MetricResult *> metrics; // of the same number of classes
  for (const MetricResult &metric : evaluation.metrics)
    if (!metric.classes.empty() && (metrics.empty() || metric.classes.size() == metrics[0]->classes.size()))
      metrics.push_back(&metric);
  if (metrics.empty())
    fail("--per-class", "the program has no metric of classes", "compile it with --metric=accuracy, top5 or map");
  const size_t classes = metrics[0]->classes.size();
  if (!path.empty() && names.size() != classes)
    fail(path, concat("names ", names.size(), " classes; the program has ", classes),
         "write the name of a class in each line, in the order of their numbers");
  std::vector<std::vector<std::string>> rows(classes + 1);
  for (size_t r = 0; r < rows.size(); ++r) {
    auto add = [&](const char *title, const std::string &cell) { rows[r].push_back(r == 0 ? title : cell); };
    const size_t c = r - 1;
    add("class", concat(c));
    if (!names.empty())
      add("name", c < names.size() ? names[c] : ""); // wraps to a large number in the row of titles
    add("labels", r == 0 ? "" : concat(metrics[0]->classes[c].counted));
    for (const MetricResult *metric : metrics) {
      ClassCount of = r == 0 ? ClassCount() : metric->classes[c];
      add(metric->name.c_str(), of.counted > 0 ? concat(of.precision + double(of.correct) / double(of.counted)) : "");
    }
  }
  return rows;
}

std::string perClassText(const Evaluation &evaluation, const std::vector<std::string> &names, const std::string &path) {
  const std::vector<std::vector<std::string>> rows = rowsOf(evaluation, names, path);
  std::vector<size_t> widths(rows[0].size());
  for (const std::vector<std::string> &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const std::vector<std::string> &row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      std::string space(widths[i] - row[i].size(), ' ');
      bool isName = i == 1 && !names.empty(); // names begin at the left, numbers end at the right
      text += concat(i > 0 ? "  " : "", isName ? row[i] : space, isName ? space : row[i]);
    }
    text += '\n';
  }
  return text;
}

std::string perClassJson(const Evaluation &evaluation, const std::vector<std::string> &names, const std::string &path) {
  const std::vector<std::vector<std::string>> rows = rowsOf(evaluation, names, path);
  std::string text;
  for (size_t r = 1; r < rows.size(); ++r)
    for (size_t i = 0; i < rows[r].size(); ++i) {
      const std::string &cell = rows[r][i];
      bool isName = i == 1 && !names.empty();
      text += concat(i > 0   ? ", "
                     : r > 1 ? "}, {"
                             : ", \"classes\": [{",
                     json(rows[0][i]).dump(), ": ",
                     isName         ? json(cell).dump()
                     : cell.empty() ? "null"
                                    : cell);
    }
  return text + "}]";
}

} // namespace mpc::rt
