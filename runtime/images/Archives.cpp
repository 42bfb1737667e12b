// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pictures in tar archives, in one of two forms. WebDataset's has a picture KEY.jpg and its class KEY.cls side by side;
// in the other form, the folders in the archive are the classes.
#include "runtime/images/ClassNames.h"
#include "runtime/images/File.h"
#include "runtime/images/Source.h"
#include "runtime/images/Tar.h"
#include "runtime/support/Error.h"

#include <algorithm>

namespace mpc::images {

using rt::concat;
using rt::fail;

namespace {
constexpr int64_t kMostClassBytes = 256;

/// A picture, or the file with a picture's class.
struct Member {
  std::string name;
  int64_t offset, bytes;
  int32_t archive;
  int32_t label = -1; // for a file with a class: its number
  /// Returns the name up to the first dot of its last part.
  std::string_view key() const { return std::string_view(name).substr(0, name.find('.', name.rfind('/') + 1)); }
  /// Returns whether nothing but one end, such as .jpg, follows the key.
  bool isWhole() const { return name.rfind('.') == key().size(); }
  /// Return the path and the name of the folder that it lies in; "" where there is none.
  std::string_view path() const {
    size_t end = name.rfind('/');
    return std::string_view(name).substr(0, end == name.npos ? 0 : end);
  }
  std::string_view folder() const { return path().substr(path().rfind('/') + 1); }
};

/// Collects the members of all archives.
class Index {
public:
  void read(const std::string &path);
  /// Makes the source of what was read; `paths`: the archives.
  std::unique_ptr<const Source> finish(const std::vector<std::string> &paths);

private:
  void classify(const File &file, Member &member, const std::string &path);
  void joinClasses();
  void takeFolders();
  std::string where(const Member &member) const {
    return concat(source_->archive(member.archive).path, ": ", member.name);
  }

