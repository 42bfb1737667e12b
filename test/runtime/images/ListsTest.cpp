// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists of paths and labels.
#include "Files.h"
#include "Plugin.h"

#include <gtest/gtest.h>

namespace mpc::images::test {
namespace {
using namespace std::string_literals;

/// What open() must do with a list l.csv: an error whose clause begins with `what` at "l.csv" + `line`, or samples,
/// written as "PATH=LABEL" with spaces between, and classes with commas between.
struct Row {
  const char *name;
  std::string text;
  std::string samples, classes;
  std::string what = {}, line = {};
};
void PrintTo(const Row &row, std::ostream *out) { *out << row.name; }

std::vector<Row> rows() {
  return {
      {"Plain", "a.jpg,cat\nb/c.png,dog\n", "a.jpg=0 b/c.png=1", "cat,dog"},
      {"NoLineEnd", "a.jpg,cat", "a.jpg=0", "cat"},
      {"CarriageReturns", "a.jpg,cat\r\nb.jpg,ant\r\n", "a.jpg=1 b.jpg=0", "ant,cat"},
      {"OldMacintosh", "a.jpg,cat\rb.jpg,ant\r", "a.jpg=1 b.jpg=0", "ant,cat"},
      {"ByteOrderMark", "\xef\xbb\xbfpath,label\na.jpg,cat\n", "a.jpg=0", "cat"},
      {"Heading", "path,label\na.jpg,cat\n", "a.jpg=0", "cat"},
      {"HeadingTurned", "Label,Path\ncat,a.jpg\n", "a.jpg=0", "cat"},
      {"HeadingOfMore", "id,path,split,label\n7,a.jpg,train,cat\n", "a.jpg=0", "cat"},
      {"HeadingOfPaths", "path\na.jpg\nb.jpg\n", "a.jpg=-1 b.jpg=-1", ""},
      {"PathsAlone", "a.jpg\nb.jpg\n", "a.jpg=-1 b.jpg=-1", ""},
      {"Numbers", "a.jpg,3\nb.jpg,0\n", "a.jpg=3 b.jpg=0", "0,1,2,3"},
      {"NumbersWithZeros", "a.jpg,03\nb.jpg,1\n", "a.jpg=3 b.jpg=1", "0,1,2,3"},
      {"NumbersAndNames", "a.jpg,3\nb.jpg,x\n", "a.jpg=0 b.jpg=1", "3,x"},
      {"Quotes", "\"a,b.jpg\",\"the \"\"cat\"\"\"\n", "a,b.jpg=0", "the \"cat\""},
      {"QuotedLineEnd", "\"a\nb.jpg\",cat\nc.jpg,cat\n", "a?b.jpg=0 c.jpg=0", "cat"},
      {"QuotedSpaces", "\" a.jpg\" , cat \n", " a.jpg=0", "cat"},
      {"Spaces", "  a b.jpg ,\tthe cat\t\n", "a b.jpg=0", "the cat"},
      {"BlankLines", "\n\na.jpg,cat\n  \nb.jpg,cat\n\n", "a.jpg=0 b.jpg=0", "cat"},
      {"Twice", "a.jpg,cat\na.jpg,dog\n", "a.jpg=0 a.jpg=1", "cat,dog"},
      {"Above", "../a.jpg,cat\n", "../a.jpg=0", "cat"},
      {"Utf8",
       "k\xc3\xa4"
       "fer.jpg,K\xc3\xa4"
       "fer\n",
       "k\xc3\xa4"
       "fer.jpg=0",
       "K\xc3\xa4"
       "fer"},
      {"Empty", "", "", "", "is an empty list"},
      {"Blank", "\n \n\r\n", "", "", "is an empty list"},
      {"HeadingAlone", "path,label\n", "", "", "names no picture"},
      {"HeadingWithoutLabel", "path,class\na.jpg,cat\n", "", "", "has a heading without a column label", ":1"},
      {"OtherHeading", "filename,class\na.jpg,cat\n", "", "", "begins with 'filename', which is no picture's name",
       ":1"},
      {"ThreeColumns", "a.jpg,cat,1\n", "", "", "has 3 columns, and no heading names them", ":1"},
      {"MoreColumns", "a.jpg,cat\nb.jpg,cat,x\n", "", "", "has 3 columns where the lines before have 2", ":2"},
      {"FewerColumns", "a.jpg,cat\n\nb.jpg\n", "", "", "has 1 column where the lines before have 2", ":3"},
      {"NoLabel", "a.jpg,cat\nb.jpg,\n", "", "", "has no label", ":2"},
      {"NoPath", "a.jpg,cat\n,cat\n", "", "", "has no path", ":2"},
      {"OpenQuote", "a.jpg,cat\n\"b.jpg,cat\n", "", "", "has a quote that does not end", ":2"},
      {"TextBehindAQuote", "\"a.jpg\"x,cat\n", "", "", "has text behind a field in quotes", ":1"},
      {"LineAfterAQuotedLineEnd", "\"a\nb.jpg\",cat\nc.jpg\n", "", "", "has 1 column", ":3"},
      {"ZeroByte", "a.jpg,c\0t\n"s, "", "", "is no list, because it has bytes of zero"},
      {"Utf16",
       "\xff\xfe"
       "a\0.\0j\0p\0g\0\n\0"s,
       "", "", "is no list, because it has bytes of zero"},
      {"Latin1",
       "a.jpg,K\xe4"
       "fer\n",
       "", "",
       "has the class 'K\xe4"
       "fer', which is no UTF-8 or has control characters"},
      {"OverlongUtf8", "a.jpg,\xe0\x80\xaf\n", "", "", "has the class"},
      {"HalfAPair", "a.jpg,\xed\xa0\x80\n", "", "", "has the class"},
      {"AllLengthsOfUtf8", "a.jpg,a\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\xb1\n", "a.jpg=0",
       "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\xb1"},
      {"LineEndInALabel", "a.jpg,\"c\nd\"\n", "", "", "has the class 'c?d', which is"},
      {"LongLabel", "a.jpg," + std::string(300, 'x') + "\x01\n", "", "",
       "has the class '" + std::string(237, 'x') + "..."},
      {"NegativeNumber", "a.jpg,-1\nb.jpg,0\n", "", "", "has the class -1"},
      {"LongNegativeNumber", "a.jpg,-066644444444444444444444444444444444445\n", "", "", "has the class -0666"},
      {"HugeNumber", "a.jpg,1000000\n", "", "", "has the class 1000000"},
      {"LargestNumber", "a.jpg,2147483648\n", "", "", "has the class 2147483648"},
  };
}
} // namespace

class Lists : public testing::TestWithParam<Row> {};

TEST_P(Lists, AreReadOrRefused) {
  const Row &row = GetParam();
  Folder folder;
  std::string path = folder.write("l.csv", row.text);
  ASSERT_TRUE(plugin().recognizes(path.c_str()));
  Opened list(path);
  EXPECT_EQ(bool(list), row.what.empty()) << list.error.what;
  EXPECT_EQ(std::string(list.error.what).substr(0, row.what.empty() ? std::string::npos : row.what.size()), row.what);
  EXPECT_EQ(list.error.where, row.what.empty() ? "" : path + row.line);
  EXPECT_NE(*list.error.hint != 0, row.what.empty());
  if (!list)
    return;
  std::string samples, classes;
  for (int64_t i = 0; i < list.samples(); ++i)
    samples += (i ? " " : "") + list.where(i).substr(folder.path().size() + 1) + "=" + std::to_string(list.label(i));
  for (int64_t i = 0; i < list.classes(); ++i)
    classes += (i ? "," : "") + list.className(i);
  EXPECT_EQ(samples, row.samples);
  EXPECT_EQ(classes, row.classes);
}

INSTANTIATE_TEST_SUITE_P(Table, Lists, testing::ValuesIn(rows()),
                         [](const testing::TestParamInfo<Row> &info) { return info.param.name; });

TEST(ListSources, ReadPicturesBesideThem) {
  Folder folder;
  folder.write("pictures/a.jpg", Jpeg{.width = 5, .height = 4}());
  std::string absolute = folder.write("elsewhere/b.png", Png{.width = 6}());
  Opened list(folder.write("pictures/list.txt", "a.jpg\n" + absolute + "\nmissing.jpg\n"));
  ASSERT_TRUE(list) << list.error.what;
  EXPECT_EQ(list.decode(0).width, 5);
  EXPECT_EQ(list.decode(1).width, 6);
  EXPECT_EQ(list.where(1), absolute);
  EXPECT_EQ(list.decode(2).width, 0);
  EXPECT_STREQ(list.error.what, "cannot open: No such file or directory");
  EXPECT_EQ(list.error.where, folder / "pictures/missing.jpg");
  EXPECT_EQ(list.decode(0).height, 4); // a reader goes on after an error
}

} // namespace mpc::images::test
