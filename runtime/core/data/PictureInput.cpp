// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/data/PictureInput.h"

#include "runtime/core/data/PicturePlugin.h"

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

void PictureInput::read(int64_t sample, const Draw &draw, std::byte *planes) const {
  mpc_picture_maker *maker = borrow();
  const mpc_draw choices = {draw.random, draw.seed, draw.epoch};
  mpc_data_error error = {};
  int status = plugin_->make(maker, sample, &choices, reinterpret_cast<uint8_t *>(planes), &error);
  {
    std::lock_guard lock(mutex_);
    idle_.push_back(maker);
  }
  if (status != 0)
    failAs(error);
}

} // namespace mpc::rt
