// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/data/PictureInput.h"

#include "runtime/core/data/PicturePlugin.h"

#include <cstring>

namespace mpc::rt {

PictureInput::PictureInput(std::shared_ptr<const PictureFiles> files, Shape picture, const mpc_data_plugin *plugin)
    : plugin_(plugin), files_(std::move(files)), picture_(std::move(picture)) {}

PictureInput::PictureInput(Array array, Shape picture, const std::string &name, const mpc_data_plugin *plugin)
    : plugin_(plugin), array_(std::move(array)), picture_(std::move(picture)), name_(name) {}

PictureInput::~PictureInput() {
  for (mpc_picture_maker *maker : idle_)
    plugin_->close_maker(maker);
}

int64_t PictureInput::samples() const { return files_ ? files_->samples() : array_.shape[0]; }

void PictureInput::setSteps(std::string transform, std::string augment, std::vector<uint8_t> erased) {
  transform_ = std::move(transform);
  augment_ = std::move(augment);
  erased_ = std::move(erased);
}

void PictureInput::setBoxes(int64_t room, std::vector<int64_t> numbers) {
  room_ = room;
  numbers_ = std::move(numbers);
}

std::string PictureInput::checkBoxes() const {
  char text[256] = "";
  mpc_data_error error = {};
  if (room_ >= 0 && plugin_->check_boxes(files_->source(), transform_.c_str(), room_, text, sizeof text, &error) != 0)
    failAs(error);
  return text;
}

std::string PictureInput::checkSteps(const std::string &steps, const char *option) const {
  char normal[1024];
  mpc_data_error error = {};
  if (plugin_->check_steps(steps.c_str(), option, normal, sizeof normal, &error) != 0)
    failAs(error);
  return normal;
}

mpc_picture_maker *PictureInput::borrow() const {
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      mpc_picture_maker *maker = idle_.back();
      idle_.pop_back();
      return maker;
    }
  }
  const int32_t channels = int32_t(picture_[0]), height = int32_t(picture_[1]), width = int32_t(picture_[2]);
  const mpc_picture_input input = {channels, height, width, transform_.c_str(), augment_.c_str(), erased_.data()};
  const mpc_picture_array array = {reinterpret_cast<const uint8_t *>(array_.data), channels, height, width,
                                   name_.c_str()};
  mpc_data_error error = {};
  mpc_picture_maker *maker =
      plugin_->open_maker(files_ ? files_->source() : nullptr, files_ ? nullptr : &array, &input, &error);
  if (!maker)
    failAs(error);
  return maker;
}

void PictureInput::giveBack(mpc_picture_maker *maker) const {
  std::lock_guard lock(mutex_);
  idle_.push_back(maker);
}

bool PictureInput::makeBoxes(mpc_picture_maker *maker, int64_t sample, const mpc_draw &draw, PicturePart part,
                             std::byte *values, mpc_data_error &error) const {
  auto *corners = part == PicturePart::Corners ? reinterpret_cast<float *>(values) : nullptr;
  auto *labels = part == PicturePart::Labels ? reinterpret_cast<int64_t *>(values) : nullptr;
  const int64_t count = plugin_->make_boxes(maker, sample, &draw, room_, corners, labels, &error);
  if (count < 0)
    return false;
  for (int64_t i = 0; labels && i < count; ++i)
    labels[i] = numbers_[size_t(labels[i])];
  if (part == PicturePart::Count)
    std::memcpy(values, &count, sizeof count);
  return true;
}

void PictureInput::read(int64_t sample, const Draw &draw, PicturePart part, std::byte *values) const {
  mpc_picture_maker *maker = borrow();
  const mpc_draw choices = {draw.random, draw.seed, draw.epoch};
  mpc_data_error error = {};
  const bool made = part == PicturePart::Pixels
                        ? plugin_->make(maker, sample, &choices, reinterpret_cast<uint8_t *>(values), &error) == 0
                        : makeBoxes(maker, sample, choices, part, values, error);
  giveBack(maker);
  if (!made)
    failAs(error);
}

void PictureInput::draw(const mpc_box_drawing &drawing) const {
  mpc_picture_maker *maker = borrow();
  mpc_data_error error = {};
  const bool drawn = plugin_->draw_boxes(maker, &drawing, &error) == 0;
  giveBack(maker);
  if (!drawn)
    failAs(error);
}

} // namespace mpc::rt
