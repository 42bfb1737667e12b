// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Readers of data files, valid and damaged; datasets; batches.

#include "LogisticProgram.h"
#include "runtime/core/data/Batches.h"
#include "runtime/core/data/Finite.h"
#include "runtime/core/data/Idx.h"
#include "runtime/core/data/Npy.h"
#include "runtime/core/data/Npz.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <zlib.h>

using namespace mpc::rt;
using namespace mpc::rt::test;

namespace {
template <typename T>
std::string raw(std::initializer_list<T> values) {
  return {reinterpret_cast<const char *>(values.begin()), values.size() * sizeof(T)};
}
std::string npy(const std::string &dict, const std::string &data, int major = 1) {
  std::string out = "\x93NUMPY";
  out += char(major);
  out += '\0';
  uint32_t length = uint32_t(dict.size());
  out.append(reinterpret_cast<const char *>(&length), major == 1 ? 2 : 4);
  return out + dict + data;
}
Array parse(const std::string &bytes) {
  auto owner = std::make_shared<std::string>(bytes);
  return parseNpy(*owner, owner, "a.npy");
}
std::string deflated(const std::string &bytes, int windowBits) {
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY);
  std::string out(compressBound(uLong(bytes.size())) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
  stream.avail_in = uInt(bytes.size());
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = uInt(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}
/// Makes a plain (not zip64) archive with one deflated member, as numpy.savez_compressed writes small ones.
std::string deflatedZip(const std::string &name, const std::string &member) {
  std::string packed = deflated(member, -15);
  auto crc = uint32_t(crc32(0, reinterpret_cast<const Bytef *>(member.data()), uInt(member.size())));
  auto u16 = [](size_t v) { return raw<uint16_t>({uint16_t(v)}); };
  auto u32 = [](size_t v) { return raw<uint32_t>({uint32_t(v)}); };
  std::string common = u16(20) + u16(0) + u16(8) + u16(0) + u16(0x21) + u32(crc) + u32(packed.size()) +
                       u32(member.size()) + u16(name.size()) + u16(0);
  std::string local = u32(0x04034b50) + common + name + packed;
  std::string central = u32(0x02014b50) + u16(20) + common + u16(0) + u16(0) + u16(0) + u32(0) + u32(0) + name;
  return local + central + u32(0x06054b50) + u16(0) + u16(0) + u16(1) + u16(1) + u32(central.size()) +
         u32(local.size()) + u16(0);
}
std::string idx(uint8_t type, std::initializer_list<uint8_t> header, const std::string &data) {
  std::string out = {0, 0, char(type), char(header.size() / 4)};
  for (uint8_t byte : header)
    out += char(byte);
  return out + data;
}
Port port(const std::string &name, mpc_dtype type, Shape shape, std::vector<int64_t> permutation = {}) {
  Port p;
  p.name = name;
  p.dtype = type;
  p.shape = std::move(shape);
  p.bytes = elementsOf(p.shape) * int64_t(sizeOf(type));
  p.permutation = std::move(permutation);
  p.batched = true;
  return p;
}
} // namespace

TEST(Npy, ReadsTypesOrdersAndVersions) {
  Array a = parse(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", raw<float>({1, 2, 3, 4, 5, 6})));
  EXPECT_EQ(a.shape, (Shape{2, 3}));
  EXPECT_EQ(loadDouble(a.dtype, a.data, 4), 5);
  Array f =
      parse(npy("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }", raw<int16_t>({1, 4, 2, 5, 3, 6}), 2));
  for (size_t i = 0; i < 6; ++i)
    EXPECT_EQ(loadInteger(MPC_I16, f.data, i), int64_t(i + 1));
  Array scalar = parse(npy("{'shape': (), \"fortran_order\": False, 'descr': '|u1'}", "\x07"));
  EXPECT_TRUE(scalar.shape.empty());
  EXPECT_EQ(loadInteger(MPC_U8, scalar.data, 0), 7);
  EXPECT_EQ(parse(npy("{'descr': '<u8', 'fortran_order': False, 'shape': (0, 3)}", "")).elements(), 0);
  for (mpc_dtype type : {MPC_F16, MPC_F64, MPC_I8, MPC_I32, MPC_I64, MPC_U16, MPC_U32, MPC_BOOL}) {
    std::string bytes(3 * sizeOf(type), '\0');
    storeDouble(type, bytes.data(), 1, 1);
    Array back = parse(npyHeader(type, {3}) + bytes);
    EXPECT_EQ(back.dtype, type);
    EXPECT_EQ(loadDouble(type, back.data, 1), 1);
  }
}

TEST(Npy, RefusesWhatItCannotRead) {
  auto message = [](const std::string &bytes) { return std::string(errorOf([&] { parse(bytes); }).what()); };
  EXPECT_NE(message(npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", "abcd")).find("big-endian"),
            std::string::npos);
  EXPECT_NE(message(npy("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", "abcdefgh"))
                .find("unsupported element type '<c8'"),
            std::string::npos);
  EXPECT_NE(message(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "abcd")).find("structured"),
            std::string::npos);
  EXPECT_NE(message(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "abcd")).find("truncated"),
            std::string::npos);
  EXPECT_NE(message(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999)}", "abcd"))
                .find("impossible"),
            std::string::npos);
  EXPECT_NE(message("hello").find("not in .npy format"), std::string::npos);
  std::string good = npyHeader(MPC_F32, {300}) + std::string(1200, 'x');
  for (size_t length = 0; length < good.size(); length += 97)
    message(good.substr(0, length));
}

