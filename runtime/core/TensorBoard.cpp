// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The messages are those of tensorboard/compat/proto/event.proto and summary.proto (TensorBoard 2), and the framing is
// that of TFRecord (tensorflow/core/lib/io/record_writer.h). Few fields are needed, so they are encoded here.
#include "runtime/core/TensorBoard.h"

#include "runtime/support/Error.h"
#include "runtime/support/Outputs.h"

#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace mpc::rt {

static constexpr std::string_view kPrefix = "events.out.tfevents.";

uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (char byte : bytes) { // without a table, because a line has a few hundred bytes
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ (0x82f63b78u & (0u - (crc & 1)));
  }
  return ~crc;
}

/// Appends the bytes of a fixed-width number, of which `bits` holds the pattern. Protocol buffers and TFRecord are
/// little endian, and so are the hosts that mpc compiles for.
template <typename Bits>
static void appendFixed(std::string &out, Bits bits) {
  static_assert(std::endian::native == std::endian::little);
  out.append(reinterpret_cast<const char *>(&bits), sizeof bits);
}

static void appendVarint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out += char(value | 0x80);
  out += char(value);
}

namespace {
/// The ways in which protocol buffers write a field.
enum Wire { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };
} // namespace

static void appendTag(std::string &out, int field, Wire wire) { out += char(field << 3 | wire); }

static void appendBytes(std::string &out, int field, std::string_view bytes) {
  appendTag(out, field, Bytes);
  appendVarint(out, bytes.size());
  out += bytes;
}

/// Returns a TFRecord: the length, its checksum, the data, and their checksum. Checksums are masked, so that data that
/// hold checksums have no special ones.
static std::string recordOf(std::string_view data) {
  auto appendMasked = [](std::string &out, std::string_view bytes) {
    appendFixed(out, std::rotr(crc32c(bytes), 15) + 0xa282ead8u);
  };
  std::string out;
  appendFixed(out, uint64_t(data.size()));
  appendMasked(out, out);
  out += data;
  appendMasked(out, data);
  return out;
}

/// Returns the greatest SECONDS in the names of a folder's event files, or 0.
static int64_t newestIn(const std::string &folder) {
  std::unique_ptr<DIR, int (*)(DIR *)> open(opendir(folder.c_str()), closedir);
  if (!open)
    failErrno(folder, "cannot be read", errno);
  int64_t newest = 0, seconds;
  while (const dirent *entry = readdir(open.get())) {
    std::string_view name = entry->d_name;
    if (!name.starts_with(kPrefix))
      continue;
    name.remove_prefix(kPrefix.size());
    if (std::from_chars(name.data(), name.data() + name.size(), seconds).ec == std::errc() && seconds < INT64_MAX)
      newest = std::max(newest, seconds);
  }
  return newest;
}

namespace {
class EventFile final : public LogSink {
public:
  EventFile(const std::string &folder, int64_t keepBelow);
  ~EventFile() override {
    if (file_ >= 0)
      close(file_);
  }
  EventFile(const EventFile &) = delete;
  EventFile &operator=(const EventFile &) = delete;
  void write(const json &values) override;

private:
  void event(int64_t step, int field, std::string_view content);
  std::string path_;
  int file_ = -1;
};
} // namespace

EventFile::EventFile(const std::string &folder, int64_t keepBelow) {
  if (!makeFolders(folder))
    fail(folder, "cannot create the folder for event files", "check the path of --tensorboard and its permissions");
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  int64_t seconds = std::max(int64_t(std::time(nullptr)), newestIn(folder) + 1);
  do // another process may make the same file now
    path_ = concat(folder, "/", kPrefix, seconds++, ".", host, ".mpc");
  while ((file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666)) < 0 &&
         errno == EEXIST);
  if (file_ < 0)
    failErrno(path_, "cannot write", errno);
  event(0, 3, "brain.Event:2");        // file_version
  event(keepBelow + 1, 7, "\x08\x01"); // session_log, whose field `status` is START
}

/// Writes an event: its time of day, its step, and a field that is a string or a message.
void EventFile::event(int64_t step, int field, std::string_view content) {
  std::string data;
  appendTag(data, 1, Fixed64);
  appendFixed(data, std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
  appendTag(data, 2, Varint);
  appendVarint(data, uint64_t(step));
  appendBytes(data, field, content);
  std::string record = recordOf(data);
  for (std::string_view rest = record; !rest.empty();) {
    ssize_t written = ::write(file_, rest.data(), rest.size());
    if (written < 0 && errno != EINTR)
      failErrno(path_, "cannot write the log", errno);
    rest.remove_prefix(size_t(std::max<ssize_t>(written, 0)));
  }
}

/// Appends a scalar to a summary.
static void appendScalar(std::string &summary, std::string_view tag, const json &value) {
  std::optional<double> number = numberOf(value);
  if (!number)
    return;
  std::string scalar;
  appendBytes(scalar, 1, tag);
  appendTag(scalar, 2, Fixed32); // simple_value
  appendFixed(scalar, float(*number));
  appendBytes(summary, 1, scalar);
}

/// Returns whether a value of a line has no scalar of its own.
static bool isLeftOut(std::string_view name) {
  for (std::string_view other : {"time", "val_loss_samples", "val_samples", "correct", "counted"})
    if (name == other)
      return true;
  return false;
}

void EventFile::write(const json &values) {
  const bool evaluation = values.find("val_samples") != values.end();
  const auto several = values.find("steps");
  std::string summary;
  int64_t step = 0;
  auto tagOf = [&](std::string_view name) {
    return name == "samples_per_s" ? "train/samples_per_second"
           : name == "val_loss"    ? "val/loss"
                                   : concat(evaluation ? "val/" : "train/", name);
  };
  for (const auto &[name, value] : values.items()) {
    if (name == "step") {
      step = int64_t(numberOf(value).value_or(0));
    } else if (name == "epoch") {
      if (!evaluation)
        appendScalar(summary, name, value);
    } else if (name == "steps") {
      for (const auto &[optimizer, report] : value.items())
        for (const auto &[key, number] : report.items())
          appendScalar(summary, concat(tagOf(key), "/", optimizer), number);
    } else if (!isLeftOut(name) &&
               (several == values.end() || several->begin()->find(name) == several->begin()->end())) {
      appendScalar(summary, tagOf(name), value);
    }
  }
  if (!summary.empty())
    event(step, 5, summary);
}

std::unique_ptr<LogSink> openEventFile(const std::string &folder, int64_t keepBelow) {
  return std::make_unique<EventFile>(folder, keepBelow);
}

} // namespace mpc::rt
