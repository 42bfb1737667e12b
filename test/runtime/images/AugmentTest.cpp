// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the plugin makes of pictures: sizes, crops, flips, colours, and which random numbers they depend on. How values
// and distributions compare with Pillow's and torchvision's, test/torch/augmentation_checks.py shows.
#include "Plugin.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

using namespace mpc::images::test;

namespace {
using Bytes = std::vector<uint8_t>;

/// Pictures [samples, channels, height, width] in memory.
struct Pictures {
  int channels, height, width;
  Bytes bytes;
};

/// What an input takes; see mpc_picture_input.
struct Wanted {
  int height, width;
  std::string transform = {}, augment = {};
  Bytes erased = {1, 2, 3};
};

struct Made {
  Bytes bytes; // empty if it failed
  std::string error;
};

Made make(const Pictures &from, const Wanted &wanted, int64_t sample = 0, int64_t epoch = 0, uint64_t seed = 0,
          bool random = true) {
  const mpc_picture_array array = {from.bytes.data(), from.channels, from.height, from.width, "data.npz: x"};
  const mpc_picture_input input = {from.channels,          wanted.height,       wanted.width, wanted.transform.c_str(),
                                   wanted.augment.c_str(), wanted.erased.data()};
  mpc_data_error error = {};
  mpc_picture_maker *maker = plugin().open_maker(nullptr, &array, &input, &error);
  Made made;
  if (maker) {
    made.bytes.resize(size_t(from.channels) * size_t(wanted.height) * size_t(wanted.width));
    const mpc_draw draw = {random, seed, epoch};
    if (plugin().make(maker, sample, &draw, made.bytes.data(), &error) != 0)
      made.bytes.clear();
    plugin().close_maker(maker);
  }
  if (made.bytes.empty())
    made.error = std::string(error.where) + ": " + error.what;
  return made;
}

/// A picture whose every byte is another function of its place.
Pictures pattern(int channels, int height, int width, int samples = 1) {
  Pictures p{channels, height, width, Bytes(size_t(samples * channels * height * width))};
  for (size_t i = 0; i < p.bytes.size(); ++i)
    p.bytes[i] = uint8_t(i * 37 + i / 11 + 1);
  return p;
}

/// Returns the steps in their normal form, or the error.
std::string checked(const char *steps, const char *option) {
  char normal[256] = "";
  mpc_data_error error = {};
  if (plugin().check_steps(steps, option, normal, sizeof normal, &error) == 0)
    return normal;
  return std::string(error.where) + ": " + error.what;
}
} // namespace

TEST(Augment, TakesAPictureOfTheRightSizeAsItIs) {
  const Pictures p = pattern(3, 5, 4, 2);
  EXPECT_EQ(make(p, {5, 4}, 1).bytes, Bytes(p.bytes.begin() + 60, p.bytes.end()));
  EXPECT_EQ(make(p, {5, 4, "resize,center-crop"}).bytes, Bytes(p.bytes.begin(), p.bytes.begin() + 60));
  EXPECT_EQ(make(p, {4, 5}, 1).error, "data.npz: x: sample 1: the picture has 4x5 pixels (width x height), and the "
                                      "input takes 5x4");
}

TEST(Augment, ResizesByTriangles) {
  // Weights of half the size: 3/7, 3/7, 1/7 at an end.
  const Pictures row{1, 1, 4, {0, 70, 140, 210}}, column{1, 4, 1, {0, 70, 140, 210}};
  EXPECT_EQ(make(row, {1, 2, "resize"}).bytes, (Bytes{50, 160}));
  EXPECT_EQ(make(column, {2, 1, "resize"}).bytes, (Bytes{50, 160}));
  // Between two pixels: 1, 3/4, 1/4, 0 of the first.
  const Pictures two{1, 1, 2, {200, 100}};
  EXPECT_EQ(make(two, {1, 4, "resize"}).bytes, (Bytes{200, 175, 125, 100}));
  const Pictures one{3, 1, 1, {7, 8, 9}};
  Bytes constant(3 * 16);
  for (size_t i = 0; i < constant.size(); ++i)
    constant[i] = uint8_t(7 + i / 16);
  EXPECT_EQ(make(one, {4, 4, "resize"}).bytes, constant);
}