TEST(Npz, RoundTripsAndReadsDeflate) {
  TemporaryFolder folder;
  Tensor a(MPC_F32, {2, 2}), b(MPC_BF16, {3});
  for (size_t i = 0; i < 4; ++i)
    a.as<float>()[i] = float(i) + 0.5f;
  b.as<uint16_t>()[1] = floatToBfloat(2.5f);
  NpzWriter writer(folder / "a.npz");
  writer.add("layer.0/w", a);
  writer.add("b", b);
  EXPECT_FALSE(std::filesystem::exists(folder / "a.npz"));
  writer.finish();
  NpzReader reader(folder / "a.npz");
  EXPECT_EQ(reader.names(), (std::vector<std::string>{"b", "layer.0/w"}));
  EXPECT_EQ(loadDouble(MPC_F32, reader.read("layer.0/w").data, 3), 3.5);
  EXPECT_EQ(reader.read("b").dtype, MPC_F32);
  EXPECT_EQ(loadDouble(MPC_F32, reader.read("b").data, 1), 2.5);

  std::string member = npyHeader(MPC_U8, {5000}) + std::string(5000, '\x09');
  writeFile(folder / "z.npz", deflatedZip("x.npy", member));
  Array x = NpzReader(folder / "z.npz").read("x");
  EXPECT_EQ(x.shape, (Shape{5000}));
  EXPECT_EQ(loadInteger(MPC_U8, x.data, 4999), 9);
}

TEST(Npz, DamageIsAlwaysAnError) {
  TemporaryFolder folder;
  std::string path = folder / "bad.npz", other = folder / "good.npz";
  std::string noise;
  for (uint32_t i = 0; i < 4000; ++i)
    noise += char(i * 2654435761u >> 13);
  writeLogisticData(other, 40);
  for (const std::string &good : {deflatedZip("x.npy", npyHeader(MPC_U8, {4000}) + noise), readFile(other)}) {
    auto readAll = [&] {
      NpzReader reader(path);
      for (const std::string &name : reader.names())
        reader.read(name);
    };
    for (size_t length = 0; length < good.size(); length += 97) {
      writeFile(path, good.substr(0, length));
      EXPECT_EQ(errorOf(readAll).text().find("error: " + path), 0u);
    }
    int errors = 0;
    for (size_t at = 0; at < good.size(); at += 97) { // a damaged byte gives an error, or does no harm outside the data
      std::string bad = good;
      bad[at] = char(bad[at] ^ 0x5a);
      writeFile(path, bad);
      errors += attempt(readAll).has_value();
    }
    EXPECT_GT(errors, int(good.size() / 97 * 8 / 10));
  }
}

