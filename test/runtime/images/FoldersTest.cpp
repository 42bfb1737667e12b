// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Folders of pictures, files that are not regular, and what the plugin says of names.
#include "Files.h"
#include "Plugin.h"

#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace fs = std::filesystem;

namespace mpc::images::test {
namespace {
/// Expects that the path does not open, for a reason that begins so, and with a hint.
void expectRefused(const std::string &path, const std::string &where, const std::string &what) {
  Opened source(path);
  EXPECT_FALSE(source);
  EXPECT_EQ(std::string(source.error.what).substr(0, what.size()), what);
  EXPECT_EQ(source.error.where, where);
  EXPECT_STRNE(source.error.hint, "");
}
} // namespace

TEST(Folders, AreClasses) {
  Folder folder;
  const std::string picture = Jpeg{.width = 4, .height = 4}();
  for (const char *name : {"dog/2.jpg", "dog/10.JPEG", "cat/deep/er/1.Png", "cat/1.jpg", "Zebra/x.jpeg"})
    folder.write(name, picture);
  for (const char *name :
       {"readme.txt", "dog/notes.txt", "dog/.hidden.jpg", ".git/1.jpg", "cat/Thumbs.db", "dog/1.gif"})
    folder.write(name, "ignored");
  fs::create_directory(folder / "empty");
  for (const std::string &path : {folder.path(), folder.path() + "/"}) {
    Opened source(path);
    ASSERT_TRUE(source) << source.error.what;
    ASSERT_EQ(source.classes(), 4);
    EXPECT_EQ(source.className(0), "Zebra");
    EXPECT_EQ(source.className(1), "cat");
    EXPECT_EQ(source.className(2), "dog");
    EXPECT_EQ(source.className(3), "empty");
    const std::pair<const char *, int> expected[] = {
        {"Zebra/x.jpeg", 0}, {"cat/1.jpg", 1}, {"cat/deep/er/1.Png", 1}, {"dog/10.JPEG", 2}, {"dog/2.jpg", 2}};
    ASSERT_EQ(source.samples(), 5);
    char note[200];
    plugin().note(source.source(), note, sizeof note);
    EXPECT_EQ(note, "4 files are left out, not being named .jpg, .jpeg or .png, such as " + folder / "readme.txt");
    for (int64_t i = 0; i < 5; ++i) {
      EXPECT_EQ(source.where(i), folder / expected[i].first);
      EXPECT_EQ(source.label(i), expected[i].second);
      EXPECT_EQ(source.decode(i).width, 4) << source.error.what; // whatever the name says
    }
  }
}

TEST(Folders, WithoutClassesHaveNone) {
  Folder folder;
  folder.write("b.png", Png{}());
  folder.write("a.jpg", Jpeg{}());
  folder.write("labels/a.txt", "no picture");
  Opened source(folder.path());
  ASSERT_TRUE(source) << source.error.what;
  EXPECT_EQ(source.classes(), 0);
  EXPECT_EQ(source.samples(), 2);
  EXPECT_EQ(source.label(0), -1);
  EXPECT_EQ(source.where(1), folder / "b.png");
}

TEST(Folders, WithoutOrderAreRefused) {
  Folder mixed, other, empty, annotations;
  mixed.write("cat/1.jpg", "x");
  expectRefused(mixed.path(), mixed.write("lost.jpg", "x"), "lies beside folders of pictures, such as cat");
  other.write("a/b.gif", "x");
  expectRefused(other.path(), other / "a", "is no class: it holds no picture, but " + other / "a/b.gif");
  expectRefused(empty.path(), empty.path(), "holds no picture");
  empty.write("notes.txt", "x");
  expectRefused(empty.path(), empty.path(), "holds no picture, but other files such as " + empty / "notes.txt");
  annotations.write("pictures/1.jpg", "x");
  annotations.write("notes/1.xml", "x");
  expectRefused(annotations.path(), annotations / "notes", "is no class");
  expectRefused(empty / "missing", empty / "missing", "cannot open: No such file or directory");
}

TEST(Folders, FollowLinksButNotForEver) {
  Folder folder, elsewhere;
  elsewhere.write("1.jpg", Jpeg{}());
  fs::create_directory_symlink(elsewhere.path(), folder / "cat");
  fs::create_directory(folder / "dog");
  fs::create_symlink(elsewhere / "1.jpg", folder / "dog/2.jpg");
  fs::create_symlink("nowhere", folder / "dog/3.jpg");
  Opened source(folder.path());
  ASSERT_TRUE(source) << source.error.what;
  ASSERT_EQ(source.samples(), 3);
  EXPECT_EQ(source.decode(0).width, 33);
  EXPECT_EQ(source.decode(1).width, 33);
  EXPECT_EQ(source.decode(2).width, 0);
  EXPECT_EQ(source.error.where, folder / "dog/3.jpg");
  fs::create_directory_symlink("..", folder / "dog/again");
  expectRefused(folder.path(), folder / "dog/again/", "is a link to a folder above it");
}

TEST(Folders, MayHoldWhatIsNoRegularFile) {
  Folder folder;
  ASSERT_EQ(mkfifo((folder / "pipe.jpg").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", folder / "device.jpg");
  folder.write("large.jpg", "\xff\xd8\xff");
  fs::resize_file(folder / "large.jpg", (uint64_t(256) << 20) + 1); // a hole, no blocks
  std::string closed = folder.write("closed.jpg", "x");
  chmod(closed.c_str(), 0);
  Opened source(folder.path());
  ASSERT_TRUE(source) << source.error.what;
  auto what = [&](int64_t i) {
    EXPECT_EQ(source.decode(i).width, 0);
    EXPECT_EQ(source.error.where, source.where(i));
    EXPECT_STRNE(source.error.hint, "");
    return std::string(source.error.what);
  };
  EXPECT_EQ(what(0).substr(0, geteuid() == 0 ? 4 : 30), geteuid() == 0 ? "is a" : "cannot open: Permission denied");
  EXPECT_EQ(what(1), "is a pipe or a device, not a regular file");
  EXPECT_EQ(what(2), "has 256.0 MiB; at most 256.0 MiB are read");
  EXPECT_EQ(what(3), "is a pipe or a device, not a regular file");
}

TEST(Folders, WithHostileNamesSayThemWithoutControls) {
  Folder folder;
  folder.write("bell\a\x1b[31m.jpg", "x");
  Opened source(folder.path());
  ASSERT_TRUE(source);
  EXPECT_EQ(source.where(0), folder / "bell??[31m.jpg");
  source.decode(0);
  EXPECT_EQ(source.error.where, folder / "bell??[31m.jpg");
}

TEST(Folders, WithLongNamesSayTheirEnd) {
  Folder folder;
  std::string deep;
  for (int i = 0; i < 10; ++i)
    deep += std::string(200, char('a' + i)) + "/";
  folder.write(deep + "1.jpg", "x");
  Opened source(folder.path());
  ASSERT_TRUE(source) << source.error.what;
  std::string where = source.where(0);
  EXPECT_EQ(where.size(), 1023u);
  EXPECT_EQ(where.substr(0, 4), "...e");
  EXPECT_EQ(where.substr(where.size() - 8), "jj/1.jpg");
  char tiny[4];
  plugin().describe(source.source(), 0, tiny, sizeof tiny);
  EXPECT_STREQ(tiny, "...");
}

TEST(Readers, AreIndependent) {
  Folder folder;
  for (int i = 0; i < 24; ++i)
    folder.write("c/" + std::to_string(10 + i) + ".jpg",
                 i % 3 == 2 ? Png{.width = uint32_t(20 + i)}() : Jpeg{.width = 20 + i, .progressive = i % 2 == 0}());
  folder.write("c/99.jpg", "no picture");
  Opened source(folder.path());
  ASSERT_TRUE(source);
  std::vector<Pixels> expected;
  for (int64_t i = 0; i < source.samples(); ++i)
    expected.push_back(source.decode(i));
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      mpc_data_reader *reader = plugin().open_reader(source.source());
      mpc_data_error error;
      for (int64_t step = 0; step < 100; ++step) {
        int64_t i = (step * (2 * t + 1) + t) % source.samples();
        mpc_picture_size size;
        mpc_picture picture;
        bool read = plugin().look(reader, i, &size, &error) == 0 &&
                    plugin().decode(reader, 3, INT32_MAX, INT32_MAX, &picture, &error) == 0;
        const std::vector<uint8_t> &bytes = expected[size_t(i)].bytes;
        wrong[size_t(t)] += read ? !std::equal(bytes.begin(), bytes.end(), picture.pixels) : !bytes.empty();
      }
      plugin().close_reader(reader);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

TEST(Plugin, HasANameWithVersions) {
  EXPECT_EQ(plugin().abi, uint32_t(MPC_DATA_ABI));
  std::string name = plugin().name;
  EXPECT_EQ(name.substr(0, 24), "pictures (libjpeg-turbo ");
  EXPECT_NE(name.find(", libspng 0."), name.npos) << name;
}

} // namespace mpc::images::test
