// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists of pictures: comma-separated values as RFC 4180 describes them.
#include "runtime/images/ClassNames.h"
#include "runtime/images/File.h"
#include "runtime/images/Source.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <strings.h>

namespace mpc::images {

using rt::concat;
using rt::fail;

namespace {
constexpr char kColumns[] =
    "write a path and a label in each line, or only a path; a heading names the columns path and label";

/// Reads rows of fields. A field in quotes may hold commas, line ends and doubled quotes; spaces around others do not
/// count.
class Rows {
public:
  Rows(const std::string &path, std::string_view text) : path_(path), text_(text) {}

  /// Reads the next row that is not blank. Returns false at the end.
  bool next(std::vector<std::string> &fields) {
    while (at_ < text_.size()) {
      line_ = nextLine_;
      fields.clear();
      do
        fields.push_back(field());
      while (take(','));
      if (!endOfLine())
        fail(where(), "has text behind a field in quotes", "write two quotes for a quote within a field");
      if (fields.size() > 1 || !fields[0].empty())
        return true;
    }
    return false;
  }
  /// Returns the place of the row: "list.csv:3".
  std::string where() const { return concat(path_, ":", line_); }

private:
  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c)
      return false;
    ++at_;
    return true;
  }
  void skipSpaces() {
    while (take(' ') || take('\t')) {
    }
  }
  bool endOfLine() {
    if (at_ == text_.size())
      return true;
    take('\r');
    if (!take('\n') && text_[at_ - 1] != '\r')
      return false;
    ++nextLine_;
    return true;
  }
  std::string field() {
    skipSpaces();
    if (take('"'))
      return quoted();
    size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    std::string_view value = text_.substr(at_, end - at_);
    at_ = end;
    size_t last = value.find_last_not_of(" \t");
    return std::string(value.substr(0, last + 1));
  }
  std::string quoted() {
    std::string value;
    do {
      size_t end = text_.find('"', at_);
      if (end == text_.npos)
        fail(where(), "has a quote that does not end", "write two quotes for a quote within a field");
      std::string_view part = text_.substr(at_, end - at_);
      nextLine_ += std::count(part.begin(), part.end(), '\n');
      value += part;
      at_ = end + 1;
      if (at_ < text_.size() && text_[at_] == '"')
        value += '"';
    } while (take('"'));
    skipSpaces();
    return value;
  }

  const std::string &path_;
  std::string_view text_;
  size_t at_ = 0;
  int64_t line_ = 1, nextLine_ = 1;
};

/// Says which columns hold paths and labels.
struct Columns {
  size_t count = 0, path = 0, label = 1;
  bool heading = false;
  bool labels() const { return label < count; }
};

Columns columnsOf(const std::vector<std::string> &first, const std::string &where) {
  auto find = [&](const char *name) {
    auto is = [&](const std::string &field) { return strcasecmp(field.c_str(), name) == 0; };
    return size_t(std::find_if(first.begin(), first.end(), is) - first.begin());
  };
  Columns columns{first.size(), find("path"), find("label"), true};
  if (columns.path == columns.count) {
    columns = {first.size(), 0, 1, false};
    if (columns.count > 2)
      fail(where, concat("has ", columns.count, " columns, and no heading names them"), kColumns);
  } else if (columns.count > 1 && !columns.labels()) {
    fail(where, "has a heading without a column label", kColumns);
  }
  return columns;
}
} // namespace

std::unique_ptr<const Source> openList(const std::string &path) {
  const std::string text = readText(path, "list");
  Rows rows(path, text);
  std::vector<std::string> fields;
  if (!rows.next(fields))
    fail(path, "is an empty list", kColumns);
  Columns columns = columnsOf(fields, rows.where());
  auto source = std::make_unique<Source>(path.substr(0, path.rfind('/') + 1));
  ClassNames classes;
  std::string first;
  for (bool more = !columns.heading || rows.next(fields); more; more = rows.next(fields)) {
    if (fields.size() != columns.count)
      fail(rows.where(),
           concat("has ", fields.size(), fields.size() == 1 ? " column" : " columns", " where the lines before have ",
                  columns.count),
           kColumns);
    const std::string &name = fields[columns.path];
    if (name.empty())
      fail(rows.where(), "has no path", kColumns);
    if (columns.labels() && fields[columns.label].empty())
      fail(rows.where(), "has no label", kColumns);
    // A first line of other words than "path" and "label" would otherwise be a sample and a class.
    if (source->samples() == 0)
      first = name;
    else if (source->samples() == 1 && !columns.heading && !isPictureName(first) && isPictureName(name))
      fail(path + ":1", concat("begins with '", first, "', which is no picture's name"), kColumns);
    source->add(name, columns.labels() ? classes.add(fields[columns.label]) : -1);
  }
  if (source->samples() == 0)
    fail(path, "names no picture", kColumns);
  if (columns.labels()) {
    if (int64_t(classes.size()) > kMostClasses)
      fail(path, concat("has ", classes.size(), " different labels; at most ", kMostClasses, " classes are read"),
           "write a class, not a number of the picture, behind each path");
    std::vector<std::string> names;
    source->renumber(classes.numbered(path, names));
    source->setClasses(std::move(names));
  }
  return source;
}

} // namespace mpc::images
