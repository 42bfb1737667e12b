// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How steps move boxes, against formulas and against the pixels that they move.
#include "Boxes.h"
#include "Files.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <optional>
#include <set>

namespace mpc::images::test {
namespace {
constexpr int kWidth = 40, kHeight = 20;

/// One picture of 40x20 pixels with boxes [x, y, width, height] of COCO, in this order and of these classes.
class Annotated {
public:
  explicit Annotated(const std::string &boxes, bool white = false) {
    Png png{.width = kWidth, .height = kHeight};
    if (white)
      png.sample = [](int x, int y, int) { return x >= 10 && x < 30 && y >= 5 && y < 15 ? 255u : 0u; };
    folder_.write("a.png", png());
    std::string list;
    for (size_t at = 0, number = 0; at < boxes.size(); ++number) {
      const size_t end = std::min(boxes.find(' ', at), boxes.size());
      list += (list.empty() ? "" : ",") + ("{\"image_id\": 1, \"category_id\": " + std::to_string(number)) +
              ", \"bbox\": [" + boxes.substr(at, end - at) + "]}";
      at = end + 1;
    }
    std::string categories;
    for (int i = 0; i < 8; ++i)
      categories += (i == 0 ? "" : ",") + ("{\"id\": " + std::to_string(i)) + ", \"name\": \"" + char('a' + i) + "\"}";
    path_ = folder_.write("a.json", R"({"images": [{"id": 1, "file_name": "a.png"}], "annotations": [)" + list +
                                        "], \"categories\": [" + categories + "]}");
    source_.emplace(path_);
  }
  Made make(const Wanted &wanted) const { return test::make(*source_, 0, wanted); }
  mpc_data_source *source() const { return source_->source(); }

private:
  Folder folder_;
  std::string path_;
  std::optional<Opened> source_;
};

TEST(BoxSteps, ResizeScalesBothDirections) {
  const Annotated picture("4,2,8,4");
  EXPECT_EQ(picture.make({.height = 60, .width = 20, .transform = "resize"}).text(), "2,6,6,18=0 ");
  // The shorter side becomes 10 pixels, and the middle 10 of 20 columns are taken.
  EXPECT_EQ(picture.make({.height = 10, .width = 10, .transform = "resize:10,center-crop"}).text(), "");
  EXPECT_EQ(Annotated("12,2,8,4").make({.height = 10, .width = 10, .transform = "resize:10,center-crop"}).text(),
            "1,1,5,3=0 ");
}

TEST(BoxSteps, KeepABoxWhoseCentreIsInTheCrop) {
  // The middle 20 columns are 10 to 30.
  const Annotated picture("5,5,10,10 4,5,10,10 6,5,10,10 26,0,7,20 26,0,9,20 0,0,40,20 0,0,10,20");
  EXPECT_EQ(picture.make({.width = 20, .transform = "center-crop"}).text(), "0,5,6,15=2 16,0,20,20=3 0,0,20,20=5 ");
  // A larger input has the picture in the middle of black pixels.
  EXPECT_EQ(Annotated("1,2,3,4").make({.height = 30, .width = 60, .transform = "center-crop"}).text(), "11,7,14,11=0 ");
}

TEST(BoxSteps, FlipsReflect) {
  const Annotated picture("4,2,8,5");
  EXPECT_EQ(picture.make({.augment = "flip:1", .random = true}).text(), "28,2,36,7=0 ");
  EXPECT_EQ(picture.make({.augment = "vertical-flip:1", .random = true}).text(), "4,13,12,18=0 ");
  EXPECT_EQ(picture.make({.augment = "flip:1,vertical-flip:1", .random = true}).text(), "28,13,36,18=0 ");
  EXPECT_EQ(picture.make({.augment = "flip:1,vertical-flip:1"}).text(), "4,2,12,7=0 "); // an evaluation
}

/// Returns the rectangle of pixels above half of white in the first channel.
std::string brightIn(const Made &made, int width, int height) {
  int left = width, top = height, right = 0, bottom = 0;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      if (made.pixels[size_t(y * width + x)] >= 128) {
        left = std::min(left, x), right = std::max(right, x + 1);
        top = std::min(top, y), bottom = std::max(bottom, y + 1);
      }
  return left == width ? "" : text({float(left), float(top), float(right), float(bottom), 0});
}

TEST(BoxSteps, FollowThePixels) {
  const Annotated picture("10,5,20,10", /*white=*/true);
  for (const char *augment : {"random-crop:8", "random-crop:8,flip,vertical-flip", "random-resized-crop:0.3:1,flip",
                              "zoom-out:3", "iou-crop", "zoom-out:2:0.8,iou-crop,flip", "iou-crop:0.5:0.8"}) {
    std::set<std::string> seen;
    for (int epoch = 0; epoch < 60; ++epoch) {
      const Wanted wanted{.height = 30,
                          .width = 30,
                          .transform = "resize:30,center-crop",
                          .augment = augment,
                          .random = true,
                          .epoch = epoch};
      const Made made = picture.make(wanted);
      ASSERT_EQ(made.error, "");
      seen.insert(made.text());
      const std::string bright = brightIn(made, 30, 30);
      if (made.boxes.empty())
        continue; // its centre is outside
      ASSERT_FALSE(bright.empty()) << augment << made.text();
      LabelledBox at = made.boxes[0];
      float corner[4] = {};
      ASSERT_EQ(std::sscanf(bright.c_str(), "%f,%f,%f,%f", corner, corner + 1, corner + 2, corner + 3), 4);
      // An edge within a pixel shows in that pixel or not, and the part that is visible begins at whole pixels.
      for (auto [box, pixel] :
           {std::pair(at.x1, corner[0]), {at.y1, corner[1]}, {at.x2, corner[2]}, {at.y2, corner[3]}})
        EXPECT_LE(std::fabs(box - pixel), 0.51f) << augment << " " << made.text() << bright;
      EXPECT_EQ(picture.make(wanted).text(), made.text());
    }
    EXPECT_GT(seen.size(), 20u) << augment;
  }
}

TEST(BoxSteps, IouCropTakesAPartWithABox) {
  const Annotated picture("2,2,6,6 30,10,8,8 15,0,10,20");
  int whole = 0;
  std::set<size_t> counts;
  for (int epoch = 0; epoch < 300; ++epoch) {
    const Made made = picture.make({.augment = "iou-crop", .random = true, .epoch = epoch});
    ASSERT_EQ(made.error, "");
    ASSERT_FALSE(made.boxes.empty()) << epoch;
    counts.insert(made.boxes.size());
    whole += made.text() == "2,2,8,8=0 30,10,38,18=1 15,0,25,20=2 ";
  }
  EXPECT_GT(whole, 300 / 7 / 2); // one of seven options leaves the picture, and others may fit nothing for long
  EXPECT_LT(whole, 200);
  EXPECT_EQ(counts, (std::set<size_t>{1, 2, 3}));
  // Without boxes the picture stays as it is.
  const Annotated none("");
  EXPECT_EQ(none.make({.augment = "iou-crop", .random = true}).pixels, none.make({}).pixels);
}

TEST(BoxSteps, ZoomOutMakesTheBoxesSmaller) {
  const Annotated picture("0,0,40,20");
  double largest = 0, least = 1;
  for (int epoch = 0; epoch < 200; ++epoch) {
    const Made made = picture.make({.augment = "zoom-out:4:1", .random = true, .epoch = epoch});
    ASSERT_EQ(made.boxes.size(), 1u);
    const double factor = kWidth / double(made.boxes[0].x2 - made.boxes[0].x1);
    largest = std::max(largest, factor), least = std::min(least, 1 / factor);
    EXPECT_GE(made.boxes[0].x1, 0);
    EXPECT_LE(made.boxes[0].y2, kHeight);
  }
  EXPECT_GT(largest, 3.7);
  EXPECT_LE(largest, 4.5); // of 40 pixels 10 or 9 are left, since edges are at whole pixels
}

TEST(BoxSteps, TakeAsManyAsThereIsRoomFor) {
  const Annotated picture("0,0,4,4 10,0,8,8 20,0,6,6 30,0,8,8 0,10,5,5");
  const std::string where = picture.make({.room = 4}).error;
  EXPECT_TRUE(where.ends_with("/a.png: has 5 boxes, and the network takes 4")) << where;
  EXPECT_EQ(picture.make({.transform = "largest-boxes", .room = 3}).text(), "10,0,18,8=1 20,0,26,6=2 30,0,38,8=3 ");
  EXPECT_EQ(picture.make({.transform = "largest-boxes", .room = 1}).text(), "10,0,18,8=1 ");
  EXPECT_EQ(picture.make({.transform = "largest-boxes", .room = 0}).text(), "");
  char text[256];
  mpc_data_error error = {};
  EXPECT_EQ(plugin().check_boxes(picture.source(), "resize", 4, text, sizeof text, &error), -1);
  EXPECT_STREQ(error.what, "has 5 boxes, and the network takes 4");
  EXPECT_TRUE(std::string(error.hint).find("largest-boxes") != std::string::npos);
  EXPECT_EQ(plugin().check_boxes(picture.source(), "largest-boxes", 4, text, sizeof text, &error), 0);
  EXPECT_STREQ(text, "1 picture has more than 4 boxes; the largest 4 of it are kept");
  EXPECT_EQ(plugin().check_boxes(picture.source(), "", 5, text, sizeof text, &error), 0);
  EXPECT_STREQ(text, "");
}

TEST(BoxSteps, RefuseMistakes) {
  const Annotated picture("0,0,4,4");
  auto said = [&](const char *augment) { return picture.make({.augment = augment}).error; };
  EXPECT_EQ(said("random-crop,iou-crop"),
            "--augment: a crop is followed by iou-crop, which takes its part of the whole picture");
  EXPECT_EQ(said("iou-crop,zoom-out"),
            "--augment: a crop is followed by zoom-out, which takes its part of the whole picture");
  EXPECT_EQ(said("zoom-out,random-resized-crop"),
            "--augment: zoom-out is followed by random-resized-crop, and only iou-crop may follow it");
  EXPECT_EQ(said("zoom-out,zoom-out"), "--augment: zoom-out is followed by zoom-out, and only iou-crop may follow it");
  EXPECT_EQ(said("iou-crop:0.5:0.4"), "--augment: 'iou-crop:0.5:0.4' has a least share of the sides above the most");
  EXPECT_EQ(said("zoom-out:0.5"), "--augment: '0.5' in 'zoom-out' is no number from 1 to 16");
  Folder classes;
  classes.write("cat/a.png", Png{}());
  const Opened source(classes.path());
  EXPECT_EQ(make(source, 0, {.augment = "iou-crop"}).error,
            "--augment: iou-crop looks at the boxes of pictures, and these have none");
  EXPECT_EQ(make(source, 0, {.transform = "largest-boxes"}).error,
            "--transform: largest-boxes looks at the boxes of pictures, and these have none");
}
} // namespace
} // namespace mpc::images::test
