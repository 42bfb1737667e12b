// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/data/Npy.h"

#include "runtime/core/Transpose.h"
#include "runtime/support/Error.h"

#include <charconv>
#include <cstring>
#include <optional>

namespace mpc::rt {

static constexpr std::string_view kMagic = "\x93NUMPY";

bool isNpy(std::string_view bytes) { return bytes.starts_with(kMagic); }

namespace {
/// Reads a header such as {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class HeaderParser {
public:
  HeaderParser(std::string_view text, const std::string &where) : text_(text), where_(where) {}

  std::string descr;
  bool fortran = false;
  Shape shape;

  void parse() {
    bool haveDescr = false, haveOrder = false, haveShape = false;
    expect('{');
    while (!accept('}')) {
      std::string key = quoted();
      expect(':');
      if (key == "descr") {
        skipSpace();
        if (peek() != '\'' && peek() != '"')
          fail(where_, "structured arrays are not supported", "save one plain array per input");
        descr = quoted();
        haveDescr = true;
      } else if (key == "fortran_order") {
        fortran = boolean();
        haveOrder = true;
      } else if (key == "shape") {
        tuple();
        haveShape = true;
      } else {
        broken();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!haveDescr || !haveOrder || !haveShape)
      broken();
  }

private:
  [[noreturn]] void broken() const { fail(where_, "broken .npy header", "save the array again with numpy.save"); }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skipSpace() {
    while (peek() == ' ' || peek() == '\n' || peek() == '\t')
      ++at_;
  }
  bool accept(char c) {
    skipSpace();
    if (peek() != c)
      return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c))
      broken();
  }
  std::string quoted() {
    skipSpace();
    char quote = peek();
    if (quote != '\'' && quote != '"')
      broken();
    size_t end = text_.find(quote, at_ + 1);
    if (end == text_.npos)
      broken();
    std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }
  bool boolean() {
    skipSpace();
    for (bool value : {true, false}) {
      std::string_view word = value ? "True" : "False";
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    broken();
  }
  void tuple() {
    expect('(');
    shape.clear(); // of a key that is given twice the last value counts, as in Python
    while (!accept(')')) {
      skipSpace();
      int64_t extent = 0;
      auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), extent);
      if (error != std::errc() || extent < 0)
        broken();
      shape.push_back(extent);
      at_ = size_t(end - text_.data());
      accept('L'); // Python 2 wrote long integers
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

  std::string_view text_;
  const std::string &where_;
  size_t at_ = 0;
};

struct DescrName {
  const char *descr;
  mpc_dtype dtype;
};
constexpr DescrName kDescrs[] = {{"<f4", MPC_F32}, {"<f8", MPC_F64}, {"<f2", MPC_F16}, {"|i1", MPC_I8},
                                 {"<i2", MPC_I16}, {"<i4", MPC_I32}, {"<i8", MPC_I64}, {"|u1", MPC_U8},
                                 {"<u2", MPC_U16}, {"<u4", MPC_U32}, {"<u8", MPC_U64}, {"|b1", MPC_BOOL}};

mpc_dtype dtypeOfDescr(const std::string &descr, const std::string &where) {
  for (const DescrName &known : kDescrs)
    if (descr.size() == 3 && descr.substr(1) == known.descr + 1 &&
        (descr[0] == known.descr[0] || known.descr[0] == '|' || descr[0] == '='))
      return known.dtype;
  if (descr.starts_with('>'))
    fail(where, concat("big-endian elements (", descr, ") are not supported"),
         "save array.astype(array.dtype.newbyteorder('<'))");
  fail(where, concat("unsupported element type '", descr, "'"),
       "save the array as bool, an integer type, float16, float32 or float64");
}
} // namespace

[[noreturn]] static void truncated(const std::string &where) {
  fail(where, "the .npy data is truncated", "copy or save the file again");
}

NpyHeader parseNpyHeader(std::string_view bytes, const std::string &where) {
  if (!isNpy(bytes))
    fail(where, "is not in .npy format", "save the array with numpy.save");
  if (bytes.size() < 10)
    truncated(where);
  int major = bytes[6];
  size_t lengthBytes = major == 1 ? 2 : 4, start = 8 + lengthBytes;
  if (major < 1 || major > 3)
    fail(where, concat("unknown .npy version ", major), "save the array with numpy.save");
  if (bytes.size() < start)
    truncated(where);
  uint32_t headerBytes = 0;
  std::memcpy(&headerBytes, bytes.data() + 8, lengthBytes);
  if (headerBytes > kNpyHeaderBytes - start)
    fail(where, concat("its .npy header has ", headerBytes, " bytes"), "save one plain array with numpy.save");
  if (bytes.size() - start < headerBytes)
    truncated(where);
  HeaderParser parser(bytes.substr(start, headerBytes), where);
  parser.parse();
  NpyHeader header{dtypeOfDescr(parser.descr, where), parser.shape, parser.fortran, start + headerBytes, 0};
  std::optional<int64_t> dataBytes = bytesOf(header.dtype, header.shape);
  if (!dataBytes)
    fail(where, concat("impossible shape ", toString(header.shape)), "save the array again");
  header.dataBytes = size_t(*dataBytes);
  return header;
}

Array parseNpy(std::string_view bytes, std::shared_ptr<const void> owner, const std::string &where,
               const ArrayCheck &check) {
  NpyHeader header = parseNpyHeader(bytes, where);
  std::string_view data = bytes.substr(header.bytes);
  if (data.size() < header.dataBytes)
    truncated(where);
  if (check)
    check(header.dtype, header.shape);
  Array array{header.dtype, header.shape, reinterpret_cast<const std::byte *>(data.data()), std::move(owner)};
  if (header.fortran && array.shape.size() > 1) {
    std::vector<int64_t> reversed;
    for (size_t i = array.shape.size(); i-- > 0;)
      reversed.push_back(int64_t(i));
    auto rows = std::make_shared<std::vector<std::byte>>(header.dataBytes);
    std::vector<std::byte> columns(array.data, array.data + header.dataBytes); // aligned, unlike a zip member
    Transpose(array.shape, reversed).toLogical(columns.data(), rows->data(), sizeOf(array.dtype));
    array.data = rows->data();
    array.owner = rows;
  }
  return array;
}

std::string npyHeader(mpc_dtype dtype, const Shape &shape) {
  std::string descr;
  for (const DescrName &known : kDescrs)
    if (known.dtype == dtype)
      descr = known.descr;
  std::string dict = concat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (");
  for (int64_t extent : shape)
    dict += concat(extent, ",");
  dict += "), }";
  size_t padded = (10 + dict.size() + 1 + 63) / 64 * 64; // the data starts at a multiple of 64
  dict.resize(padded - 11, ' ');
  dict += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\0';
  out += char(dict.size() & 0xff);
  out += char(dict.size() >> 8);
  return out + dict;
}

} // namespace mpc::rt