TEST(Augment, ResizesTheShorterSide) {
  // 3x5 pixels become 6x10, of which the middle 6x6 is taken: columns 2 to 7.
  const Pictures p = pattern(1, 3, 5);
  const Bytes whole = make(p, {6, 10, "resize"}).bytes, middle = make(p, {6, 6, "resize:6,center-crop"}).bytes;
  for (size_t y = 0; y < 6; ++y)
    EXPECT_TRUE(std::equal(&whole[y * 10 + 2], &whole[y * 10 + 8], &middle[y * 6])) << y;
  EXPECT_EQ(make(p, {6, 10, "resize:6x10"}).bytes, whole);
}

TEST(Augment, CropsIntoBlack) {
  const Pictures p{1, 1, 1, {9}};
  EXPECT_EQ(make(p, {3, 3, "center-crop"}).bytes, (Bytes{0, 0, 0, 0, 9, 0, 0, 0, 0}));
  EXPECT_EQ(make(pattern(1, 4, 5), {2, 3, "center-crop"}).bytes,
            make(Pictures{1, 2, 3, make(pattern(1, 4, 5), {2, 3, "center-crop"}).bytes}, {2, 3}).bytes);
  std::set<Bytes> seen;
  for (int64_t epoch = 0; epoch < 200; ++epoch)
    seen.insert(make(p, {1, 1, "", "random-crop:1"}, 0, epoch).bytes);
  EXPECT_EQ(seen, (std::set<Bytes>{{0}, {9}}));
}

