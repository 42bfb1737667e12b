// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/data/PictureFiles.h"

#include "runtime/core/data/PicturePlugin.h"

#include <sys/stat.h>

namespace mpc::rt {

bool PictureFiles::mayBe(const std::string &path) {
  auto isFolder = [](const std::string &name) {
    struct stat info;
    return stat(name.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  };
  if (isFolder(path) || isFolder(path.substr(0, path.rfind(':'))) || path.find(".json:") != path.npos)
    return true;
  for (const char *end :
       {".tar", ".tar.gz", ".tgz", ".csv", ".json"}) // the plugin says what to do about packed archives
    if (path.ends_with(end))
      return true;
  return false;
}

PictureFiles::PictureFiles(const std::string &path, const std::string &installation)
    : plugin_(picturePlugin(path, installation)) {
  mpc_data_error error = {};
  source_ = plugin_->open(path.c_str(), &error);
  if (!source_)
    failAs(error);
}

std::string PictureFiles::note() const {
  char text[1024] = "";
  plugin_->note(source_, text, sizeof text);
  return text;
}

std::vector<std::string> PictureFiles::classes() const {
  std::vector<std::string> names;
  for (int64_t i = 0, count = plugin_->classes(source_); i < count; ++i)
    names.push_back(plugin_->class_name(source_, i));
  return names;
}

std::vector<int64_t> PictureFiles::numbersAmong(const std::vector<std::string> &known, const std::string &path) const {
  std::string lines;
  for (const std::string &name : known)
    (lines += name) += '\n';
  std::vector<int64_t> numbers(size_t(plugin_->classes(source_)));
  mpc_data_error error = {};
  if (plugin_->number_classes(source_, path.c_str(), lines.c_str(), numbers.data(), &error) != 0)
    failAs(error);
  return numbers;
}

} // namespace mpc::rt
