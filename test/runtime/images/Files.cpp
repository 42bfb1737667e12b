// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Files.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <jpeglib.h>
#include <vector>
#include <zlib.h>

namespace mpc::images::test {

using namespace std::string_literals;

uint8_t gradient(int x, int y, int channel, int width, int height) {
  if (channel == 0)
    return uint8_t(255 * x / (width - 1));
  return channel == 1 ? uint8_t(255 * y / (height - 1)) : uint8_t(64 * channel);
}

std::string Jpeg::operator()() const {
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char *data = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&info, &data, &bytes);
  info.image_width = JDIMENSION(width);
  info.image_height = JDIMENSION(height);
  info.input_components = channels;
  constexpr J_COLOR_SPACE kSpaces[] = {JCS_UNKNOWN, JCS_GRAYSCALE, JCS_UNKNOWN, JCS_RGB, JCS_CMYK};
  info.in_color_space = kSpaces[channels];
  jpeg_set_defaults(&info);
  if (channels >= 3)
    jpeg_set_colorspace(&info, channels == 4 ? (ycc ? JCS_YCCK : JCS_CMYK) : ycc ? JCS_YCbCr : JCS_RGB);
  jpeg_set_quality(&info, 100, TRUE);
  if (channels >= 3)
    info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = subsampling;
  if (channels == 4)
    info.comp_info[3].h_samp_factor = info.comp_info[3].v_samp_factor = subsampling;
  info.restart_interval = unsigned(restart);
  info.arith_code = arithmetic;
  info.optimize_coding = !arithmetic;
  if (progressive)
    jpeg_simple_progression(&info);
  std::vector<jpeg_scan_info> scans;
  if (bitsAtOnce > 0) { // grey alone; after a scan, `low` bits are still missing
    scans.push_back({1, {0}, 0, 0, 0, 0});
    for (int coefficient = 1; coefficient < 64; ++coefficient)
      for (int low = 8 - bitsAtOnce, high = 0; low >= 0; high = low, low -= 1)
        scans.push_back({1, {0}, coefficient, coefficient, high, low});
    info.scan_info = scans.data();
    info.num_scans = int(scans.size());
  }
  jpeg_start_compress(&info, TRUE);
  if (!app1.empty())
    jpeg_write_marker(&info, JPEG_APP0 + 1, reinterpret_cast<const JOCTET *>(app1.data()), unsigned(app1.size()));
  std::vector<uint8_t> row(size_t(width * channels));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c) {
        uint8_t value = gradient(x, y, c, width, height);
        row[size_t(x * channels + c)] = channels == 4 ? uint8_t(255 - value) : value;
      }
    JSAMPROW rows[] = {row.data()};
    jpeg_write_scanlines(&info, rows, 1);
  }
  jpeg_finish_compress(&info);
  std::string file(reinterpret_cast<char *>(data), bytes);
  jpeg_destroy_compress(&info);
  std::free(data);
  return file;
}

std::string exif(int orientation, bool little) {
  std::string text = "Exif\0\0"s;
  auto number = [&](int value, int length) {
    for (int i = 0; i < length; ++i)
      text += char(value >> 8 * (little ? i : length - 1 - i));
  };
  text += little ? "II" : "MM";
  number(42, 2);
  number(8, 4); // where the entries are
  number(2, 2); // how many
  number(0x011a, 2), number(3, 2), number(1, 4), number(72, 2), number(0, 2);
  number(0x0112, 2), number(3, 2), number(1, 4), number(orientation, 2), number(0, 2);
  number(0, 4);
  return text;
}

std::string cut(std::string file, size_t bytes) {
  file.resize(file.size() - bytes);
  return file;
}

std::string with(std::string file, size_t offset, std::string_view bytes) {
  return file.replace(offset, bytes.size(), bytes);
}

size_t markerAt(const std::string &jpeg, uint8_t marker) {
  size_t at = jpeg.find(std::string{'\xff', char(marker)});
  if (at == jpeg.npos)
    std::abort();
  return at;
}