  std::unique_ptr<Source> source_ = std::make_unique<Source>("");
  std::vector<Member> members_, labels_; // pictures; files with classes
  ClassNames classes_;
};

/// Returns the name without empty parts and parts ".", or an empty string for a hidden file. Throws Error for a path
/// that leads out of the archive.
std::string cleanName(const std::string &name, const std::string &path) {
  constexpr char kRelative[] = "pack the archive with relative paths (tar -C FOLDER -cf NAME.tar .)";
  std::string clean;
  bool hidden = false;
  if (name.starts_with('/'))
    fail(concat(path, ": ", name), "has an absolute path", kRelative);
  for (size_t begin = 0; begin <= name.size();) {
    size_t end = std::min(name.find('/', begin), name.size());
    std::string_view part = std::string_view(name).substr(begin, end - begin);
    begin = end + 1;
    if (part == "..")
      fail(concat(path, ": ", name), "has a path that leads out of the archive", kRelative);
    if (part.empty() || part == ".")
      continue;
    hidden |= part[0] == '.';
    if (!clean.empty())
      clean += '/';
    clean += part;
  }
  return hidden ? std::string() : clean;
}

void Index::read(const std::string &path) {
  File file(path);
  int32_t archive = source_->addArchive({path, file.size(), file.modified()});
  TarReader reader(file, path);
  TarMember found;
  size_t pictures = members_.size(), labels = labels_.size();
  while (reader.next(found)) {
    bool isClass = endsWith(found.name.c_str(), found.name.size(), ".cls");
    if (!isClass && !isPictureName(found.name))
      continue;
    Member member{cleanName(found.name, path), found.offset, found.bytes, archive};
    if (member.name.empty())
      continue;
    if (found.notFile)
      fail(concat(path, ": ", found.name), concat("is ", found.notFile, ", not a file"),
           "pack files only (tar --dereference --hard-dereference)");
    if (isClass && !member.isWhole()) // 1.top.cls is something else of the sample 1
      continue;
    if (isClass)
      classify(file, member, path);
    (isClass ? labels_ : members_).push_back(std::move(member));
  }
  for (auto [list, first] : {std::pair(&members_, pictures), std::pair(&labels_, labels)}) {
    auto begin = list->begin() + int64_t(first);
    std::sort(begin, list->end(), [](const Member &a, const Member &b) { return a.name < b.name; });
    auto twice =
        std::adjacent_find(begin, list->end(), [](const Member &a, const Member &b) { return a.name == b.name; });
    if (twice != list->end())
      fail(where(*twice), "is in the archive twice", "pack the archive again");
  }
}

/// Reads the text of a class.
void Index::classify(const File &file, Member &member, const std::string &path) {
  constexpr char kForm[] = "write the number or the name of the picture's class into it";
  std::string place = concat(path, ": ", member.name);
  if (member.bytes > kMostClassBytes)
    fail(place, concat("has ", member.bytes, " bytes, which is no class"), kForm);
  char text[kMostClassBytes];
  file.read(member.offset, text, size_t(member.bytes));
  std::string_view name(text, size_t(member.bytes));
  constexpr char kSpace[] = " \t\r\n";
  name.remove_prefix(std::min(name.find_first_not_of(kSpace), name.size()));
  name = name.substr(0, name.find_last_not_of(kSpace) + 1);
  if (name.empty())
    fail(place, "is empty", kForm);
  checkClassName(std::string(name), place);
  member.label = classes_.add(name);
}

/// Gives each picture the class that lies beside it. Both lists are sorted within each archive.
void Index::joinClasses() {
  std::erase_if(members_, [](const Member &member) { return !member.isWhole(); });
  auto before = [](const Member &a, const Member &b) {
    return a.archive != b.archive ? a.archive < b.archive : a.key() < b.key();
  };
  // Sorted by names, "a-1.jpg" stands before "a.jpg", but "a" before "a-1".
  for (std::vector<Member> *list : {&members_, &labels_})
    std::stable_sort(list->begin(), list->end(), before);
  size_t at = 0;
  for (size_t i = 0; i < members_.size(); ++i, ++at) {
    Member &member = members_[i];
    if (i > 0 && !before(members_[i - 1], member))
      fail(where(member), concat("is a second picture beside ", members_[i - 1].name),
           "give each picture a name of its own");
    if (at < labels_.size() && before(labels_[at], member))
      fail(where(labels_[at]), "lies beside no picture",
           "pack each picture as NAME.jpg or NAME.png, and its class as NAME.cls, into the same archive");
    if (at == labels_.size() || before(member, labels_[at]))
      fail(where(member), concat("has no class: there is no ", member.key(), ".cls"),
           "pack the class of each picture beside it, or of none");
    member.label = labels_[at].label;
  }
  if (at < labels_.size())
    fail(where(labels_[at]), "lies beside no picture",
         "pack each picture as NAME.jpg or NAME.png, and its class as NAME.cls, into the same archive");
  std::vector<std::string> names;
  std::vector<int32_t> index = classes_.numbered(source_->archive(0).path, names);
  for (Member &member : members_)
    member.label = index[size_t(member.label)];
  source_->setClasses(std::move(names));
}

/// Makes classes of the folders. Pictures of a single folder have no classes.
void Index::takeFolders() {
  const Member *outside = nullptr, *inside = nullptr;
  std::vector<const Member *> first; // of each class in the archive
  for (Member &member : members_) {
    member.label = classes_.add(member.folder());
    (member.folder().empty() ? outside : inside) = &member;
    first.resize(classes_.size());
    const Member *&other = first[size_t(member.label)];
    if (!other || other->archive != member.archive)
      other = &member;
    // train/cat and test/cat in one archive are hardly meant as one set, nor are cat/large and dog/large one class.
    else if (member.path() != other->path())
      fail(where(member), concat("lies in another folder ", member.folder(), " than ", other->name),
           "pack one set into an archive, with one folder for each class");
  }
  if (outside && inside)
    fail(where(*outside), concat("lies beside folders of pictures, such as ", inside->folder()),
         "pack it in the folder of its class");
  if (classes_.size() < 2) {
    for (Member &member : members_)
      member.label = -1;
    return;
  }
  std::vector<std::string> names;
  std::vector<int32_t> index = classes_.sorted(source_->archive(0).path, names);
  for (Member &member : members_)
    member.label = index[size_t(member.label)];
  source_->setClasses(std::move(names));
}

std::unique_ptr<const Source> Index::finish(const std::vector<std::string> &paths) {
  if (labels_.empty())
    takeFolders();
  else
    joinClasses();
  if (int64_t(source_->classes().size()) > kMostClasses)
    fail(paths[0], concat("has ", classes_.size(), " different classes; at most ", kMostClasses, " are read"),
         "write a class, not a number of the picture, into each .cls");
  if (members_.empty())
    fail(paths[0], "holds no picture", "pack JPEG or PNG files into it");
  for (const Member &member : members_)
    source_->add(member.name, {0, member.offset, member.bytes, member.archive, member.label});
  return std::move(source_);
}
} // namespace

std::unique_ptr<const Source> openArchives(const std::vector<std::string> &paths) {
  Index index;
  for (const std::string &path : paths)
    index.read(path);
  return index.finish(paths);
}

} // namespace mpc::images
