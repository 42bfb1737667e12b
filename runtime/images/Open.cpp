// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Says what a path names.
#include "runtime/images/File.h"
#include "runtime/images/Folder.h"
#include "runtime/images/Source.h"
#include "runtime/images/Tar.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <cerrno>
#include <sys/stat.h>

namespace mpc::images {

using rt::concat;
using rt::fail;
using rt::failErrno;

namespace {
constexpr size_t kMostShards = 100000;

bool ends(const std::string &path, std::initializer_list<const char *> list) {
  return std::any_of(list.begin(), list.end(),
                     [&](const char *end) { return endsWith(path.c_str(), path.size(), end); });
}
bool isJsonName(const std::string &path) { return ends(path, {".json"}); }
bool isListName(const std::string &path) { return ends(path, {".csv", ".txt"}); }
bool isPackedName(const std::string &path) {
  return ends(path, {".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".txz", ".tar.zst", ".tar.lz4"});
}

bool isDigits(std::string_view text) {
  return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == text.npos;
}

/// Writes out {A..B}: "train-{00..02}.tar" is train-00.tar, train-01.tar and train-02.tar. Other braces stay.
void expand(const std::string &path, size_t from, std::vector<std::string> &paths) {
  size_t open = path.find('{', from), dots = path.find("..", open), close = path.find('}', open);
  if (open == path.npos || close == path.npos) {
    if (paths.size() == kMostShards)
      fail(path, concat("stands for more than ", kMostShards, " files"), "name fewer shards");
    paths.push_back(path);
    return;
  }
  if (dots > close || !isDigits(path.substr(open + 1, dots - open - 1)) ||
      !isDigits(path.substr(dots + 2, close - dots - 2)))
    return expand(path, open + 1, paths);
  std::string first = path.substr(open + 1, dots - open - 1), last = path.substr(dots + 2, close - dots - 2);
  if (std::stol(first) > std::stol(last))
    fail(path, concat("counts from ", first, " to ", last), "write the smaller number first");
  size_t width = first[0] == '0' || last[0] == '0' ? std::max(first.size(), last.size()) : 0;
  for (long number = std::stol(first); number <= std::stol(last); ++number) {
    std::string digits = concat(number);
    digits.insert(0, std::max(width, digits.size()) - digits.size(), '0');
    std::string head = path.substr(0, open) + digits;
    expand(head + path.substr(close + 1), head.size(), paths);
  }
}

/// Divides "instances.json:FOLDER" and "VOC2007:SET" at their colon. Returns the path alone where there is nothing of
/// the kind before a colon.
std::pair<std::string, std::string> divided(const std::string &path) {
  const size_t json = path.find(".json:"), colon = json == path.npos ? path.rfind(':') : json + 5;
  if (colon == path.npos)
    return {path, ""};
  const std::string head = path.substr(0, colon);
  return json != path.npos || isFolder(head) ? std::pair(head, path.substr(colon + 1)) : std::pair(path, std::string());
}

bool isPattern(const std::string &path) { return ends(path, {".tar"}) && path.find('{') != path.npos; }

/// Returns whether the file begins as a tar archive.
bool isTar(const std::string &path) {
  File file(path);
  uint8_t head[512];
  if (file.size() < int64_t(sizeof head))
    return false;
  file.read(0, head, sizeof head);
  return TarReader::recognizes(head, sizeof head);
}
} // namespace

bool Source::recognizes(const std::string &path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) // open() says why
    return ends(path, {".tar", ".csv", ".json"}) || isPackedName(path) || divided(path).first != path;
  if (S_ISDIR(info.st_mode))
    return true;
  return S_ISREG(info.st_mode) &&
         (ends(path, {".tar", ".json"}) || isListName(path) || isPackedName(path) || isTar(path));
}

std::unique_ptr<const Source> Source::open(const std::string &path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    int error = errno;
    if (const auto [head, tail] = divided(path); head != path) {
      if (isJsonName(head))
        return openCoco(head, tail);
      if (isVoc(head))
        return openVoc(head, tail);
      fail(head, concat("holds no JPEGImages and Annotations, of which '", tail, "' could be a part"),
           "name a folder of Pascal VOC before the colon, or leave the colon out");
    }
    if (!isPattern(path))
      failErrno(path, "cannot open", error);
    std::vector<std::string> shards;
    expand(path, 0, shards);
    return openArchives(shards);
  }
  if (S_ISDIR(info.st_mode))
    return isYolo(path) ? openYolo(path) : isVoc(path) ? openVoc(path, "") : openFolder(path);
  if (isJsonName(path))
    return openCoco(path, "");
  if (isPackedName(path))
    fail(path, "is a packed archive, in which pictures cannot be found by their place",
         ends(path, {"gz"}) ? "unpack it with gunzip, and name the .tar" : "unpack it, and name the .tar");
  if (isTar(path))
    return openArchives({path});
  if (ends(path, {".tar"}))
    fail(path, info.st_size == 0 ? "is empty" : "is no tar archive, or one that is damaged or packed",
         "unpack it (gunzip), or copy it again");
  if (isListName(path))
    return openList(path);
  fail(path, "is no folder, list or tar archive of pictures",
       "name a folder of classes, a .csv with a path and a label in each line, or a .tar");
}

} // namespace mpc::images