TEST(Idx, ReadsPlainAndGzip) {
  std::string images = idx(0x08, {0, 0, 0, 2, 0, 0, 0, 3}, "abcdef");
  for (const std::string &bytes : {images, deflated(images, 15 + 16)}) {
    ASSERT_TRUE(isIdx(bytes));
    Array a = parseIdx(bytes, "i");
    EXPECT_EQ(a.shape, (Shape{2, 3}));
    EXPECT_EQ(loadInteger(MPC_U8, a.data, 5), 'f');
  }
  Array ints = parseIdx(idx(0x0C, {0, 0, 0, 2}, std::string("\0\0\1\2\xff\xff\xff\xfe", 8)), "i");
  EXPECT_EQ(loadInteger(MPC_I32, ints.data, 0), 258);
  EXPECT_EQ(loadInteger(MPC_I32, ints.data, 1), -2);
  EXPECT_NE(std::string(errorOf([&] { parseIdx(images + "x", "i"); }).what()).find("unexpected bytes"),
            std::string::npos);
  std::string big = idx(0x08, {0, 0, 4, 0, 0, 0, 0, 3}, std::string(3072, 'x')), packed;
  for (size_t i = 0; i < 3072; ++i)
    big[12 + i] = char(i * 2654435761u >> 11);
  packed = deflated(big, 15 + 16);
  for (size_t length = 0; length < packed.size(); length += 97)
    errorOf([&] { parseIdx(packed.substr(0, length), "i"); });
  for (size_t length = 0; length < big.size(); length += 97)
    errorOf([&] { parseIdx(big.substr(0, length), "i"); });
}

TEST(Dataset, ConvertsReshapesNormalizesAndPermutes) {
  TemporaryFolder folder;
  std::string pixels;
  for (int i = 0; i < 3 * 2 * 2 * 2; ++i)
    pixels += char(i * 10);
  writeFile(folder / "x.npy", npyHeader(MPC_U8, {3, 8}) + pixels); // [samples, C*H*W] for an input [N,2,2,2]
  Port x = port("x", MPC_F32, {2, 2, 2, 2}, {0, 2, 3, 1});
  DataOptions options;
  options.files = {"x=" + (folder / "x.npy")};
  options.scale = {"x=0.1"};
  options.normalize = {"x=1:2,2:4"};
  Dataset data(options, {&x}, 2);
  EXPECT_EQ(data.samples(), 3);
  std::vector<float> stored(16);
  std::vector<std::byte> scratch;
  std::vector<uint32_t> samples = {2, 0};
  Threads reader(1);
  data.fill(x, samples, {}, stored.data(), scratch, reader);
  for (uint32_t n = 0; n < 2; ++n)
    for (uint32_t c = 0; c < 2; ++c)
      for (uint32_t p = 0; p < 4; ++p) {
        float value = float(uint8_t(pixels[samples[n] * 8 + c * 4 + p])) * 0.1f;
        EXPECT_FLOAT_EQ(stored[n * 8 + p * 2 + c], (value - (c ? 2 : 1)) / (c ? 4 : 2));
      }
}

TEST(DType, FirstMisfit) {
  auto misfit = [](mpc_dtype from, const std::string &values, mpc_dtype to) {
    size_t count = values.size() / sizeOf(from), first = firstMisfit(from, values.data(), to, count);
    return first == count ? -1 : int64_t(first);
  };
  EXPECT_EQ(misfit(MPC_F64, raw<double>({-128, 127, -0.0, 127.5}), MPC_I8), 3);
  EXPECT_EQ(misfit(MPC_F32, raw<float>({127, 128}), MPC_I8), 1);
  EXPECT_EQ(misfit(MPC_F64, raw<double>({0, NAN}), MPC_I32), 1);
  EXPECT_EQ(misfit(MPC_F64, raw<double>({-0x1p63, 0x1.fffffffffffffp62, 0x1p63}), MPC_I64), 2);
  EXPECT_EQ(misfit(MPC_F64, raw<double>({0, 1, 2}), MPC_BOOL), 2);
  EXPECT_EQ(misfit(MPC_F64, raw<double>({0, -1}), MPC_U64), 1);
  EXPECT_EQ(misfit(MPC_I64, raw<int64_t>({INT32_MAX, INT32_MIN, int64_t(INT32_MAX) + 1}), MPC_I32), 2);
  EXPECT_EQ(misfit(MPC_U64, raw<uint64_t>({uint64_t(INT64_MAX), UINT64_MAX}), MPC_I64), 1);
  EXPECT_EQ(misfit(MPC_U64, raw<uint64_t>({UINT64_MAX}), MPC_U64), -1);
  EXPECT_EQ(misfit(MPC_F64, raw<double>({65504, INFINITY, NAN, 65520}), MPC_F16), 3);
}

