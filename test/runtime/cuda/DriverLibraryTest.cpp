// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The driver's library is looked for with the system's loader, then in folders of which no other user owns a part.

#include "runtime/cuda/DriverLibrary.h"
#include "runtime/support/Error.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <vector>

using namespace mpc::rt;
using namespace mpc::rt::cuda;
namespace fs = std::filesystem;

namespace {

/// A folder with the folders `empty` and `full`; `full` has a driver under a name that no loader knows.
class DriverLibrary : public testing::Test {
protected:
  static constexpr char name[] = "libmpc-no-such-driver.so.1";
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "mpc-driver-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root = fs::canonical(pattern);
    for (const char *folder : {"empty", "full"})
      fs::create_directory(root / folder);
    fs::copy_file(MPC_FAKE_CUDA, root / "full" / name);
  }
  void TearDown() override { fs::remove_all(root); }

  OpenedLibrary open(const std::vector<const char *> &folders) {
    std::vector<std::string> paths;
    for (const char *folder : folders)
      paths.push_back(root / folder);
    std::vector<const char *> pointers;
    for (const std::string &path : paths)
      pointers.push_back(path.c_str());
    return openLibrary(name, pointers);
  }
  static void expectIn(const std::string &part, const std::string &text) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }

  fs::path root;
};

} // namespace

TEST_F(DriverLibrary, TheSystemsLoaderIsAskedFirst) {
  OpenedLibrary opened = openLibrary("libm.so.6", {});
  ASSERT_NE(opened.handle, nullptr);
  EXPECT_EQ(opened.tried, "");
  dlclose(opened.handle);
}

TEST_F(DriverLibrary, TheFoldersAreTriedInTheirOrder) {
  OpenedLibrary opened = open({"empty", "full"});
  ASSERT_NE(opened.handle, nullptr) << opened.tried;
  EXPECT_NE(dlsym(opened.handle, "cuInit"), nullptr);
  dlclose(opened.handle);
}

TEST_F(DriverLibrary, WhatWasTriedIsListed) {
  OpenedLibrary opened = open({"empty", "absent"});
  EXPECT_EQ(opened.handle, nullptr);
  expectIn(concat("the system's loader says: ", name), opened.tried);
  expectIn(concat("; it is not in ", (root / "empty").string(), ", ", (root / "absent").string()), opened.tried);
}

TEST_F(DriverLibrary, AFileThatIsNoLibraryIsNamedAndTheNextFolderIsTried) {
  fs::create_directory(root / "broken");
  std::ofstream(root / "broken" / name) << "text";
  expectIn(concat("; ", (root / "broken" / name).string()), open({"broken"}).tried);
  OpenedLibrary opened = open({"broken", "full"});
  ASSERT_NE(opened.handle, nullptr) << opened.tried;
  dlclose(opened.handle);
}

TEST_F(DriverLibrary, AFolderThatOthersMayWriteIsNotTrusted) {
  fs::permissions(root / "full", fs::perms(0777));
  OpenedLibrary opened = open({"full"});
  EXPECT_EQ(opened.handle, nullptr);
  expectIn(concat((root / "full" / name).string(), " is not loaded, because ", fs::canonical(root / "full").string(),
                  " may be written by other users"),
           opened.tried);
}
