// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A collection of pictures in files, which the plugin for pictures finds.
#pragma once

#include "mpc/data.h"

#include <string>
#include <vector>

namespace mpc::rt {

class PictureFiles {
public:
  /// Returns whether the name is one of a collection of pictures, not of an array: a folder, a .tar, a .csv list,
  /// or annotations: .json, .json:FOLDER, or FOLDER:SET.
  static bool mayBe(const std::string &path);

  /// Opens a folder of classes, a list or tar archives. Nothing is decoded yet. `installation`: see loadPlugin. Throws
  /// Error where the plugin is missing or cannot read this.
  PictureFiles(const std::string &path, const std::string &installation);
  ~PictureFiles() { plugin_->close(source_); }
  PictureFiles(const PictureFiles &) = delete;
  PictureFiles &operator=(const PictureFiles &) = delete;

  int64_t samples() const { return plugin_->samples(source_); }
  /// Returns the names of the classes in the order of their numbers; empty if the samples have none.
  std::vector<std::string> classes() const;
  /// Returns the numbers that these classes have among those of a training. Throws Error located at `path`, the files',
  /// for one that is not there.
  std::vector<int64_t> numbersAmong(const std::vector<std::string> &known, const std::string &path) const;
  /// Returns the class of a sample.
  int64_t label(int64_t sample) const { return plugin_->label(source_, sample); }
  /// Returns what a user should know of the files: "3 files are left out, ...", or "".
  std::string note() const;
  /// Returns whether the samples have boxes with classes, and no class of their own.
  bool hasBoxes() const { return plugin_->has_boxes(source_) != 0; }
  const mpc_data_source *source() const { return source_; }

private:
  const mpc_data_plugin *plugin_;
  mpc_data_source *source_;
};

} // namespace mpc::rt