TEST(Augment, FlipsAndTurnsBack) {
  const Pictures p{1, 2, 3, {1, 2, 3, 4, 5, 6}};
  EXPECT_EQ(make(p, {2, 3, "", "flip:1"}).bytes, (Bytes{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(make(p, {2, 3, "", "vertical-flip:1"}).bytes, (Bytes{4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(make(p, {2, 3, "", "flip:1,flip:1,vertical-flip:0"}).bytes, p.bytes);
  EXPECT_EQ(make(p, {2, 3, "", "flip:1"}, 0, 0, 0, /*random=*/false).bytes, p.bytes) << "an evaluation";
}

TEST(Augment, KeepsFlipsBeforeACrop) {
  const Pictures p = pattern(1, 9, 9);
  const Bytes flipped = make(p, {5, 5, "", "flip:1,random-resized-crop"}).bytes;
  EXPECT_EQ(make(Pictures{1, 5, 5, flipped}, {5, 5, "", "flip:1"}).bytes,
            make(p, {5, 5, "", "flip:0,random-resized-crop"}).bytes);
}

TEST(Augment, SeesNothingBeyondAnEarlierCrop) {
  const Pictures p{1, 3, 3, Bytes(9, 9)};
  std::set<Bytes> seen;
  for (int64_t epoch = 0; epoch < 100; ++epoch)
    seen.insert(make(p, {1, 1, "center-crop", "random-crop:1"}, 0, epoch).bytes);
  EXPECT_EQ(seen, (std::set<Bytes>{{0}, {9}}));
}

TEST(Augment, ChangesColours) {
  const Pictures p = pattern(3, 8, 8);
  EXPECT_EQ(make(p, {8, 8, "", "jitter:0"}).bytes, p.bytes);
  EXPECT_NE(make(p, {8, 8, "", "jitter:0.5:0.5:0.5:0.2"}).bytes, p.bytes);
  // A grey picture has no contrast, no saturation and no hue; the luma of a byte is cut as torchvision does it.
  const Pictures grey{3, 2, 2, Bytes(12, 77)};
  for (uint8_t byte : make(grey, {2, 2, "", "jitter:0:0.9:0.9:0.5"}).bytes)
    EXPECT_NEAR(byte, 77, 2);
  // One channel has no saturation and no hue, and other numbers of channels are no colours.
  for (int channels : {2, 4})
    EXPECT_EQ(make(pattern(channels, 4, 4), {4, 4, "", "jitter:0.5", {1, 2, 3, 4}}).error,
              "--augment: jitter changes colours, and the input takes " + std::to_string(channels) + " channels");
  const Pictures other = pattern(1, 4, 4);
  EXPECT_EQ(make(other, {4, 4, "", "jitter:0:0:0.9:0.5"}).bytes, other.bytes);
}

TEST(Augment, ErasesARectangle) {
  const Pictures p{3, 9, 9, Bytes(243, 200)};
  for (int64_t epoch = 0; epoch < 50; ++epoch) {
    const Bytes made = make(p, {9, 9, "", "erase:1"}, 0, epoch).bytes;
    const auto erased = std::count(made.begin(), made.begin() + 81, 1);
    EXPECT_GT(erased, 0);
    EXPECT_LT(erased, 81 * 0.4);
    for (size_t i = 0; i < 81; ++i)
      EXPECT_EQ(made[81 + i], made[i] == 1 ? 2 : 200);
  }
}

TEST(Augment, DrawsBySeedEpochAndSampleAlone) {
  const Pictures p = pattern(3, 6, 6, 3);
  Wanted wanted{6, 6, "", "random-resized-crop:0.2,flip,jitter:0.4:0.4:0.4:0.1,erase"};
  const Bytes one = make(p, wanted, 1, 5, 9).bytes;
  EXPECT_EQ(make(p, wanted, 1, 5, 9).bytes, one);
  EXPECT_NE(make(p, wanted, 1, 6, 9).bytes, one);
  EXPECT_NE(make(p, wanted, 1, 5, 8).bytes, one);
  EXPECT_NE(make(p, wanted, 1, 5, 9 | uint64_t(1) << 40).bytes, one);
}

TEST(Augment, TakesPicturesOfExtremeShapes) {
  for (auto [height, width] : {std::pair(1, 65535), {65535, 1}, {1, 1}, {2, 30000}}) {
    const Pictures p{1, height, width, Bytes(size_t(height) * size_t(width), 50)};
    for (const char *transform : {"resize", "resize:9,center-crop", "center-crop", "resize:1x65535,center-crop"}) {
      const Made made = make(p, {8, 8, transform});
      EXPECT_EQ(made.bytes.size(), 64u) << transform << made.error;
    }
    for (const char *augment :
         {"random-resized-crop", "random-resized-crop:0.0001:0.0001", "random-crop:8,random-crop"})
      EXPECT_EQ(make(p, {8, 8, "", augment}).bytes.size(), 64u) << augment;
  }
}

TEST(Augment, RefusesResultsBeyondMemory) {
  const Pictures p{1, 1, 65535, Bytes(65535)};
  EXPECT_EQ(make(p, {8, 8, "resize:65535,center-crop"}).error,
            "data.npz: x: sample 0: the picture would have a side of 4294836225 pixels after resize:65535");
}

TEST(Steps, HaveANormalForm) {
  EXPECT_EQ(checked("resize:256,center-crop", "--transform"), "resize:256,center-crop");
  EXPECT_EQ(checked("resize:240x320", "--transform"), "resize:240x320");
  EXPECT_EQ(checked("flip,random-resized-crop:0.5,random-crop", "--augment"),
            "flip:0.5,random-resized-crop:0.5:1,random-crop:0");
  EXPECT_EQ(checked("jitter:0.4:0.2", "--augment"), "jitter:0.4:0.2:0:0");
}

TEST(Steps, RefuseMistakes) {
  EXPECT_EQ(checked("resize:40,random-crop", "--augment"),
            "--augment: 'resize' is not random, and holds for evaluations too");
  EXPECT_EQ(checked("random-crop:4,random-resized-crop", "--augment"),
            "--augment: a crop is followed by random-resized-crop, which takes its part of the whole picture");
  EXPECT_EQ(checked("flip", "--transform"), "--transform: 'flip' is random, and random steps are for training only");
  EXPECT_EQ(checked("crop", "--augment"), "--augment: there is no step 'crop'");
  EXPECT_EQ(checked("resize:1.5", "--transform"), "--transform: '1.5' in 'resize' is no whole number from 1 to 65535");
  EXPECT_EQ(checked("flip:nan", "--augment"), "--augment: 'nan' in 'flip' is no number from 0 to 1");
  EXPECT_EQ(checked("flip:", "--augment"), "--augment: '' in 'flip' is no number from 0 to 1");
  EXPECT_EQ(checked("flip:0.5:0.5", "--augment"), "--augment: 'flip:0.5:0.5' has 2 numbers");
  EXPECT_EQ(checked("jitter", "--augment"), "--augment: 'jitter' has 0 numbers");
  EXPECT_EQ(checked("flip,,erase", "--augment"), "--augment: there is no step ''");
  EXPECT_EQ(checked("center-crop,resize:9", "--transform"), "--transform: a crop is followed by resize");
  EXPECT_EQ(checked("random-resized-crop:0.9:0.1", "--augment"),
            "--augment: 'random-resized-crop:0.9:0.1' has a least share of the area above the most");
}