TEST(Finite, FindsEveryInfinityAndNaN) {
  for (mpc_dtype type : {MPC_F16, MPC_BF16, MPC_F32})
    for (size_t count = 0; count < 40; ++count) {
      std::vector<std::byte> bytes(1 + count * sizeOf(type));
      std::byte *floats = bytes.data() + 1; // not aligned
      for (size_t i = 0; i < count; ++i)
        storeDouble(type, floats, i, i % 2 ? -65504 : 65280);
      EXPECT_TRUE(surelyFinite(type, floats, count)) << nameOf(type) << " " << count;
      for (size_t i = 0; i < count; ++i)
        for (double bad : {double(INFINITY), -double(INFINITY), double(NAN)}) {
          std::vector<std::byte> kept = bytes;
          storeDouble(type, floats, i, bad);
          EXPECT_FALSE(surelyFinite(type, floats, count)) << nameOf(type) << " " << i << " of " << count;
          bytes = kept;
          floats = bytes.data() + 1;
        }
    }
}

TEST(Dataset, BadValuesNameTheSample) {
  TemporaryFolder folder;
  auto load = [&](Port p, mpc_dtype type, Shape shape, const std::string &bytes) {
    writeFile(folder / "x.npy", npyHeader(type, shape) + bytes);
    DataOptions options;
    options.files = {folder / "x.npy"};
    return std::string(errorOf([&] { Dataset(options, {&p}, 1); }).what());
  };
  Port x = port("x", MPC_F32, {1, 2}), label = port("x", MPC_I64, {1}), half = port("x", MPC_F16, {1}),
       small = port("x", MPC_I8, {1});
  label.ranges = {{"label", 0, 10, {}}};
  EXPECT_NE(load(x, MPC_F32, {2, 2}, raw<float>({1, 2, NAN, 4})).find("sample 1, element 0 holds NaN"),
            std::string::npos);
  EXPECT_NE(
      load(x, MPC_F32, {3, 2}, raw<float>({1, 2, 3, 4, 5, INFINITY})).find("sample 2, element 1 holds an infinity"),
      std::string::npos);
  EXPECT_NE(load(label, MPC_U8, {3}, raw<uint8_t>({1, 9, 10})).find("sample 2 has label 10, not in [0, 10)"),
            std::string::npos);
  EXPECT_NE(load(label, MPC_I32, {2}, raw<int32_t>({-1, 3})).find("sample 0 has label -1"), std::string::npos);
  EXPECT_NE(load(label, MPC_F32, {2}, raw<float>({1, 2.5})).find("takes integers"), std::string::npos);
  // Besides the classes, one label is valid: the one that the loss ignores.
  label.ranges[0].also = -100;
  EXPECT_NE(
      load(label, MPC_I64, {4}, raw<int64_t>({9, -100, 0, -1})).find("sample 3 has label -1, not in [0, 10) or -100"),
      std::string::npos);
  EXPECT_NE(load(label, MPC_I64, {2}, raw<int64_t>({-100, 100})).find("sample 1 has label 100"), std::string::npos);
  // The first column holds one of ten classes, the second any number.
  Port column = port("x", MPC_I64, {1, 2});
  column.ranges = {{"label", 0, 10, {}, {0}, {1}}};
  EXPECT_NE(load(column, MPC_I64, {2, 2}, raw<int64_t>({9, 70, 10, -1}))
                .find("sample 1, element 0 has label 10, not in [0, 10)"),
            std::string::npos);
  // The two columns hold indices, each with its own bounds.
  column.ranges = {{"index", -5, 5, {}, {0}, {1}}, {"index", -10, 10, {}, {1}, {2}}};
  EXPECT_NE(load(column, MPC_I64, {2, 2}, raw<int64_t>({4, 9, -5, 10}))
                .find("sample 1, element 1 has index 10, not in [-10, 10)"),
            std::string::npos);
  EXPECT_NE(
      load(column, MPC_I64, {2, 2}, raw<int64_t>({4, 9, 5, 4})).find("sample 1, element 0 has index 5, not in [-5, 5)"),
      std::string::npos);
  Port index = port("x", MPC_I64, {1});
  index.ranges = {{"index", -5, 5, {}}};
  EXPECT_NE(load(index, MPC_I64, {4}, raw<int64_t>({4, -5, 0, 5})).find("sample 3 has index 5, not in [-5, 5)"),
            std::string::npos);
  EXPECT_NE(load(half, MPC_F32, {2}, raw<float>({1, 70000})).find("sample 1 holds 70000, which f16"),
            std::string::npos);
  EXPECT_NE(load(small, MPC_I64, {2}, raw<int64_t>({127, 128})).find("sample 1 holds 128, which i8"),
            std::string::npos);
  EXPECT_NE(load(x, MPC_F32, {3}, raw<float>({1, 2, 3})).find("has shape [3], but input 'x' needs [samples,2]"),
            std::string::npos);
}

