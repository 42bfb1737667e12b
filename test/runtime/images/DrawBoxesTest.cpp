// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Boxes drawn on pictures: where frames are and what colours they have, and which files are written.
#include "Files.h"
#include "Plugin.h"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>

namespace mpc::images::test {
namespace {
constexpr int kWidth = 400, kHeight = 40; // larger than a picture that is enlarged
constexpr float kNan = NAN;

mpc_found_box box(float x1, float y1, float x2, float y2, int64_t label = 0) {
  return {{x1, y1, x2, y2}, 0.75f, label};
}

/// Draws on black pictures of a folder, or on others.
struct Drawing {
  explicit Drawing(int width = kWidth, int height = kHeight, int channels = 3)
      : width(width), height(height), channels(channels) {
    folder.write("pictures/a.png", Png{.width = uint32_t(width), .height = uint32_t(height), .sample = grey}());
    std::filesystem::create_directory(folder / "out");
  }
  static uint32_t grey(int, int, int) { return 40; }

  /// Returns what is wrong, or "".
  std::string draw(const std::vector<mpc_found_box> &boxes, const std::string &to = "out") {
    const Opened source(folder / "pictures");
    std::vector<int64_t> counts(size_t(source.samples()));
    counts[0] = int64_t(boxes.size());
    const std::vector<uint8_t> erased(size_t(channels), 0);
    const mpc_picture_input input = {channels, height, width, "", "", erased.data()};
    const std::string path = folder / to;
    done = 0;
    const auto count = [](void *state, int64_t samples) { *static_cast<int64_t *>(state) = samples; };
    const mpc_box_drawing drawing = {path.c_str(), source.samples(), counts.data(), boxes.data(), "ant\nbee\n", count,
                                     &done};
    mpc_data_error error = {};
    mpc_picture_maker *maker = plugin().open_maker(source.source(), nullptr, &input, &error);
    const int status = maker ? plugin().draw_boxes(maker, &drawing, &error) : -1;
    if (maker)
      plugin().close_maker(maker);
    return status == 0 ? "" : std::string(error.where) + ": " + error.what;
  }
  Pixels drawn(int64_t sample = 0) const { return Opened(folder / "out").decode(sample); }

