// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plugin as the runtime uses it.
#pragma once

#include "mpc/data.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mpc::images::test {

/// Opens the plugin once, and ends the program if that fails.
const mpc_data_plugin &plugin();

/// A folder that is removed with everything in it.
class Folder {
public:
  Folder();
  ~Folder();
  Folder(const Folder &) = delete;
  const std::string &path() const { return path_; }
  std::string operator/(const std::string &name) const { return path_ + "/" + name; }
  /// Writes a file, and the folders above it, and returns its path.
  std::string write(const std::string &name, std::string_view bytes) const;

private:
  std::string path_;
};

/// Pixels that outlive their reader.
struct Pixels {
  int width = 0, height = 0, channels = 0;
  std::vector<uint8_t> bytes;
  int at(int x, int y, int channel = 0) const { return bytes[size_t((y * width + x) * channels + channel)]; }
};

/// A source with one reader; either may have failed to open.
class Opened {
public:
  explicit Opened(const std::string &path);
  ~Opened();
  Opened(const Opened &) = delete;

  explicit operator bool() const { return source_; }
  mpc_data_source *source() const { return source_; }
  int64_t samples() const { return plugin().samples(source_); }
  int64_t classes() const { return plugin().classes(source_); }
  std::string className(int64_t index) const { return plugin().class_name(source_, index); }
  int64_t label(int64_t sample) const { return plugin().label(source_, sample); }
  std::string where(int64_t sample) const;
  /// Returns the size, or {0, 0} and sets error.
  mpc_picture_size look(int64_t sample);
  /// Looks and decodes. Returns no pixels and sets error where it fails.
  Pixels decode(int64_t sample, int channels = 3, int leastWidth = INT32_MAX, int leastHeight = INT32_MAX);

  mpc_data_error error = {};

private:
  mpc_data_source *source_ = nullptr;
  mpc_data_reader *reader_ = nullptr;
};

} // namespace mpc::images::test
