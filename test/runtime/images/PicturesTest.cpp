// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A table of hostile and odd files. Each is the only picture of a folder; the row says what look() and decode() must do
// with it.
#include "Files.h"
#include "Plugin.h"

#include <gtest/gtest.h>

namespace mpc::images::test {
namespace {
using namespace std::string_literals;
using namespace std::string_view_literals;

/// What must happen: an error whose clause begins with `what`, or a picture of this size.
struct Row {
  const char *name; // of the test; the file is NAME.jpg
  std::string bytes;
  std::string what;
  int width = 0, height = 0;
};

void PrintTo(const Row &row, std::ostream *out) { *out << row.name; }

constexpr char kShortJpeg[] = "is a JPEG picture that is cut short", kShortPng[] = "is a PNG picture that is cut short";
constexpr char kBadJpeg[] = "is no JPEG picture that can be read: ", kBadPng[] = "is a damaged PNG picture: ";

std::string otherFile(const char *what) { return "is "s + what + ", not a JPEG or PNG picture"; }

/// Returns the JPEG without the segment of a marker.
std::string without(std::string jpeg, uint8_t marker) {
  size_t at = markerAt(jpeg, marker);
  return jpeg.erase(at, 2 + size_t(uint8_t(jpeg[at + 2])) * 256 + uint8_t(jpeg[at + 3]));
}

/// Returns the offset of the first byte of the first scan's data.
size_t scanData(const std::string &jpeg) {
  size_t at = markerAt(jpeg, 0xda);
  return at + 2 + size_t(uint8_t(jpeg[at + 2])) * 256 + uint8_t(jpeg[at + 3]);
}

/// Returns a progressive picture with its second scan once more.
std::string repeatedScan() {
  std::string jpeg = Jpeg{.channels = 1, .progressive = true}();
  size_t second = jpeg.find("\xff\xda", markerAt(jpeg, 0xda) + 2), third = jpeg.find("\xff\xda", second + 2);
  return jpeg.substr(0, third) + jpeg.substr(second);
}

std::vector<Row> otherRows() {
  return {
      {"Empty", "", otherFile("an empty file")},
      {"Text", "this is not a picture\n", otherFile("a text")},
      {"Gif", "GIF89a\1\0\1\0", otherFile("a GIF picture")},
      {"WebP", "RIFF\0\0\0\0WEBPVP8 "s, otherFile("a WebP picture")},
      {"Bmp", "BM\x46\0\0\0\0\0\0\0"s, otherFile("a BMP picture")},
      {"TiffLittle", "II*\0\x08\0\0\0"s, otherFile("a TIFF picture")},
      {"TiffBig", "MM\0*\0\0\0\x08"s, otherFile("a TIFF picture")},
      {"Heic",
       "\0\0\0\x18"
       "ftypheic"s,
       otherFile("a HEIC picture")},
      {"Avif",
       "\0\0\0\x18"
       "ftypavif"s,
       otherFile("an AVIF picture")},
      {"JpegXl", "\xff\x0a\0\0"s, otherFile("a JPEG XL picture")},
      {"Jpeg2000", "\0\0\0\x0cjP  \r\n\x87\n"s, otherFile("a JPEG 2000 picture")},
      {"Gzip", "\x1f\x8b\x08\0"s, otherFile("a gzip archive")},
      {"Zip", "PK\3\4", otherFile("a zip archive")},
      {"Tar", tarOf(Member{.name = "a.jpg", .data = "x"}()), otherFile("a tar archive")},
      {"Html", "<!DOCTYPE html>\n<p>404", otherFile("an HTML document")},
      {"Svg", "<svg width=\"1\"/>", otherFile("an SVG picture")},
      {"LfsPointer", "version https://git-lfs.github.com/spec/v1\n", otherFile("a pointer of Git LFS")},
      {"Zeros", std::string(1000, '\0'), otherFile("no picture that is known")},
      {"Random", "\x8f\x03\x99\x12\xee", otherFile("no picture that is known")},
  };
}

std::vector<Row> jpegRows() {
  const std::string plain = Jpeg{}(), progressive = Jpeg{.progressive = true}(), restarts = Jpeg{.restart = 2}();
  const std::string large = Jpeg{.width = 200, .height = 200}();
  std::string badCodes = plain;
  for (size_t i = scanData(badCodes); i + 2 < badCodes.size(); ++i)
    badCodes[i] = '\xfe';
  auto turned = [](const std::string &app1) { return Jpeg{.app1 = app1}(); };
  std::string loop = exif(6);
  loop.replace(loop.size() - 4, 4, "\x08\0\0\0"s); // the next entries are the first again
  return {
      {"Plain", plain, "", 33, 21},
      {"Progressive", progressive, "", 33, 21},
      {"Grey", Jpeg{.channels = 1}(), "", 33, 21},
      {"Rgb", Jpeg{.ycc = false}(), "", 33, 21},
      {"Cmyk", Jpeg{.channels = 4, .ycc = false}(), "", 33, 21},
      {"Ycck", Jpeg{.channels = 4, .subsampling = 2}(), "", 33, 21},
      {"Subsampled", Jpeg{.subsampling = 2}(), "", 33, 21},
      {"Restarts", restarts, "", 33, 21},
      {"OnePixel", Jpeg{.width = 2, .height = 2}(), "", 2, 2},
      {"BytesBehindTheEnd", plain + "garbage\xff\xd8\xff", "", 33, 21},
      {"BytesBeforeAMarker", std::string(plain).insert(markerAt(plain, 0xdb), "junk"), "", 33, 21},
      {"FillBytesBeforeAMarker", std::string(plain).insert(markerAt(plain, 0xdb), "\xff\xff\xff"), "", 33, 21},
      {"LargeComment", std::string(plain).insert(2, "\xff\xfe\xff\xff"s + std::string(0xfffd, 'c')), "", 33, 21},
      {"LargeApp1", turned(std::string(65533, 'x')), "", 33, 21},
      {"Sideways", turned(exif(6)), "", 21, 33},
      {"SidewaysBigEndian", turned(exif(8, false)), "", 21, 33},
      {"UpsideDown", turned(exif(3)), "", 33, 21},
      {"Orientation0", turned(exif(0)), "", 33, 21},
      {"Orientation9", turned(exif(9)), "", 33, 21},
      {"ExifCut", turned(cut(exif(6), 14)), "", 33, 21},
      {"ExifNothing", turned("Exif\0\0"s), "", 33, 21},
      {"ExifFarAway", turned(with(exif(6), 10, "\xff\xff\xff\xff")), "", 33, 21},
      {"ExifLoop", turned(loop), "", 21, 33},
      {"ExifManyEntries", turned(with(exif(6), 14, "\xff\xff")), "", 21, 33},
      {"StartAlone", "\xff\xd8\xff", kShortJpeg},
      {"CutInTheHeader", plain.substr(0, 30), kShortJpeg},
      {"CutBeforeTheScan", plain.substr(0, markerAt(plain, 0xda)), kShortJpeg},
      {"CutInTheScan", cut(plain, plain.size() / 5), kShortJpeg},
      {"CutInALargeScan", cut(large, large.size() / 2), kShortJpeg},
      {"CutByTheEnd", cut(plain, 2), kShortJpeg},
      {"CutByOneByte", cut(plain, 1), kShortJpeg},
      {"CutBetweenScans", progressive.substr(0, progressive.find("\xff\xda", markerAt(progressive, 0xda) + 2)),
       kShortJpeg},
      {"CutInAProgressiveScan", cut(progressive, 40), kShortJpeg},
      {"CutBetweenRestarts", restarts.substr(0, restarts.rfind("\xff\xd1") + 2), kShortJpeg},
      {"EndInTheMiddle", cut(large, large.size() / 2) + "\xff\xd9", kShortJpeg},
      {"BadCodes", badCodes, kBadJpeg + "Corrupt JPEG data: "s},
      {"LostRestart", with(restarts, restarts.find("\xff\xd1"), "\xff\xd3"),
       kBadJpeg + "Corrupt JPEG data: found marker"s},
      {"NoQuantization", without(without(plain, 0xdb), 0xdb), kBadJpeg + "Quantization table 0x00 was not defined"s},
      {"NoFrame", without(plain, 0xc0), kBadJpeg},
      {"TwoFrames", std::string(plain).insert(markerAt(plain, 0xc0), plain.substr(markerAt(plain, 0xc0), 19)),
       kBadJpeg},
      {"TwoStarts", std::string(plain).insert(2, "\xff\xd8"), kBadJpeg},
      {"Arithmetic", Jpeg{.arithmetic = true}(), "is a JPEG picture in arithmetic coding"},
      {"TwoChannels", Jpeg{.channels = 2}(), "is a JPEG picture with 2 channels, whose colours are not known"},
      {"TwelveBits", with(plain, markerAt(plain, 0xc0) + 4, "\x0c"), kBadJpeg + "Unsupported JPEG data precision 12"s},
      {"Lossless", with(plain, markerAt(plain, 0xc0) + 1, "\xc3"), kBadJpeg + "Unsupported JPEG process"s},
      {"Hierarchical", with(plain, markerAt(plain, 0xc0) + 1, "\xc5"), kBadJpeg + "Unsupported JPEG process"s},
      {"NoSampling", with(plain, markerAt(plain, 0xc0) + 11, "\0"sv), kBadJpeg},
      {"HugeSampling", with(plain, markerAt(plain, 0xc0) + 11, "\xff"), kBadJpeg},
      {"NoChannels", with(plain, markerAt(plain, 0xc0) + 9, "\0"sv), kBadJpeg},
      {"ShortSegment", with(plain, markerAt(plain, 0xdb) + 2, "\0\1"sv), kBadJpeg},
      {"NoHeight", resized(plain, 33, 0), kBadJpeg},
      {"NoWidth", resized(plain, 0, 21), kBadJpeg},
      {"Higher", resized(plain, 33, 80), kShortJpeg},
      {"BombOfPixels", resized(plain, 65500, 65500),
       "has 65500 x 65500 pixels; at most 65535 in each direction and 178956970"},
      {"BombOfMemory", resized(plain, 16000, 11000), kShortJpeg + ": it has "s},
      {"BombOfProgressiveMemory", resized(progressive, 16000, 11000), kShortJpeg + ": it has "s},
      {"TooWide", resized(plain, 65535, 1), kBadJpeg},
      {"RepeatedScan", repeatedScan(), kBadJpeg + "Inconsistent progression"s},
      {"ManyScans", Jpeg{.channels = 1, .progressive = true, .bitsAtOnce = 8}(), "", 33, 21},
      {"BombOfScans", Jpeg{.channels = 1, .progressive = true, .bitsAtOnce = 1}(),
       kBadJpeg + "it has more than 200 scans"s},
  };
}

std::vector<Row> pngRows() {
  const Png options;
  const std::string plain = options(), header = options.header(), end = chunk("IEND", "");
  auto of = [&](const std::string &chunks) { return pngOf(header + chunks + end); };
  auto sized = [&](uint32_t width, uint32_t height) {
    return pngOf(Png{.width = width, .height = height}.header() + chunk("IDAT", packed(options.rows())) + end);
  };
  auto form = [&](int depth, int type, int interlace = 0) {
    return pngOf(Png{.depth = depth, .type = type, .interlace = interlace}.header() +
                 chunk("IDAT", packed(options.rows())) + end);
  };
  std::string rows = options.rows(), badFilter = with(rows, rows.size() / 7 * 3, "\x07");
  std::string stream = packed(rows), badSum = with(stream, stream.size() - 1, {"\x55", 1});
  std::string whole = chunk("IDAT", stream), profile = "name\0\0"s + packed(std::string(20 << 20, 'a'));
  auto exifChunk = [](int orientation) { return chunk("eXIf", exif(orientation).substr(6)); };
  return {
      {"PngPlain", plain, "", 13, 7},
      {"PngInterlaced", Png{.interlace = 1}(), "", 13, 7},
      {"PngOnePixelInterlaced", Png{.width = 1, .height = 1, .interlace = 1}(), "", 1, 1},
      {"PngTwoParts", of(chunk("IDAT", stream.substr(0, 9)) + chunk("IDAT", "") + chunk("IDAT", stream.substr(9))), "",
       13, 7},
      {"PngBytesBehindTheEnd", plain + "garbage", "", 13, 7},
      {"PngRowsTooMany", of(chunk("IDAT", packed(rows + rows))), "", 13, 7},
      {"PngSideways", Png{.before = exifChunk(5)}(), "", 7, 13},
      {"PngSidewaysBehind", Png{.after = exifChunk(7)}(), "", 7, 13},
      {"PngExifDamaged", Png{.before = with(exifChunk(5), 8, "MM")}(), "", 13, 7},
      {"PngAnimated", Png{.before = chunk("acTL", "\0\0\0\1\0\0\0\0"s)}(), "", 13, 7},
      {"PngUnknownChunk", Png{.before = chunk("teSt", "data")}(), "", 13, 7},
      {"PngTextBomb", Png{.before = chunk("zTXt", profile)}(), kBadPng + "reached chunk/cache limits"s},
      {"PngProfileBomb", Png{.before = chunk("iCCP", profile)}(), kBadPng + "reached chunk/cache limits"s},
      {"PngNoPaletteEntry",
       pngOf(Png{.type = 3}.header() + chunk("PLTE", "abc") + chunk("IDAT", packed(Png{.type = 3}.rows())) + end), "",
       13, 7},
      {"PngSignature", plain.substr(0, 8), kShortPng},
      {"PngCutInTheHeader", plain.substr(0, 20), kShortPng},
      {"PngHeaderAlone", pngOf(header), kShortPng},
      {"PngCutInThePixels", cut(plain, 40), kShortPng},
      {"PngWithoutPixels", of(""), kBadPng},
      {"PngRowsTooFew", of(chunk("IDAT", packed(rows.substr(0, rows.size() / 2)))), kShortPng},
      {"PngStreamCut", of(chunk("IDAT", stream.substr(0, stream.size() / 2))), kShortPng},
      {"PngNoStream", of(chunk("IDAT", "no stream of zlib")), kBadPng},
      {"PngBadFilter", of(chunk("IDAT", packed(badFilter))), kBadPng},
      {"PngBadHeaderSum", pngOf(with(header, header.size() - 1, {"\x55", 1}) + whole + end), kBadPng},
      {"PngBadPixelsSum", of(with(whole, whole.size() - 1, {"\x55", 1})), kBadPng},
      {"PngBadStreamSum", of(chunk("IDAT", badSum)), kBadPng},
      {"PngNoWidth", sized(0, 7), kBadPng},
      {"PngHugeWidth", sized(0x80000000, 7), kBadPng},
      {"PngTooWide", sized(70000, 1), "has 70000 x 1 pixels; at most 65535 in each direction"},
      {"PngBombOfPixels", sized(65535, 65535), "has 65535 x 65535 pixels; at most"},
      {"PngBombOfMemory", sized(13000, 13000), kShortPng + ": it has "s},
      {"PngDepth3", form(3, 0), kBadPng},
      {"PngType5", form(8, 5), kBadPng},
      {"PngPalette16", form(16, 3), kBadPng},
      {"PngInterlace2", form(8, 2, 2), kBadPng},
      {"PngNoPalette", form(8, 3), kBadPng},
      {"PngTwoHeaders", of(header + whole), kBadPng},
      {"PngUnknownCritical", of(chunk("TEST", "data") + whole), kBadPng},
      {"PngHugeChunk",
       of("\xff\xff\xff\xff"
          "teSt" +
          whole),
       kBadPng},
      {"PngLongChunk",
       of("\x7f\xff\xff\xff"
          "teSt" +
          whole),
       kShortPng},
  };
}

std::vector<Row> rows() {
  std::vector<Row> all = otherRows();
  for (std::vector<Row> part : {jpegRows(), pngRows()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}
} // namespace

class Pictures : public testing::TestWithParam<Row> {};

TEST_P(Pictures, AreReadOrRefused) {
  const Row &row = GetParam();
  Folder folder;
  std::string path = folder.write(row.name + ".jpg"s, row.bytes);
  Opened pictures(folder.path());
  ASSERT_TRUE(pictures) << pictures.error.what;
  for (int channels : {3, 1}) {
    Pixels pixels = pictures.decode(0, channels);
    std::string what = pictures.error.what;
    EXPECT_EQ(what.substr(0, row.what.empty() ? what.npos : row.what.size()), row.what);
    EXPECT_EQ(pictures.error.where, row.what.empty() ? "" : path);
    EXPECT_NE(*pictures.error.hint != 0, row.what.empty());
    EXPECT_EQ(pixels.width, row.width);
    EXPECT_EQ(pixels.height, row.height);
  }
}

// libjpeg keeps the tables of a picture, and would read with them the next one that has lost its own.
TEST(Pictures, TakeNoTablesOfTheOneBefore) {
  const std::string plain = Jpeg{}();
  for (uint8_t tables : {0xdb, 0xc4}) {
    std::string bare = plain;
    while (bare.find(std::string{'\xff', char(tables)}) < scanData(bare))
      bare = without(bare, tables);
    Folder folder;
    folder.write("1.jpg", plain);
    folder.write("2.jpg", bare);
    Opened both(folder.path()), alone(folder.path());
    ASSERT_TRUE(both) << both.error.what;
    const std::vector<uint8_t> first = alone.decode(1).bytes;
    EXPECT_NE(both.decode(0).width, 0);
    EXPECT_EQ(both.decode(1).bytes, first);
    EXPECT_STREQ(both.error.what, alone.error.what);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, Pictures, testing::ValuesIn(rows()),
                         [](const testing::TestParamInfo<Row> &info) { return info.param.name; });

} // namespace mpc::images::test
