// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/LogFile.h"

#include "runtime/support/AtomicFile.h"
#include "runtime/support/Error.h"
#include "runtime/support/FileLock.h"
#include "runtime/support/MappedFile.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <fcntl.h>
#include <map>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace mpc::rt {

/// The text with which every line of a log begins, and that with which every table begins.
static constexpr std::string_view kLineBegin = "{\"step\":", kTableBegin = "step,epoch,time,at,loss,";

static bool isTable(const std::string &path) { return path.ends_with(".csv"); }

/// Throws unless an existing file is a log, because only a log may be overwritten or appended to. Its first line
/// may be incomplete.
static void checkIsLog(const std::string &path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
    return;
  std::string_view begin = isTable(path) ? kTableBegin : kLineBegin;
  if (!begin.starts_with(MappedFile::open(path)->bytes().substr(0, begin.size())))
    fail(path, "exists and is no log of a training", "give --log a file of its own");
}

/// Returns a field of a table, in quotes where it needs them (RFC 4180).
static std::string field(std::string text) {
  if (text.find_first_of(",\"\r\n") == text.npos)
    return text;
  for (size_t at = 0; (at = text.find('"', at)) != text.npos; at += 2)
    text.insert(at, 1, '"');
  return concat("\"", text, "\"");
}

/// Returns the first line of a table.
static std::string headerOf(const std::vector<std::string> &columns) {
  std::string line;
  for (const std::string &column : columns)
    line += concat(line.empty() ? "" : ",", field(column));
  return line;
}

/// Returns a table's lines whose step is at most `keepBelow`, behind its first line. Lines of others stay.
static std::string keptRows(const std::string &path, int64_t keepBelow, const std::string &header) {
  std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  std::string_view rest = file->bytes(), first = rest.substr(0, rest.find('\n'));
  std::string kept = header + "\n";
  if (first.size() == rest.size() && header.starts_with(first))
    return kept; // the file is empty, or a killed process has left a part of its first line
  if (first != header)
    fail(path, concat("has other columns than this training writes: '", first, "', not '", header, "'"),
         "give --log a new file, or resume with a program that has the same optimizers, metrics and --grad-norm");
  rest.remove_prefix(first.size() + 1);
  for (size_t end; (end = rest.find('\n')) != rest.npos; rest.remove_prefix(end + 1)) { // an unfinished line is dropped
    std::string_view line = rest.substr(0, end);
    double step = 0; // stays for a line of others
    std::from_chars(line.data(), line.data() + std::min(line.size(), line.find(',')), step);
    if (step <= double(keepBelow))
      kept.append(line).append(1, '\n');
  }
  return kept;
}

/// Returns the step with which a line of a log begins, if that is an integer. It is a double, so that it may be larger
/// than any step can be.
static std::optional<double> stepOf(std::string_view line) {
  if (!line.starts_with(kLineBegin))
    return std::nullopt;
  line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ', kLineBegin.size())));
  size_t digits = std::min(line.size(), line.find_first_not_of("-0123456789"));
  bool isInteger = digits > 0 && line.substr(digits).find_first_of(",} ") == 0;
  double step = HUGE_VAL; // stays where the number is too large
  return !isInteger || std::from_chars(line.data(), line.data() + digits, step).ec == std::errc::invalid_argument
             ? std::nullopt
             : std::optional(step);
}

/// Returns the lines of a log whose step is at most `keepBelow`.
static std::string keptLines(const std::string &path, int64_t keepBelow) {
  std::string kept;
  // A stream would take a failed allocation, or an error of the disk, for the file's end, and the other
  // lines would be lost.
  std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  for (std::string_view rest = file->bytes(); !rest.empty();) {
    size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    // A killed process leaves an unfinished line. (Only that line is parsed, because JSON values allocate in their
    // destructors, where nobody could report that memory is short.)
    bool unfinished = end == line.npos && json::parse(line, nullptr, /*allow_exceptions=*/false).is_discarded();
    if (!unfinished && stepOf(line).value_or(0) <= double(keepBelow))
      kept.append(line).append(1, '\n');
  }
  return kept;
}