TEST(Dataset, WhatScalingMakesInfiniteIsRefused) {
  TemporaryFolder folder;
  auto load = [&](Port p, mpc_dtype type, Shape shape, const std::string &bytes, DataOptions options) {
    writeFile(folder / "x.npy", npyHeader(type, shape) + bytes);
    options.files = {folder / "x.npy"};
    std::optional<Error> error = attempt([&] { Dataset(options, {&p}, 1); });
    return error ? std::string(error->what()) : "";
  };
  Port half = port("x", MPC_F16, {1, 4}), bfloat = port("x", MPC_BF16, {1, 4}), single = port("x", MPC_F32, {1, 4}),
       image = port("x", MPC_F16, {1, 2, 2}), fixed = half;
  fixed.batched = false;
  DataOptions scale, perChannel, tiny, odd;
  scale.scale = {"x=1000"};
  perChannel.normalize = {"x=0:0,1:0.001"};
  tiny.scale = {"x=1e37"};
  odd.normalize = {"x=0:0:0,1"};
  std::string floats = raw<float>({1, 2, 3, 4, 1, 65.5, 3, 65.625});
  EXPECT_EQ(load(half, MPC_F32, {2, 4}, floats, scale),
            folder / "x.npy" + ": x: sample 1, element 3 holds 65.625, by --scale and --normalize 65625, "
                               "which f16 cannot represent");
  // The same numbers fit where the type is wider or the channel's normalization makes them smaller.
  EXPECT_EQ(load(bfloat, MPC_F32, {2, 4}, floats, scale), "");
  EXPECT_EQ(load(image, MPC_F32, {2, 2, 2}, raw<float>({500, 65504, 1, 2, 65519, -65519, 0, 65}), perChannel), "");
  EXPECT_NE(load(image, MPC_F32, {2, 2, 2}, raw<float>({0, 0, 1, 2, 0, 0, -66, 65}), perChannel)
                .find("sample 1, element 2 holds -66"),
            std::string::npos);
  // Integers of every width are checked, and so are types of 32 bits.
  EXPECT_EQ(load(half, MPC_U8, {1, 4}, raw<uint8_t>({1, 2, 65, 4}), scale), "");
  EXPECT_NE(load(half, MPC_U8, {1, 4}, raw<uint8_t>({1, 66, 3, 4}), scale).find("sample 0, element 1 holds 66, by"),
            std::string::npos);
  EXPECT_NE(load(half, MPC_I64, {1, 4}, raw<int64_t>({1, 2, 3, -70000}), {}).find("element 3 holds -70000, which f16"),
            std::string::npos);
  EXPECT_NE(load(single, MPC_U8, {1, 4}, raw<uint8_t>({1, 2, 3, 35}), tiny).find("element 3 holds 35, by"),
            std::string::npos);
  EXPECT_NE(load(bfloat, MPC_F32, {1, 4}, raw<float>({1, 2, 3, 35}), tiny).find("which bf16 cannot"),
            std::string::npos);
  // These inputs have no sample dimension.
  EXPECT_NE(load(fixed, MPC_F32, {4}, raw<float>({1, 2, 3, 66}), scale).find("x: element 3 holds 66, by"),
            std::string::npos);
  EXPECT_NE(load(half, MPC_F32, {1, 4}, raw<float>({1, 2, 3, 4}), perChannel).find("2 channels for input"),
            std::string::npos); // they divide the size of a sample, but are no dimension of it
  EXPECT_NE(load(fixed, MPC_F32, {4}, raw<float>({1, 2, 3, 4}), odd).find("3 channels for input"), std::string::npos);
}