std::string resized(std::string jpeg, int width, int height) {
  for (uint8_t frame : {0xc0, 0xc1, 0xc2, 0xc9, 0xca})
    if (size_t at = jpeg.find(std::string{'\xff', char(frame), '\0'}); at != jpeg.npos)
      return with(jpeg, at + 5, std::string{char(height >> 8), char(height), char(width >> 8), char(width)});
  std::abort();
}

static std::string big(uint32_t value) { return {char(value >> 24), char(value >> 16), char(value >> 8), char(value)}; }

std::string chunk(const std::string &type, const std::string &data) {
  std::string body = type + data;
  return big(uint32_t(data.size())) + body +
         big(uint32_t(crc32(0, reinterpret_cast<const Bytef *>(body.data()), uInt(body.size()))));
}

std::string packed(const std::string &data) {
  uLongf bytes = compressBound(uLong(data.size()));
  std::string out(bytes, '\0');
  compress2(reinterpret_cast<Bytef *>(out.data()), &bytes, reinterpret_cast<const Bytef *>(data.data()),
            uLong(data.size()), 9);
  out.resize(bytes);
  return out;
}

int Png::channels() const {
  constexpr int kChannels[] = {1, 0, 3, 1, 2, 0, 4};
  return kChannels[type];
}

std::string Png::rows() const {
  struct Pass {
    int x, y, right, down;
  };
  constexpr Pass kWhole[] = {{0, 0, 1, 1}};
  constexpr Pass kAdam7[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                             {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
  std::string out;
  for (int pass = 0; pass < (interlace ? 7 : 1); ++pass) {
    Pass p = interlace ? kAdam7[pass] : kWhole[0];
    if (p.x >= int(width))
      continue;
    for (int y = p.y; y < int(height); y += p.down) {
      out += '\0'; // no filter
      int bits = 0;
      for (int x = p.x; x < int(width); x += p.right)
        for (int c = 0; c < channels(); ++c) {
          uint32_t value = at(x, y, c);
          if (depth == 16)
            out += char(value >> 8);
          if (depth >= 8) {
            out += char(value);
            continue;
          }
          if (bits % 8 == 0)
            out += '\0';
          out.back() = char(out.back() | value << (8 - depth - bits % 8));
          bits += depth;
        }
    }
  }
  return out;
}

std::string Png::header() const {
  return chunk("IHDR", big(width) + big(height) + std::string{char(depth), char(type), 0, 0, char(interlace)});
}

std::string Png::operator()() const {
  std::string palette;
  if (type == 3)
    for (int i = 0; i < 3 << depth; ++i)
      palette += char(i * 37 + 5);
  return pngOf(header() + (palette.empty() ? "" : chunk("PLTE", palette)) + before + chunk("IDAT", packed(rows())) +
               after + chunk("IEND", ""));
}

std::string pngOf(const std::string &chunks) { return "\x89PNG\r\n\x1a\n" + chunks; }

std::string Member::operator()() const {
  std::string block(512, '\0');
  auto put = [&](size_t at, std::string_view text) { block.replace(at, text.size(), text); };
  char octal[13];
  std::snprintf(octal, sizeof octal, "%011llo", static_cast<unsigned long long>(data.size()));
  put(0, name);
  put(100, "0000644");
  put(124, size.empty() ? octal : size);
  put(148, "        ");
  block[156] = type;
  put(157, link);
  put(257, magic);
  put(345, prefix);
  int64_t sum = checksumError;
  for (char c : block)
    sum += uint8_t(c);
  std::snprintf(octal, sizeof octal, "%06llo", static_cast<unsigned long long>(sum));
  put(148, std::string_view(octal, 7));
  return block + data + std::string((512 - data.size() % 512) % 512, '\0');
}

std::string tarOf(const std::string &members) { return members + std::string(1024, '\0'); }

std::string pax(const std::string &key, const std::string &value, char type) {
  std::string rest = " " + key + "=" + value + "\n";
  size_t length = rest.size() + 1;
  while (std::to_string(length).size() + rest.size() != length)
    ++length;
  return Member{.name = "pax", .data = std::to_string(length) + rest, .type = type}();
}

} // namespace mpc::images::test
