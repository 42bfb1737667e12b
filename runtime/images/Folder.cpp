// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Folders of pictures. Only the folders themselves are read here; no file is opened or looked at.
#include "runtime/images/Folder.h"
#include "runtime/images/ClassNames.h"
#include "runtime/images/File.h"
#include "runtime/images/Source.h"
#include "runtime/support/Error.h"
#include "runtime/support/FunctionRef.h"

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <sys/stat.h>

namespace mpc::images {

using rt::concat;
using rt::fail;
using rt::failErrno;

namespace {
struct Listing {
  std::vector<std::string> folders, pictures, archives, others; // sorted by their bytes
};

/// A folder that is being read, and those above it: a link to one of them would never end.
struct Place {
  dev_t device;
  ino_t inode;
  const Place *above;
  bool isBelow(const Place &other) const {
    for (const Place *at = this; at; at = at->above)
      if (at->device == other.device && at->inode == other.inode)
        return true;
    return false;
  }
};

/// Returns whether an entry is a folder. Only links, and entries of file systems that do not say it, are looked up.
bool isFolder(const std::string &folder, const dirent &entry) {
  if (entry.d_type != DT_LNK && entry.d_type != DT_UNKNOWN)
    return entry.d_type == DT_DIR;
  struct stat info;
  return stat((folder + entry.d_name).c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

/// Reads a folder, whose path ends with '/', without its hidden entries. Sets `place`.
Listing list(const std::string &folder, const Place *above, Place &place) {
  DIR *directory = opendir(folder.c_str());
  if (!directory)
    failErrno(folder, "cannot open", errno);
  std::unique_ptr<DIR, int (*)(DIR *)> closer(directory, closedir);
  struct stat info;
  int file = dirfd(directory);
  if (file < 0 || fstat(file, &info) != 0)
    failErrno(folder, "cannot open", errno);
  place = {info.st_dev, info.st_ino, above};
  if (above && above->isBelow(place))
    fail(folder, "is a link to a folder above it", "remove the link");
  Listing found;
  errno = 0;
  while (const dirent *entry = readdir(directory)) {
    std::string name = entry->d_name;
    if (name[0] == '.')
      continue;
    if (isFolder(folder, *entry))
      found.folders.push_back(std::move(name));
    else if (isPictureName(name))
      found.pictures.push_back(std::move(name));
    else if (endsWith(name.c_str(), name.size(), ".tar"))
      found.archives.push_back(std::move(name));
    else
      found.others.push_back(std::move(name));
    errno = 0;
  }
  if (errno != 0)
    failErrno(folder, "cannot read", errno);
  for (std::vector<std::string> *names : {&found.folders, &found.pictures, &found.archives, &found.others})
    std::sort(names->begin(), names->end());
  return found;
}

/// Goes through the pictures in and below a folder.
class Walk {
public:
  explicit Walk(Source &source, const std::string &root) : source_(source), root_(root) {}
  /// Adds the pictures of a folder that was listed. `prefix`: its path below the root, empty or with '/' at its end.
  void add(const Listing &listing, const std::string &prefix, const Place *place, int32_t label) {
    for (const std::string &picture : listing.pictures)
      source_.add(prefix + picture, label);
    seeOthers(listing, prefix);
    for (const std::string &folder : listing.folders)
      descend(concat(prefix, folder, "/"), place, label);
  }
  void descend(const std::string &prefix, const Place *above, int32_t label) {
    Place place;
    Listing listing = list(root_ + prefix, above, place);
    add(listing, prefix, &place, label);
  }
  /// Counts the files of a folder that are no pictures.
  void seeOthers(const Listing &listing, const std::string &prefix) {
    for (const std::vector<std::string> *names : {&listing.others, &listing.archives}) {
      if (!names->empty() && first_.empty())
        first_ = concat(root_, prefix, names->front());
      if (!names->empty() && other_.empty())
        other_ = concat(root_, prefix, names->front());
      others_ += int64_t(names->size());
    }
  }
  /// Returns the path of the first file that was seen since the last call and is no picture, or an empty string.
  std::string takeOther() { return std::exchange(other_, {}); }
  /// Returns a sentence about all files that are no pictures, or an empty string.
  std::string leftOut() const {
    if (others_ == 0)
      return "";
    return concat(others_, others_ == 1 ? " file is" : " files are", " left out, not being named .jpg, .jpeg or .png",
                  others_ == 1 ? ": " : ", such as ", first_);
  }

private:
  Source &source_;
  const std::string &root_;
  std::string other_, first_;
  int64_t others_ = 0;
};
} // namespace

bool isFolder(const std::string &path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::vector<std::string> filesIn(const std::string &folder) {
  Place place;
  Listing listing = list(folder, nullptr, place);
  std::vector<std::string> names = std::move(listing.others);
  names.insert(names.end(), listing.pictures.begin(), listing.pictures.end());
  std::sort(names.begin(), names.end());
  return names;
}

std::string addPicturesIn(const std::string &folder, Source &source) {
  Walk walk(source, folder);
  walk.descend("", nullptr, -1);
  return walk.leftOut();
}

std::unique_ptr<const Source> openFolder(const std::string &path) {
  std::string root = path.ends_with('/') ? path : path + "/";
  Place place;
  Listing listing = list(root, nullptr, place);
  if (listing.pictures.empty() && listing.folders.empty() && !listing.archives.empty()) {
    std::vector<std::string> shards;
    for (const std::string &name : listing.archives)
      shards.push_back(root + name);
    return openArchives(shards);
  }
  auto source = std::make_unique<Source>(root);
  Walk walk(*source, root);
  std::string other;
  if (listing.pictures.empty()) {
    walk.seeOthers(listing, "");
    other = walk.takeOther();
    if (int64_t(listing.folders.size()) > kMostClasses)
      fail(path, concat("has ", listing.folders.size(), " folders; at most ", kMostClasses, " classes are read"),
           "name a folder whose folders are classes");
    for (size_t i = 0; i < listing.folders.size(); ++i) {
      checkClassName(listing.folders[i], path);
      int64_t before = source->samples();
      walk.descend(listing.folders[i] + "/", &place, int32_t(i));
      std::string seen = walk.takeOther();
      if (other.empty())
        other = seen;
      // A folder without any file is a class without samples, so that the numbers of the classes stay those of another
      // folder, from which samples were taken. Other files show that the folder is no class.
      if (source->samples() == before && !seen.empty())
        fail(root + listing.folders[i], concat("is no class: it holds no picture, but ", seen),
             "move the folder away, or give it JPEG or PNG pictures");
    }
    source->setClasses(listing.folders);
  } else {
    int64_t direct = int64_t(listing.pictures.size());
    walk.add(listing, "", &place, -1);
    if (source->samples() > direct)
      fail(root + listing.pictures.front(),
           concat("lies beside folders of pictures, such as ", listing.folders.front()),
           "move it into the folder of its class");
  }
  if (source->samples() == 0)
    fail(path, other.empty() ? "holds no picture" : concat("holds no picture, but other files such as ", other),
         "name a folder with JPEG or PNG files in a folder for each class");
  source->setNote(walk.leftOut());
  return source;
}

} // namespace mpc::images