  Folder folder;
  int width, height, channels;
  int64_t done = 0;
};

/// Returns the colour of a pixel as 0xrrggbb.
int colour(const Pixels &pixels, int x, int y) {
  return pixels.at(x, y, 0) << 16 | pixels.at(x, y, 1) << 8 | pixels.at(x, y, 2);
}
constexpr int kGrey = 0x282828, kFirst = 0xff3838, kSecond = 0x00c2ff;

/// Returns how many pixels have a colour.
int64_t count(const Pixels &pixels, int wanted) {
  int64_t found = 0;
  for (int y = 0; y < pixels.height; ++y)
    for (int x = 0; x < pixels.width; ++x)
      found += colour(pixels, x, y) == wanted;
  return found;
}

TEST(DrawBoxes, AFrameIsTwoPixelsWideWithinItsBox) {
  Drawing drawing;
  ASSERT_EQ(drawing.draw({box(100, 15, 300, 35)}), "");
  const Pixels pixels = drawing.drawn();
  ASSERT_EQ(pixels.width, kWidth);
  ASSERT_EQ(pixels.height, kHeight);
  for (int y = 15; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) {
      const bool within = x >= 100 && x < 300 && y < 35, inner = x >= 102 && x < 298 && y >= 17 && y < 33;
      ASSERT_EQ(colour(pixels, x, y), within && !inner ? kFirst : kGrey) << x << "," << y;
    }
  EXPECT_EQ(drawing.done, 1);
}

TEST(DrawBoxes, TheCaptionLiesAboveTheBox) {
  Drawing drawing;
  ASSERT_EQ(drawing.draw({box(100, 15, 300, 35)}), "");
  const Pixels pixels = drawing.drawn();
  // "ant 0.75" are 8 letters of 5 dots with a dot between them and on each side, 7 dots high.
  for (int y = 6; y < 15; ++y) {
    EXPECT_EQ(colour(pixels, 100, y), kFirst);
    EXPECT_EQ(colour(pixels, 148, y), kFirst);
    EXPECT_EQ(colour(pixels, 149, y), kGrey);
  }
  EXPECT_EQ(colour(pixels, 100, 5), kGrey);
  EXPECT_GT(count(pixels, 0xffffff), 60); // the letters are white on a dark colour
  // A class without a name has its number, and a caption without room above is in the box.
  ASSERT_EQ(drawing.draw({box(395, 0, 400, 30, 13)}), "");
  EXPECT_EQ(colour(drawing.drawn(), 400 - 43, 0), kSecond); // of "13 0.75", to the left, where there is room
  EXPECT_EQ(colour(drawing.drawn(), 400 - 44, 0), kGrey);
}

TEST(DrawBoxes, BoxesAreClippedToThePicture) {
  Drawing drawing;
  ASSERT_EQ(drawing.draw({box(-50, 20, 1e9f, INFINITY, 1)}), "");
  const Pixels pixels = drawing.drawn();
  for (int x : {0, 1, 200, kWidth - 1})
    for (int y : {kHeight - 2, kHeight - 1})
      EXPECT_EQ(colour(pixels, x, y), kSecond);
  EXPECT_EQ(colour(pixels, 0, 30), kSecond);
  EXPECT_EQ(colour(pixels, 2, 30), kGrey);
  EXPECT_EQ(colour(pixels, kWidth - 1, 30), kSecond);
}

TEST(DrawBoxes, WhatIsNoBoxIsNotDrawn) {
  Drawing drawing;
  ASSERT_EQ(drawing.draw({box(kNan, 0, 9, 9), box(0, 0, 9, kNan), box(20, 20, 10, 30), box(10, 30, 20, 20),
                          box(-9, 5, -1, 20), box(kWidth, 0, kWidth + 9, 9), box(5, 5, 5, 9)}),
            "");
  EXPECT_EQ(count(drawing.drawn(), kGrey), kWidth * kHeight);
}

TEST(DrawBoxes, SmallBoxesAreFilled) {
  Drawing drawing;
  ASSERT_EQ(drawing.draw({box(200, 20, 203, 21)}), "");
  for (int x = 199; x < 204; ++x)
    EXPECT_EQ(colour(drawing.drawn(), x, 20), x >= 200 && x < 203 ? kFirst : kGrey);
  EXPECT_EQ(colour(drawing.drawn(), 201, 21), kGrey);
}

TEST(DrawBoxes, SmallPicturesBecomeLarger) {
  for (int channels : {1, 3}) {
    Drawing drawing(40, 20, channels);
    ASSERT_EQ(drawing.draw({box(10, 5, 30, 15.06f)}), "");
    const Pixels pixels = drawing.drawn();
    ASSERT_EQ(pixels.width, 400);
    ASSERT_EQ(pixels.height, 200);
    EXPECT_EQ(colour(pixels, 100, 60), kFirst);
    EXPECT_EQ(colour(pixels, 101, 60), kFirst);
    EXPECT_EQ(colour(pixels, 102, 60), kGrey);
    EXPECT_EQ(colour(pixels, 200, 150), kFirst); // 150.6 is rounded
    EXPECT_EQ(colour(pixels, 200, 151), kGrey);
    EXPECT_EQ(colour(pixels, 200, 148), kGrey);
  }
}

TEST(DrawBoxes, TheBestIsOnTop) {
  Drawing drawing;
  ASSERT_EQ(drawing.draw({box(100, 15, 300, 35, 0), box(100, 15, 300, 35, 1)}), "");
  EXPECT_EQ(colour(drawing.drawn(), 100, 30), kFirst);
  EXPECT_EQ(count(drawing.drawn(), kSecond), 0);
}

TEST(DrawBoxes, FilesHaveTheNamesOfPictures) {
  Drawing drawing;
  const std::string png = Png{.width = kWidth, .height = kHeight}();
  for (const char *name : {"sub.1/b.x.png", "sub.1/a.PNG", "sub.2/a.png"})
    drawing.folder.write(std::string("pictures/") + name, png);
  std::filesystem::remove(drawing.folder / "pictures/a.png");
  ASSERT_EQ(drawing.draw({}), "");
  std::set<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(drawing.folder / "out"))
    names.insert(entry.path().filename());
  EXPECT_EQ(names, (std::set<std::string>{"a.png", "a-2.png", "b.x.png"}));
  EXPECT_EQ(drawing.done, 3);
}

TEST(DrawBoxes, PicturesThatAreReadAreNotReplaced) {
  Drawing drawing;
  EXPECT_EQ(drawing.draw({}, "pictures"),
            drawing.folder / "pictures" + ": has pictures that are read, so none can be written there");
  std::filesystem::create_directory_symlink(drawing.folder / "pictures", drawing.folder / "link");
  EXPECT_NE(drawing.draw({}, "link").find("has pictures that are read"), std::string::npos);
  EXPECT_EQ(Opened(drawing.folder / "pictures").samples(), 1);
}

TEST(DrawBoxes, FailuresNameTheFile) {
  Drawing drawing;
  std::filesystem::create_directory(drawing.folder / "out/a.png");
  EXPECT_EQ(drawing.draw({}), drawing.folder / "out/a.png" + ": is a folder");
  drawing.folder.write("pictures/a.png", "text");
  EXPECT_EQ(drawing.draw({}).find(drawing.folder / "pictures/a.png"), 0u);
  EXPECT_EQ(Drawing(kWidth, kHeight, 4).draw({}).find("channels") != std::string::npos, true);
}

} // namespace
} // namespace mpc::images::test
