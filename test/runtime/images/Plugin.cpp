// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Plugin.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;

namespace mpc::images::test {

const mpc_data_plugin &plugin() {
  static const mpc_data_plugin *table = [] {
    void *handle = dlopen(MPC_IMAGES_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::exit(1);
    }
    return reinterpret_cast<mpc_data_entry_fn>(dlsym(handle, MPC_DATA_ENTRY))();
  }();
  return *table;
}

Folder::Folder() {
  std::string name = (fs::temp_directory_path() / "mpc-images-XXXXXX").string();
  if (!mkdtemp(name.data()))
    std::abort();
  path_ = name;
}

Folder::~Folder() {
  std::error_code code;
  fs::remove_all(path_, code);
}

std::string Folder::write(const std::string &name, std::string_view bytes) const {
  std::string path = *this / name;
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
  return path;
}

Opened::Opened(const std::string &path) : source_(plugin().open(path.c_str(), &error)) {
  if (source_)
    reader_ = plugin().open_reader(source_);
}

Opened::~Opened() {
  if (reader_)
    plugin().close_reader(reader_);
  if (source_)
    plugin().close(source_);
}

std::string Opened::where(int64_t sample) const {
  char text[1024];
  plugin().describe(source_, sample, text, sizeof text);
  return text;
}

mpc_picture_size Opened::look(int64_t sample) {
  mpc_picture_size size = {};
  error = {};
  return plugin().look(reader_, sample, &size, &error) == 0 ? size : mpc_picture_size{};
}

Pixels Opened::decode(int64_t sample, int channels, int leastWidth, int leastHeight) {
  Pixels pixels;
  mpc_picture picture;
  if (look(sample).width == 0 || plugin().decode(reader_, channels, leastWidth, leastHeight, &picture, &error) != 0)
    return pixels;
  pixels = {picture.width, picture.height, picture.channels, {}};
  for (int y = 0; y < picture.height; ++y) {
    const uint8_t *row = picture.pixels + y * picture.row_bytes;
    pixels.bytes.insert(pixels.bytes.end(), row, row + picture.width * picture.channels);
  }
  return pixels;
}

} // namespace mpc::images::test