namespace {
/// A file descriptor that is closed, and so unlocked, where an exception leaves its scope.
struct Descriptor {
  explicit Descriptor(int number) : number(number) {}
  Descriptor(Descriptor &&other) : number(std::exchange(other.number, -1)) {}
  Descriptor &operator=(Descriptor other) {
    std::swap(number, other.number);
    return *this;
  }
  ~Descriptor() {
    if (number >= 0)
      close(number);
  }
  int number;
};
} // namespace

/// Opens the log at its end and locks it, because a second training would mix its lines with ours.
static Descriptor openLocked(const std::string &path) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0666));
  if (file.number < 0)
    failErrno(path, "cannot write", errno);
  if (lockFile(file.number) == Lock::Busy)
    fail(path, "is the log of a training that runs", "wait for its end, or give --log a file of its own");
  return file;
}

namespace {
class LogFile final : public LogSink {
public:
  LogFile(const std::string &path, int64_t keepBelow, const std::vector<std::string> &columns);
  ~LogFile() override {
    if (file_)
      std::fclose(file_);
  }
  LogFile(const LogFile &) = delete;
  LogFile &operator=(const LogFile &) = delete;
  void write(const json &values) override;

private:
  void line(const std::string &text);
  std::string path_;
  std::vector<std::string> columns_; // empty: JSON
  std::FILE *file_ = nullptr;
};
} // namespace

LogFile::LogFile(const std::string &path, int64_t keepBelow, const std::vector<std::string> &columns) : path_(path) {
  if (isTable(path))
    columns_ = columns;
  struct stat info;
  Descriptor file(-1);
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    file = Descriptor(AtomicFile::openDevice(path));
  } else {
    checkIsLog(path);
    file = openLocked(path);
    if (keepBelow < 0 && ftruncate(file.number, 0) != 0)
      failErrno(path, "cannot write", errno);
    if (keepBelow >= 0) {
      AtomicFile kept(path);
      kept.write(isTable(path) ? keptRows(path, keepBelow, headerOf(columns)) : keptLines(path, keepBelow));
      kept.commit();
      file = openLocked(path); // the old file stays locked until the new one is
    }
  }
  file_ = fdopen(file.number, "a");
  if (!file_)
    failErrno(path, "cannot write", errno);
  file.number = -1; // the stream closes it
  if (isTable(path) && keepBelow < 0)
    line(headerOf(columns));
}

void LogFile::write(const json &values) {
  if (columns_.empty())
    return line(values.dump());
  std::map<std::string, std::string> cells;
  auto add = [&](const std::string &column, const json &value) {
    if (!value.is_null())
      cells[column] = value.is_string() ? value.get<std::string>() : value.dump();
  };
  for (const auto &[name, value] : values.items()) {
    if (!value.is_object()) {
      add(name, value);
      continue;
    }
    for (const auto &[step, report] : value.items())
      for (const auto &[key, number] : report.items())
        add(concat(name, ".", step, ".", key), number);
  }
  std::string text;
  for (const std::string &column : columns_) {
    std::string &cell = cells[column];
    text += concat(&column == columns_.data() ? "" : ",", cell == "null" ? "" : field(std::move(cell)));
  }
  line(text);
}

void LogFile::line(const std::string &text) {
  if (std::fputs((text + "\n").c_str(), file_) == EOF || std::fflush(file_) != 0)
    failErrno(path_, "cannot write the log", errno);
}

std::optional<double> numberOf(const json &value) {
  if (const double *number = value.get_ptr<const double *>())
    return *number;
  if (const uint64_t *number = value.get_ptr<const uint64_t *>())
    return double(*number);
  if (const int64_t *number = value.get_ptr<const int64_t *>())
    return double(*number);
  if (const bool *truth = value.get_ptr<const bool *>())
    return *truth;
  return value.is_null() ? std::optional<double>(NAN) : std::nullopt;
}

std::unique_ptr<LogSink> openLogFile(const std::string &path, int64_t keepBelow,
                                     const std::vector<std::string> &columns) {
  return std::make_unique<LogFile>(path, keepBelow, columns);
}

} // namespace mpc::rt