TEST(Dataset, MissingArraysAreNamed) {
  TemporaryFolder folder;
  std::string path = writeLogisticData(folder / "d.npz", 4);
  Port x = port("image", MPC_F32, {4, 6}), label = port("target", MPC_I64, {4});
  auto message = [&](const std::string &file) {
    DataOptions options;
    options.files = {file};
    return errorOf([&] { Dataset(options, {&x, &label}, 4); }).text();
  };
  EXPECT_NE(message(path).find("no data for input 'image' (arrays: target, x)"), std::string::npos);
  EXPECT_NE(message("image=" + path).find("has no array 'image'"), std::string::npos);
  EXPECT_NE(message(folder / "none.npz").find("No such file"), std::string::npos);
  EXPECT_EQ(message(path + ",target=" + path),
            "error: --data: gives input 'target' twice: " + path + ": target and " + path +
                ": target\nhint: keep one of them; target=FILE.npz:ARRAY takes one array of a file\n");
  DataOptions renamed;
  renamed.files = {"image=" + path + ":x,target=" + path};
  EXPECT_EQ(Dataset(renamed, {&x, &label}, 4).samples(), 4);
  writeFile(folder / "empty", "");
  EXPECT_NE(message("image=" + (folder / "empty")).find("the file is empty"), std::string::npos);
}

TEST(Batches, TrainingVisitsEverySampleOfAnEpochAtMostOnce) {
  TemporaryFolder folder;
  std::string bytes;
  for (int32_t i = 0; i < 10; ++i)
    bytes += raw<int32_t>({i});
  writeFile(folder / "x.npy", npyHeader(MPC_I32, {10}) + bytes);
  Entry entry;
  entry.inputs = {port("x", MPC_I32, {4})};
  DataOptions options;
  options.files = {folder / "x.npy"};
  Dataset data(options, {&entry.inputs[0]}, 4);
  auto collect = [&](BatchOptions order, int count) {
    Batches batches(data, {&entry}, order);
    std::vector<std::vector<int32_t>> all;
    for (int i = 0; i < count; ++i) {
      const Batches::Batch *batch = batches.next();
      if (!batch)
        break;
      std::vector<int32_t> values(4);
      std::memcpy(values.data(), batch->inputs[0].data(), 16);
      values.push_back(int32_t(batch->count));
      all.push_back(values);
    }
    return all;
  };
  BatchOptions shuffled{true, true, 3, 0, 0};
  auto all = collect(shuffled, 6); // three epochs of two batches; each epoch drops two samples
  for (size_t epoch = 0; epoch < 3; ++epoch) {
    std::set<int32_t> seen;
    for (size_t b = 0; b < 2; ++b)
      for (size_t i = 0; i < 4; ++i)
        EXPECT_TRUE(seen.insert(all[epoch * 2 + b][i]).second);
  }
  EXPECT_NE(all[0], all[2]);
  // A start in the middle continues exactly there.
  BatchOptions later{true, true, 3, 1, 1};
  EXPECT_EQ(collect(later, 2), (std::vector<std::vector<int32_t>>{all[3], all[4]}));
  // Without shuffling, samples come in order and the last batch is padded.
  EXPECT_EQ(collect({}, 9), (std::vector<std::vector<int32_t>>{{0, 1, 2, 3, 4}, {4, 5, 6, 7, 4}, {8, 9, 9, 9, 2}}));
}

