// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The samples of an input that takes pictures: from files, or from an array that training augments.
#pragma once

#include "runtime/core/data/Array.h"
#include "runtime/core/data/PictureFiles.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mpc::rt {

/// Says which random choices samples get; nothing is random if `random` is false.
struct Draw {
  bool random = false;
  uint64_t seed = 0;
  int64_t epoch = 0;
};

/// An input takes one of these parts of a sample. All but the pixels are its boxes: corners [room, 4] as floats, their
/// classes [room] and their number as integers of 64 bits.
enum class PicturePart { Pixels, Corners, Labels, Count };

class PictureInput {
public:
  /// The input takes pictures [channels, height, width] of the files.
  PictureInput(std::shared_ptr<const PictureFiles> files, Shape picture, const mpc_data_plugin *plugin);
  /// It takes those of an array of bytes, whose samples have the layout of `picture` (see sameLayout), perhaps in
  /// another shape. `name` is the array's in messages.
  PictureInput(Array array, Shape picture, const std::string &name, const mpc_data_plugin *plugin);
  ~PictureInput();
  PictureInput(const PictureInput &) = delete;
  PictureInput &operator=(const PictureInput &) = delete;

  int64_t samples() const;
  /// Sets the steps. `erased`: the values of erased pixels, one for each channel.
  void setSteps(std::string transform, std::string augment, std::vector<uint8_t> erased);
  /// The samples have boxes, of which inputs take `room`. `numbers`: those of the files' classes in the program.
  void setBoxes(int64_t room, std::vector<int64_t> numbers);
  /// Returns what a user should know of boxes that are left out, or "". Throws Error for pictures with too many.
  std::string checkBoxes() const;
  /// Returns the steps in their normal form. `option`: --transform or --augment. Throws Error located at it.
  std::string checkSteps(const std::string &steps, const char *option) const;

  /// Writes a part of the sample, where `values` is aligned for its type; the pixels are bytes [channels, height,
  /// width]. Any thread may call it. Throws Error.
  void read(int64_t sample, const Draw &draw, PicturePart part, std::byte *values) const;
  /// Draws boxes on the first samples and writes a file of each (mpc/data.h). Throws Error.
  void draw(const mpc_box_drawing &drawing) const;

private:
  mpc_picture_maker *borrow() const;
  void giveBack(mpc_picture_maker *maker) const;
  /// Does what mpc_data_plugin's make_boxes does, with a part of the results. Returns false where that fails.
  bool makeBoxes(mpc_picture_maker *maker, int64_t sample, const mpc_draw &draw, PicturePart part, std::byte *values,
                 mpc_data_error &error) const;

  const mpc_data_plugin *plugin_;
  std::shared_ptr<const PictureFiles> files_;
  Array array_; // where there are no files
  Shape picture_;
  std::string name_, transform_, augment_;
  std::vector<uint8_t> erased_;
  int64_t room_ = -1; // for boxes
  std::vector<int64_t> numbers_;
  mutable std::mutex mutex_;
  mutable std::vector<mpc_picture_maker *> idle_; // makers that no thread uses now
};

} // namespace mpc::rt
