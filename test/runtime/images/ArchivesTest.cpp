// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tar archives: a table of hostile and odd ones, WebDataset's form, folders within archives, and shards.
#include "Files.h"
#include "Plugin.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace mpc::images::test {
namespace {
using namespace std::string_literals;

const std::string &picture() {
  static const std::string bytes = Jpeg{.width = 4, .height = 4}();
  return bytes;
}
std::string file(const std::string &name, const std::string &data = picture()) {
  return Member{.name = name, .data = data}();
}

/// What open() must do with an archive t.tar: an error whose clause begins with `what` at "t.tar" + `member`, or a
/// source whose pictures can all be read.
struct Row {
  const char *name;
  std::string bytes;
  std::string what = {}, member = {};
  int64_t samples = 0, classes = 0;
};
void PrintTo(const Row &row, std::ostream *out) { *out << row.name; }

std::vector<Row> rows() {
  const std::string a = file("a/1.jpg"), b = file("b/1.jpg"), both = a + b, x = file("a/2.jpg", "x");
  constexpr char kCut[] = "is cut short: it ends without the mark", kLink[] = "is a link, not a file";
  const std::string gnu = "ustar  \0"s, old = std::string(8, '\0'), longName = "c/" + std::string(300, 'n') + ".jpg";
  auto member = [](Member how) { return tarOf(file("a/1.jpg") + how()); };
  auto numbered = [](const char *size) { return tarOf(Member{.name = "a/1.jpg", .size = std::string(size, 12)}()); };
  auto extended = [&](const std::string &header) { return tarOf(header + x); };
  auto record = [](const std::string &text, char type = 'x') {
    return Member{.name = "pax", .data = text, .type = type}();
  };
  return {
      {"Folders", tarOf(both), "", "", 2, 2},
      {"OneFolder", tarOf(a + file("a/2.jpg")), "", "", 2, 0},
      {"NoFolder", tarOf(file("1.jpg") + file("./2.jpg")), "", "", 2, 0},
      {"ParentIsTheClass", tarOf(file("./train/a/1.jpg") + file("train//b/./1.jpg")), "", "", 2, 2},
      {"OneZeroBlock", both + std::string(512, '\0'), "", "", 2, 2},
      {"BytesBehindTheEnd", tarOf(both) + "anything", "", "", 2, 2},
      {"OtherMembers",
       tarOf(both + file("a/notes.txt", "n") + Member{.name = "a", .type = '5'}() + file("c.json", "{}")), "", "", 2,
       2},
      {"HiddenMembers", tarOf(both + file("a/._1.jpg") + file(".cache/2.jpg")), "", "", 2, 2},
      {"Contiguous", tarOf(b + Member{.name = "a/1.jpg", .data = picture(), .type = '7'}()), "", "", 2, 2},
      {"OldForm",
       tarOf(b + Member{.name = "a/1.jpg", .data = picture(), .type = '\0', .magic = old}() +
             Member{.name = "d/", .type = '\0', .magic = old}()),
       "", "", 2, 2},
      {"GnuForm", tarOf(b + Member{.name = "a/1.jpg", .data = picture(), .magic = gnu, .prefix = "atime"}()), "", "", 2,
       2},
      {"Prefix", tarOf(a + Member{.name = "1.jpg", .data = picture(), .prefix = "deep/b"}()), "", "", 2, 2},
      {"GnuLongName",
       tarOf(a + Member{.name = "././@LongLink", .data = longName + "\0"s, .type = 'L', .magic = gnu}() +
             file("c/cut.jpg")),
       "", "", 2, 2},
      {"GnuLongLink",
       tarOf(both + Member{.name = "././@LongLink", .data = longName, .type = 'K', .magic = gnu}() +
             Member{.name = "l", .type = '2'}()),
       "", "", 2, 2},
      {"PaxPath", tarOf(a + pax("path", longName) + file("c/cut.jpg")), "", "", 2, 2},
      {"PaxSize",
       tarOf(b + pax("size", std::to_string(picture().size())) +
             Member{.name = "a/1.jpg", .data = picture(), .size = "00000000000"}()),
       "", "", 2, 2},
      {"PaxComment", tarOf(pax("comment", "from git", 'g') + both), "", "", 2, 2},
      {"BinarySize",
       tarOf(b + Member{.name = "a/1.jpg",
                        .data = picture(),
                        .size = "\x80\0\0\0\0\0\0\0\0\0"s + char(picture().size() >> 8) + char(picture().size())}()),
       "", "", 2, 2},
      {"SizeInSpaces", tarOf(b + Member{.name = "a/1.jpg", .data = "", .size = "          0 "}() + file("a/2.jpg")),
       "is an empty file, not a JPEG", ": a/1.jpg", 3, 2},
      {"LinkOfAnotherName", tarOf(both + Member{.name = "latest", .type = '2', .link = "/etc/passwd"}()), "", "", 2, 2},
      {"Empty", "", "is empty"},
      {"Zeros", std::string(1024, '\0'), "is no tar archive"},
      {"Text", std::string(600, 't'), "is no tar archive"},
      {"Packed", "\x1f\x8b\x08\0"s + std::string(600, 'p'), "is no tar archive"},
      {"NoPicture", tarOf(file("a/notes.txt", "n")), "holds no picture"},
      {"CutInTheFirstMember", a.substr(0, 700), "is cut short: it ends behind the archive's end", ": a/1.jpg"},
      {"CutInTheSecondMember", both.substr(0, a.size() + 600), "is cut short: it ends behind the archive's end",
       ": b/1.jpg"},
      {"CutBetweenMembers", a, kCut},
      {"CutInTheSecondHeader", a + b.substr(0, 300), kCut},
      {"BadChecksum", member({.name = "b/1.jpg", .data = "x", .checksumError = 1}), "has no header at byte"},
      {"GarbageBetween", tarOf(a + std::string(512, 'g') + b), "has no header at byte"},
      {"NegativeSize", numbered("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xf0"), "has a size that is not possible",
       ": a/1.jpg"},
      {"HugeBinarySize", numbered("\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
       "has a size that is not possible", ": a/1.jpg"},
      {"LargeBinarySize", numbered("\x80\0\0\0\x3f\xff\xff\xff\xff\xff\xff\xff"), "is cut short", ": a/1.jpg"},
      {"LargeSize", numbered("77777777777\0"), "is cut short", ": a/1.jpg"},
      {"SizeOfLetters", numbered("0000000zz00\0"), "has a size that is not possible", ": a/1.jpg"},
      {"MinusSize", numbered("-0000000010\0"), "has a size that is not possible", ": a/1.jpg"},
      {"Above", member({.name = "../b/1.jpg", .data = "x"}), "has a path that leads out of the archive",
       ": ../b/1.jpg"},
      {"AboveInside", member({.name = "b/../../1.jpg", .data = "x"}), "has a path that leads out of the archive",
       ": b/../../1.jpg"},
      {"Absolute", member({.name = "/b/1.jpg", .data = "x"}), "has an absolute path", ": /b/1.jpg"},
      {"SymbolicLink", member({.name = "b/1.jpg", .type = '2', .link = "/etc/passwd"}), kLink, ": b/1.jpg"},
      {"HardLink", member({.name = "b/1.jpg", .type = '1', .link = "a/1.jpg"}), kLink, ": b/1.jpg"},
      {"Device", member({.name = "b/1.png", .type = '3'}), "is a device, not a file", ": b/1.png"},
      {"Pipe", member({.name = "b/1.JPEG", .type = '6'}), "is a pipe, not a file", ": b/1.JPEG"},
      {"FolderOfThatName", member({.name = "b.jpg/", .type = '5'}), "", "", 1, 0},
      {"UnknownKind", member({.name = "b/1.jpg", .data = "x", .type = 'Q'}),
       "is of a kind that is not known, not a file", ": b/1.jpg"},
      {"Sparse", member({.name = "b/1.jpg", .data = "x", .type = 'S'}), "is a sparse file", ": b/1.jpg"},
      {"SparseInPax", extended(pax("GNU.sparse.major", "1")), "is a sparse file", ": a/2.jpg"},
      {"Continued", member({.name = "b/1.jpg", .data = "x", .type = 'M'}), "is the rest of a file", ": b/1.jpg"},
      {"Twice", tarOf(a + b + a), "is in the archive twice", ": a/1.jpg"},
      {"FolderAndNoFolder", tarOf(a + file("1.jpg")), "lies beside folders of pictures, such as a", ": 1.jpg"},
      {"PaxWithoutLength", extended(record("path=a\n")), "has a pax header that is damaged"},
      {"PaxLengthTooLarge", extended(record("99 path=a\n")), "has a pax header that is damaged"},
      {"PaxLengthTooSmall", extended(record("3 path=a\n")), "has a pax header that is damaged"},
      {"PaxLengthHuge", extended(record("99999999999999999999 path=a\n")), "has a pax header that is damaged"},
      {"PaxWithoutValue", extended(record("6 abc\n")), "has a pax header that is damaged"},
      {"PaxNegativeSize", extended(pax("size", "-1")), "has a pax header that is damaged"},
      {"PaxHugeSize", extended(pax("size", "999999999999999999")), "is cut short", ": a/2.jpg"},
      {"PaxZeroInPath", extended(pax("path", "a\0b.jpg"s)), "has a pax header that is damaged"},
      {"PaxPathForAll", extended(pax("path", "a.jpg", 'g')), "has one name or size for all members"},
      {"PaxTooLong", extended(Member{.name = "pax", .size = "00040000001", .type = 'x'}()),
       "has a header whose length"},
      {"LongNameTooLong", extended(Member{.name = "long", .size = "00000777777", .type = 'L'}()),
       "has a header whose length"},
      {"ExtensionAlone", a + pax("path", "x.jpg"), kCut},
      {"ExtensionAtTheEnd", tarOf(both + pax("path", "x.jpg")), "", "", 2, 2},
      // WebDataset's form:
      {"Numbers", tarOf(file("1.jpg") + file("1.cls", "2") + file("2.png") + file("2.cls", " 0\n")), "", "", 2, 3},
      {"Names", tarOf(file("1.cls", "dog") + file("1.jpg") + file("2.jpg") + file("2.cls", "cat")), "", "", 2, 2},
      {"OtherParts", tarOf(file("1.jpg") + file("1.seg.png") + file("1.json", "{}") + file("1.cls", "0")), "", "", 1,
       1},
      {"OtherClasses", tarOf(file("1.jpg") + file("1.cls", "0") + file("1.top.cls", "9")), "", "", 1, 1},
      {"TwoSets", tarOf(file("train/a/1.jpg") + file("train/b/1.jpg") + file("test/a/1.jpg")),
       "lies in another folder a than test/a/1.jpg", ": train/a/1.jpg"},
      {"FoldersWithinClasses", tarOf(file("a/x/1.jpg") + file("b/x/1.jpg")), "lies in another folder x than a/x/1.jpg",
       ": b/x/1.jpg"},
      {"FolderOfBytes", tarOf(a + file("\xe4/1.jpg")), "has the class '\xe4', which is no UTF-8"},
      {"KeysWithFolders", tarOf(file("a/1.jpg") + file("a/1.cls", "0") + file("b/1.jpg") + file("b/1.cls", "1")), "",
       "", 2, 2},
      {"KeysThatBeginAlike",
       tarOf(file("a-1.jpg") + file("a-1.cls", "0") + file("a.jpg") + file("a.cls", "1") + file("a0.jpg") +
             file("a0.cls", "2")),
       "", "", 3, 3},
      {"NoClass", tarOf(file("1.jpg") + file("1.cls", "0") + file("2.jpg")), "has no class: there is no 2.cls",
       ": 2.jpg"},
      {"NoFirstClass", tarOf(file("1.jpg") + file("2.jpg") + file("2.cls", "0")), "has no class: there is no 1.cls",
       ": 1.jpg"},
      {"ClassAlone", tarOf(file("1.cls", "0")), "lies beside no picture", ": 1.cls"},
      {"ClassOfAnotherFormat", tarOf(file("1.jpg") + file("1.cls", "0") + file("2.webp") + file("2.cls", "0")),
       "lies beside no picture", ": 2.cls"},
      {"TwoPictures", tarOf(file("1.jpg") + file("1.png") + file("1.cls", "0")), "is a second picture beside 1.jpg",
       ": 1.png"},
      {"EmptyClass", tarOf(file("1.jpg") + file("1.cls", " \n")), "is empty", ": 1.cls"},
      {"LongClass", tarOf(file("1.jpg") + file("1.cls", std::string(300, 'c'))), "has 300 bytes, which is no class",
       ": 1.cls"},
      {"ClassOfControls", tarOf(file("1.jpg") + file("1.cls", "a\x1b[2J")),
       "has the class 'a?[2J', which is no UTF-8 or has control characters", ": 1.cls"},
      {"NegativeClass", tarOf(file("1.jpg") + file("1.cls", "-1")), "has the class -1"},
      {"HugeClass", tarOf(file("1.jpg") + file("1.cls", "99999999999999999999")), "has the class 99999999999999999999"},
      {"ClassIsALink", tarOf(file("1.jpg") + Member{.name = "1.cls", .type = '2', .link = "/etc/passwd"}()), kLink,
       ": 1.cls"},
  };
}
} // namespace

class Archives : public testing::TestWithParam<Row> {};

TEST_P(Archives, AreReadOrRefused) {
  const Row &row = GetParam();
  Folder folder;
  std::string path = folder.write("t.tar", row.bytes);
  Opened tar(path);
  mpc_data_error error = tar.error;
  if (tar) {
    EXPECT_EQ(tar.samples(), row.samples);
    EXPECT_EQ(tar.classes(), row.classes);
    for (int64_t i = 0; i < tar.samples(); ++i)
      if (tar.decode(i).width != 4 && error.what[0] == 0)
        error = tar.error;
  } else {
    EXPECT_TRUE(row.samples == 0) << error.what;
  }
  EXPECT_EQ(std::string(error.what).substr(0, row.what.empty() ? std::string::npos : row.what.size()), row.what);
  EXPECT_EQ(error.where, row.what.empty() ? "" : path + row.member);
  EXPECT_NE(*error.hint != 0, row.what.empty());
}

INSTANTIATE_TEST_SUITE_P(Table, Archives, testing::ValuesIn(rows()),
                         [](const testing::TestParamInfo<Row> &info) { return info.param.name; });

TEST(ArchiveSources, NumberTheClassesAndSortTheSamples) {
  Folder folder;
  Opened folders(folder.write("f.tar", tarOf(file("z/2.jpg") + file("b/1.jpg") + file("z/1.jpg"))));
  ASSERT_TRUE(folders);
  EXPECT_EQ(folders.className(0), "b");
  EXPECT_EQ(folders.className(1), "z");
  EXPECT_EQ(folders.where(0), folder / "f.tar: b/1.jpg");
  EXPECT_EQ(folders.where(2), folder / "f.tar: z/2.jpg");
  EXPECT_EQ(folders.label(0), 0);
  EXPECT_EQ(folders.label(2), 1);
  Opened numbers(
      folder.write("n.tar", tarOf(file("1.jpg") + file("1.cls", "10") + file("2.jpg") + file("2.cls", "9"))));
  ASSERT_TRUE(numbers);
  EXPECT_EQ(numbers.classes(), 11);
  EXPECT_EQ(numbers.className(3), "3");
  EXPECT_EQ(numbers.label(0), 10);
  EXPECT_EQ(numbers.label(1), 9);
}

TEST(ArchiveSources, ReadShardsInTheirOrder) {
  Folder folder;
  for (int i = 0; i < 20; ++i) {
    std::string digits = std::to_string(100 + i).substr(1);
    folder.write("train-" + digits + ".tar",
                 tarOf(file("s" + digits + ".jpg") + file("s" + digits + ".cls", std::to_string(i % 3))));
  }
  folder.write("readme.md", "shards");
  for (const std::string &path : {folder.path(), folder / "train-{00..19}.tar"}) {
    Opened shards(path);
    ASSERT_TRUE(shards) << shards.error.what;
    ASSERT_EQ(shards.samples(), 20);
    EXPECT_EQ(shards.classes(), 3);
    EXPECT_EQ(shards.where(7), folder / "train-07.tar: s07.jpg");
    EXPECT_EQ(shards.label(7), 1);
    for (int64_t i = 0; i < 40; ++i) // more archives than a reader keeps open
      EXPECT_EQ(shards.decode(i * 7 % 20).width, 4) << shards.error.what;
  }
  Opened some(folder / "train-{8..11}.tar"); // without a zero before it, the number is not padded
  EXPECT_FALSE(some);
  EXPECT_EQ(some.error.where, folder / "train-8.tar");
  Opened product(folder / "train-{0..1}{0..9}.tar");
  ASSERT_TRUE(product);
  EXPECT_EQ(product.samples(), 20);
  Opened backwards(folder / "train-{19..00}.tar");
  EXPECT_STREQ(backwards.error.what, "counts from 19 to 00");
  Opened many(folder / "train-{0..999999999}.tar");
  EXPECT_STREQ(many.error.what, "stands for more than 100000 files");
}

TEST(ArchiveSources, SayThatAnArchiveWasChanged) {
  Folder folder;
  std::string path = folder.write("t.tar", tarOf(file("a/1.jpg")));
  Opened tar(path), second(path);
  ASSERT_TRUE(tar && second);
  folder.write("t.tar", tarOf(file("a/1.jpg") + file("b/1.jpg")));
  EXPECT_EQ(tar.decode(0).width, 0);
  EXPECT_STREQ(tar.error.what, "was changed while the program ran");
  EXPECT_EQ(tar.error.where, path);
}

TEST(ArchiveSources, RefusePackedArchivesByName) {
  Folder folder;
  Opened gzip(folder.write("t.tar.gz", "\x1f\x8b\x08"));
  EXPECT_FALSE(gzip);
  EXPECT_STREQ(gzip.error.hint, "unpack it with gunzip, and name the .tar");
  Opened zstd(folder.write("t.tar.zst", "\x28\xb5\x2f\xfd"));
  EXPECT_STREQ(zstd.error.what, "is a packed archive, in which pictures cannot be found by their place");
}

TEST(ArchiveSources, AreKnownByTheirContent) {
  Folder folder;
  std::string path = folder.write("pictures.bin", tarOf(file("a/1.jpg")));
  EXPECT_TRUE(plugin().recognizes(path.c_str()));
  Opened tar(path);
  EXPECT_TRUE(tar);
  EXPECT_TRUE(plugin().recognizes((folder / "train-{0..9}.tar").c_str()));
  EXPECT_FALSE(plugin().recognizes((folder / "missing.npz").c_str()));
  EXPECT_FALSE(plugin().recognizes(folder.write("x.npy", std::string(600, 'x')).c_str()));
  Opened array(folder / "x.npy");
  EXPECT_STREQ(array.error.what, "is no folder, list or tar archive of pictures");
}

} // namespace mpc::images::test