TEST(Batches, BytesDoNotDependOnTheNumberOfReaders) {
  TemporaryFolder folder;
  // A sample is nearly as large as the least slice, so that three readers have 2, 2 and 1 of a batch's 5 samples.
  constexpr int64_t kSamples = 12, kPixels = 256 * 256;
  std::string pixels(size_t(kSamples * 3 * kPixels), '\0');
  for (size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = char(uint32_t(i) * 2654435761u >> 24);
  writeFile(folder / "x.npy", npyHeader(MPC_U8, {kSamples, 3, 256, 256}) + pixels);
  auto bytes = [&](mpc_dtype type, const std::vector<int64_t> &permutation, bool train, int readers) {
    Entry entry;
    entry.inputs = {port("x", type, {5, 3, 256, 256}, permutation)};
    DataOptions options;
    options.files = {folder / "x.npy"};
    options.readers = readers;
    if (isFloat(type))
      options.normalize = {"x=1:2:3,2:4:8"};
    Dataset data(options, {&entry.inputs[0]}, 5);
    EXPECT_EQ(data.readers(), readers);
    Batches batches(data, {&entry}, {train, train, 7, 0, 0});
    std::vector<std::string> all;
    for (int i = 0; i < 5; ++i) // in training these are two epochs and a batch, else one padded pass
      if (const Batches::Batch *batch = batches.next())
        all.emplace_back(reinterpret_cast<const char *>(batch->inputs[0].data()), batch->inputs[0].size());
    EXPECT_EQ(all.size(), train ? 5u : 3u);
    return all;
  };
  // Samples are stored as they come, are reordered one by one, or only together.
  for (const std::vector<int64_t> &permutation : {std::vector<int64_t>{}, {0, 2, 3, 1}, {1, 0, 2, 3}})
    for (mpc_dtype type : {MPC_U8, MPC_F32})
      for (bool train : {false, true}) {
        const auto one = bytes(type, permutation, train, 1);
        for (int readers : {3, 8})
          EXPECT_TRUE(bytes(type, permutation, train, readers) == one)
              << nameOf(type) << ", permutation of " << permutation.size() << ", " << readers << " readers";
      }
  // The first batch of a pass holds the first samples.
  const auto batch = bytes(MPC_U8, {0, 2, 3, 1}, false, 3)[0];
  for (size_t i = 0; i < batch.size(); ++i) {
    size_t sample = i / (3 * kPixels), pixel = i % (3 * kPixels) / 3, channel = i % 3;
    ASSERT_EQ(batch[i], pixels[(sample * 3 + channel) * kPixels + pixel]) << i;
  }
}

TEST(Batches, AFileThatWasCutIsTheSameErrorForAnyNumberOfReaders) {
  TemporaryFolder folder;
  const std::string path = folder / "x.npy",
                    file = npyHeader(MPC_U8, {8, 256 << 10}) + std::string(8 * 256 << 10, '\1');
  Entry entry;
  entry.inputs = {port("x", MPC_U8, {8, 256 << 10})}; // as large as a slice, so that every reader has some
  for (int readers : {1, 2, 4}) {
    writeFile(path, file);
    DataOptions options;
    options.files = {path};
    options.readers = readers;
    Dataset data(options, {&entry.inputs[0]}, 8);
    std::filesystem::resize_file(path, file.size() - 1);
    Batches batches(data, {&entry}, {});
    EXPECT_EQ(errorOf([&] { batches.next(); })
                  .text()
                  .find(concat("error: ", path, ": became shorter while it was read: ", file.size() - 1, " bytes of ",
                               file.size())),
              0u);
  }
}

namespace {
/// Writes bytes into a file in place. With `quietly`, its time of modification stays, as for writes through a mapping.
void overwrite(const std::string &path, size_t at, const std::string &bytes, bool quietly) {
  const auto time = std::filesystem::last_write_time(path);
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(std::streamoff(at)) << bytes;
  std::filesystem::last_write_time(path, quietly ? time : time + std::chrono::seconds(1));
}
} // namespace

TEST(Batches, WhatChangesInAFileIsCheckedAgain) {
  TemporaryFolder folder;
  const std::string path = folder / "x.npy";
  // Reads three batches of 4 samples; after the first, the bytes of an element change, and so does the file's time of
  // modification unless `quietly`.
  auto message = [&](Port p, mpc_dtype type, const std::string &bytes, size_t element, const std::string &changed,
                     bool quietly) {
    const std::string header = npyHeader(type, {12});
    writeFile(path, header + bytes);
    Entry entry;
    entry.inputs = {std::move(p)};
    DataOptions options;
    options.files = {path};
    Dataset data(options, {&entry.inputs[0]}, 4);
    overwrite(path, header.size() + element * sizeOf(type), changed, quietly);
    Batches batches(data, {&entry}, {});
    std::string text;
    for (int i = 0; i < 3 && text.empty(); ++i)
      if (std::optional<Error> error = attempt([&] { batches.next(); }))
        text = error->text();
    return text;
  };
  Port label = port("x", MPC_I64, {4});
  label.ranges = {{"label", 0, 10, -100}};
  const std::string labels(12, '\3'), floats(48, '\0');
  EXPECT_EQ(message(label, MPC_U8, labels, 9, "\x0a", true),
            concat("error: ", path,
                   ": x: sample 9 has label 10, not in [0, 10) or -100\nhint: repair the data, or "
                   "compile a model that takes this value\n"));
  EXPECT_NE(message(label, MPC_U8, labels, 9, "\x0a", false).find("sample 9 has label 10"), std::string::npos);
  EXPECT_NE(message(label, MPC_F32, floats, 5, raw<float>({2.5}), true).find("sample 5 holds 2.5, but input 'x' takes"),
            std::string::npos);
  EXPECT_NE(message(port("x", MPC_I8, {4}), MPC_I32, floats, 11, raw<int32_t>({128}), true).find("sample 11 holds 128"),
            std::string::npos);
  EXPECT_NE(message(port("x", MPC_F32, {4}), MPC_F32, floats, 6, raw<float>({NAN}), true).find("sample 6 holds NaN"),
            std::string::npos);
  EXPECT_NE(message(port("x", MPC_F16, {4}), MPC_F32, floats, 7, raw<float>({70000}), true)
                .find("sample 7 holds 70000, which f16"),
            std::string::npos);
  // A valid value is found by the time of modification alone.
  EXPECT_EQ(message(label, MPC_U8, labels, 9, "\x04", false),
            concat("error: ", path,
                   ": x: changed while it was read\nhint: leave the file alone while the program runs; go "
                   "on with --resume where there are checkpoints\n"));
  EXPECT_EQ(message(label, MPC_U8, labels, 9, "\x04", true), "");
}

TEST(Batches, WhatThePreparingThreadThrowsReachesTheConsumer) {
  TemporaryFolder folder;
  writeFile(folder / "x.npy", npyHeader(MPC_I32, {8}) + std::string(32, '\1'));
  Entry entry;
  entry.inputs = {port("x", MPC_I32, {4})};
  DataOptions options;
  options.files = {folder / "x.npy"};
  Dataset data(options, {&entry.inputs[0]}, 4);
  Entry other;
  other.inputs = {port("y", MPC_I32, {4})}; // the data has no such input
  Batches batches(data, {&entry, &other}, {});
  for (int i = 0; i < 2; ++i) // the second call throws too
    EXPECT_NE(errorOf([&] { batches.next(); }).text().find("error: "), std::string::npos);
}

TEST(Dataset, MoreSamplesThanCanBeNumberedAreRefused) {
  TemporaryFolder folder;
  Port x = port("x", MPC_U8, {1});
  std::string path = folder / "x.npy";
  for (int64_t samples : {(int64_t(1) << 32) - 1, int64_t(1) << 32}) {
    std::string header = npyHeader(MPC_U8, {samples});
    writeFile(path, header);
    std::filesystem::resize_file(path, header.size() + uint64_t(samples)); // a sparse file, which takes no room
    DataOptions options;
    options.files = {path};
    options.scale = {"x=2"}; // refused as well, but later, so that the samples are not read
    std::string message = errorOf([&] { Dataset(options, {&x}, 1); }).what();
    if (samples >> 32)
      EXPECT_EQ(message, path + ": x: has 4294967296 samples; at most 4294967295 are supported");
    else
      EXPECT_NE(message.find("cannot be scaled"), std::string::npos) << message;
  }
}

TEST(Dataset, ArraysOfAnotherLayoutAreRefused) {
  TemporaryFolder folder;
  auto load = [&](const Shape &array, const Port &port) {
    NpzWriter writer(folder / "d.npz");
    writer.add("x", Tensor(MPC_F32, array));
    writer.finish();
    DataOptions options;
    options.files = {folder / "d.npz"};
    return Dataset(options, {&port}, 2).samples();
  };
  Port image = port("x", MPC_F32, {2, 3, 8, 8}), gray = port("x", MPC_F32, {2, 1, 28, 28}),
       flat = port("x", MPC_F32, {2, 784}), column = port("x", MPC_F32, {2, 1}), pairs = port("x", MPC_F32, {4, 5});
  EXPECT_EQ(load({6, 3, 8, 8}, image), 6);
  EXPECT_EQ(load({6, 192}, image), 6);
  EXPECT_EQ(load({6, 28, 28}, gray), 6);
  EXPECT_EQ(load({6, 28, 28, 1}, gray), 6);
  EXPECT_EQ(load({6, 784}, gray), 6);
  EXPECT_EQ(load({6, 1, 28, 28}, flat), 6);
  EXPECT_EQ(load({6}, column), 6);
  EXPECT_EQ(load({6, 5}, pairs), 3);
  for (const Shape &wrong : {Shape{6, 8, 8, 3}, Shape{6, 8, 3, 8}, Shape{6, 3, 64}, Shape{6, 24, 8}, Shape{6, 6, 32}})
    EXPECT_NE(
        errorOf([&] { load(wrong, image); })
            .text()
            .find(concat("x: has shape ", toString(wrong), ", but input 'x' needs [samples,3,8,8]\nhint: transpose")),
        std::string::npos)
        << toString(wrong);
  Port fixed = image;
  fixed.batched = false;
  load({2, 3, 8, 8}, fixed);
  EXPECT_NE(errorOf([&] { load({2, 8, 8, 3}, fixed); }).text().find("needs [2,3,8,8]"), std::string::npos);
}
