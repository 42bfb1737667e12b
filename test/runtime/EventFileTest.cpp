// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// TensorBoard's event files: framing, checksums, tags, and what a resumed training adds.
// test/torch/tensorboard_checks.py reads them with TensorBoard.

#include "LogisticProgram.h"
#include "runtime/core/Log.h"
#include "runtime/core/TensorBoard.h"
#include "runtime/core/Train.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>

using namespace mpc::rt;
using namespace mpc::rt::test;

namespace {
struct Event {
  double wall = 0;
  int64_t step = 0;
  std::string version;
  bool start = false;
  std::map<std::string, float> scalars;
};

/// Reads the fields of a message: `field(number, integer or bits, bytes)`.
void readFields(std::string_view bytes, const std::function<void(int, uint64_t, std::string_view)> &field) {
  auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      uint8_t byte = uint8_t(bytes.at(0));
      bytes.remove_prefix(1);
      value |= uint64_t(byte & 0x7f) << shift;
      if (byte < 0x80)
        break;
    }
    return value;
  };
  while (!bytes.empty()) {
    uint64_t tag = varint(), value = 0;
    size_t size = 0;
    switch (tag & 7) {
    case 0:
      value = varint();
      break;
    case 1:
    case 5:
      size = (tag & 7) == 1 ? 8 : 4;
      ASSERT_GE(bytes.size(), size);
      std::memcpy(&value, bytes.data(), size);
      break;
    case 2:
      size = varint();
      ASSERT_GE(bytes.size(), size);
      break;
    default:
      FAIL() << "wire type " << (tag & 7);
    }
    field(int(tag >> 3), value, bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
}

/// A checksum by the definition: the remainder of a division of polynomials, with the bits of each byte reversed. It
/// shares nothing with the code that it checks.
uint32_t maskedChecksum(std::string_view bytes) {
  std::vector<bool> bits;
  for (unsigned char byte : bytes)
    for (int i = 0; i < 8; ++i)
      bits.push_back(byte >> i & 1);
  bits.insert(bits.end(), 32, false);
  for (size_t i = 0; i < 32; ++i)
    bits[i] = !bits[i];
  constexpr uint32_t kPolynomial = 0x1edc6f41;
  for (size_t i = 0; i + 32 < bits.size(); ++i)
    if (bits[i])
      for (size_t k = 0; k < 32; ++k)
        bits[i + 1 + k] = bits[i + 1 + k] != ((kPolynomial >> (31 - k) & 1) != 0);
  uint32_t crc = 0;
  for (size_t i = 0; i < 32; ++i)
    crc |= uint32_t(!bits[bits.size() - 32 + i]) << i;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

std::vector<Event> eventsIn(const std::string &path) {
  std::vector<Event> events;
  std::string file = readFile(path);
  for (std::string_view rest = file; !rest.empty();) {
    uint64_t size = 0;
    uint32_t ofSize = 0, ofData = 0;
    EXPECT_GE(rest.size(), 16u);
    std::memcpy(&size, rest.data(), 8);
    std::memcpy(&ofSize, rest.data() + 8, 4);
    EXPECT_EQ(ofSize, maskedChecksum(rest.substr(0, 8)));
    if (::testing::Test::HasFailure() || rest.size() < 16 + size) {
      ADD_FAILURE() << path << " is no whole number of records";
      return events;
    }
    std::string_view data = rest.substr(12, size);
    std::memcpy(&ofData, rest.data() + 12 + size, 4);
    EXPECT_EQ(ofData, maskedChecksum(data));
    rest.remove_prefix(16 + size);
    Event event;
    readFields(data, [&](int field, uint64_t value, std::string_view bytes) {
      if (field == 1)
        std::memcpy(&event.wall, &value, 8);
      else if (field == 2)
        event.step = int64_t(value);
      else if (field == 3)
        event.version = bytes;
      else if (field == 7)
        readFields(bytes,
                   [&](int inner, uint64_t status, std::string_view) { event.start = inner == 1 && status == 1; });
      else
        readFields(bytes, [&](int, uint64_t, std::string_view scalar) {
          std::string tag;
          readFields(scalar, [&](int inner, uint64_t bits, std::string_view name) {
            if (inner == 1)
              tag = name;
            else
              std::memcpy(&event.scalars[tag], &bits, 4);
          });
        });
    });
    events.push_back(event);
  }
  return events;
}

std::vector<std::string> filesIn(const std::string &folder) {
  std::vector<std::string> files;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

class EventFiles : public ::testing::Test {
protected:
  void SetUp() override {
    options.data.files = {writeLogisticData(folder / "train.npz", 200)}; // 50 batches of 4
    options.tensorBoard = folder / "runs/first";
    options.seed = 5;
    options.logEvery = 10;
  }
  void trainOnce() {
    SessionOptions one;
    one.threads = 1;
    Session session(logisticProgram(), one);
    train(session, options);
  }
  TemporaryFolder folder;
  TrainOptions options;
};
} // namespace

TEST(Crc32c, IsThatOfTheStandard) { // RFC 3720, appendix B.4
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
}

TEST_F(EventFiles, HoldWhatTheLogHolds) {
  options.validation = {writeLogisticData(folder / "val.npz", 501, 2)};
  options.injectInf = {20};
  double before = double(std::time(nullptr));
  trainOnce();
  ASSERT_EQ(filesIn(options.tensorBoard).size(), 1u);
  std::string path = filesIn(options.tensorBoard)[0], name = std::filesystem::path(path).filename();
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  EXPECT_TRUE(name.starts_with("events.out.tfevents.") && name.ends_with(std::string(".") + host + ".mpc")) << name;
  std::vector<Event> events = eventsIn(path);
  ASSERT_EQ(events.size(), 2u + 5u + 1u);
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_TRUE(events[1].start);
  EXPECT_EQ(events[1].step, 0);
  for (const Event &event : events) {
    EXPECT_GE(event.wall, before);
    EXPECT_LT(event.wall, before + 600);
  }
  for (size_t i = 2; i < 7; ++i) {
    auto &scalars = events[i].scalars;
    EXPECT_EQ(events[i].step, 10 * (int64_t(i) - 1));
    EXPECT_EQ(scalars.size(), 6u);
    EXPECT_EQ(scalars.at("epoch"), 1);
    EXPECT_FLOAT_EQ(scalars.at("train/lr"), 0.1f);
    EXPECT_EQ(scalars.at("train/skipped"), i == 3 ? 1 : 0);
    EXPECT_EQ(scalars.at("train/scale"), i <= 3 ? 65536 : i < 6 ? 32768 : 65536); // it grows after 20 good updates
    EXPECT_GE(scalars.at("train/samples_per_second"), 0);
    EXPECT_GT(scalars.at("train/loss"), 0);
  }
  EXPECT_LT(events[6].scalars.at("train/loss"), events[2].scalars.at("train/loss"));
  const Event &evaluation = events[7];
  EXPECT_EQ(evaluation.step, 50);
  EXPECT_EQ(evaluation.scalars.size(), 2u);
  EXPECT_GT(evaluation.scalars.at("val/loss"), 0);
  EXPECT_GT(evaluation.scalars.at("val/accuracy"), 0.5);
}

TEST_F(EventFiles, AResumedTrainingSaysWhatItDoesAgain) {
  options.checkpointFolder = folder / "ckpt";
  options.log = folder / "run.jsonl";
  options.steps = 20;
  trainOnce();
  // The clock may go back, and runs may begin within a second: the new file is the last one all the same.
  writeFile(options.tensorBoard + "/events.out.tfevents.9999999998.other.v2", "");
  options.resume = true;
  options.steps = 40;
  trainOnce();
  std::vector<std::string> files = filesIn(options.tensorBoard);
  ASSERT_EQ(files.size(), 3u);
  EXPECT_NE(files[2].find("tfevents.9999999999."), std::string::npos) << files[2];
  std::vector<Event> events = eventsIn(files[2]);
  ASSERT_EQ(events.size(), 2u + 2u);
  EXPECT_TRUE(events[1].start);
  EXPECT_EQ(events[1].step, 21);
  EXPECT_EQ(events[2].step, 30);
}

TEST_F(EventFiles, ThatCannotBeWrittenAreErrors) {
  writeFile(folder / "file", "x");
  options.tensorBoard = folder / "file";
  EXPECT_NE(errorOf([&] { trainOnce(); })
                .text()
                .find("file: cannot create the folder for event files\nhint: check the path of --tensorboard"),
            std::string::npos);
}
