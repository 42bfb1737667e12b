// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Boxes.h"

#include <cstdio>
#include <gtest/gtest.h>

namespace mpc::images::test {

std::string text(const LabelledBox &box) {
  char text[160];
  std::snprintf(text, sizeof text, "%g,%g,%g,%g=%d ", double(box.x1), double(box.y1), double(box.x2), double(box.y2),
                int(box.label));
  return text;
}

std::string Made::text() const {
  std::string all = error;
  for (const LabelledBox &box : boxes)
    all += test::text(box);
  return all;
}

Made make(const Opened &source, int64_t sample, const Wanted &wanted) {
  const uint8_t erased[3] = {};
  const mpc_picture_input input = {3,     wanted.height, wanted.width, wanted.transform.c_str(), wanted.augment.c_str(),
                                   erased};
  mpc_data_error error = {};
  Made made;
  mpc_picture_maker *maker = plugin().open_maker(source.source(), nullptr, &input, &error);
  if (!maker) {
    made.error = std::string(error.where) + ": " + error.what;
    return made;
  }
  const mpc_draw draw = {wanted.random, 7, wanted.epoch};
  std::vector<float> corners(size_t(wanted.room) * 4, -5);
  std::vector<int64_t> labels(size_t(wanted.room), -5);
  made.pixels.resize(size_t(3 * wanted.height * wanted.width));
  const int64_t count = plugin().make_boxes(maker, sample, &draw, wanted.room, corners.data(), labels.data(), &error);
  EXPECT_EQ(plugin().make_boxes(maker, sample, &draw, wanted.room, nullptr, nullptr, &error), count);
  if (count < 0 || plugin().make(maker, sample, &draw, made.pixels.data(), &error) != 0)
    made.error = std::string(error.where) + ": " + error.what;
  for (int64_t i = 0; i < count; ++i) {
    const float *at = &corners[size_t(i) * 4];
    made.boxes.push_back({at[0], at[1], at[2], at[3], labels[size_t(i)]});
  }
  for (int64_t i = std::max<int64_t>(count, 0); count >= 0 && i < wanted.room; ++i) {
    EXPECT_EQ(labels[size_t(i)], -1);
    for (int j = 0; j < 4; ++j)
      EXPECT_EQ(corners[size_t(i * 4 + j)], 0);
  }
  plugin().close_maker(maker);
  return made;
}

} // namespace mpc::images::test
