// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asks the plugin for boxes.
#pragma once

#include "Plugin.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mpc::images::test {

struct LabelledBox {
  float x1, y1, x2, y2;
  int64_t label;
};
/// Returns "x1,y1,x2,y2=label ".
std::string text(const LabelledBox &box);

/// How boxes are asked for; see mpc_picture_input.
struct Wanted {
  int height = 20, width = 40;
  std::string transform = {}, augment = {};
  int64_t room = 8;
  bool random = false;
  int64_t epoch = 0;
};

/// This is what make_boxes and make write, or the error where they fail.
struct Made {
  std::vector<LabelledBox> boxes;
  std::vector<uint8_t> pixels; // [3, height, width]
  std::string error;
  /// Returns the error and the texts of all boxes.
  std::string text() const;
};

/// Makes a sample, and checks what is written behind its last box.
Made make(const Opened &source, int64_t sample, const Wanted &wanted = {});

} // namespace mpc::images::test
