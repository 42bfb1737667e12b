// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/support/DType.h"

#include "runtime/support/Error.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace mpc::rt {

static constexpr std::string_view kNames[] = {"",    "f16", "bf16", "f32", "f64", "i8",  "i16",
                                              "i32", "i64", "u8",   "u16", "u32", "u64", "bool"};
static constexpr uint8_t kSizes[] = {0, 2, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 1};

size_t sizeOf(mpc_dtype type) { return kSizes[type]; }
std::string_view nameOf(mpc_dtype type) { return kNames[type]; }

// This file is built for speed. What is marked cold runs once or ends in an error, and is built for size.
[[gnu::cold]] mpc_dtype dtypeOf(std::string_view name, std::string_view where) {
  for (int type = MPC_F16; type <= MPC_BOOL; ++type)
    if (kNames[type] == name)
      return mpc_dtype(type);
  fail(std::string(where), concat("unknown element type '", name, "'"), "compile the model again");
}

bool isFloat(mpc_dtype type) { return type <= MPC_F64; }

int64_t lowestOf(mpc_dtype type) {
  switch (type) {
  case MPC_I8:
    return INT8_MIN;
  case MPC_I16:
    return INT16_MIN;
  case MPC_I32:
    return INT32_MIN;
  case MPC_I64:
    return INT64_MIN;
  default:
    return 0;
  }
}

int64_t highestOf(mpc_dtype type) {
  switch (type) {
  case MPC_I8:
    return INT8_MAX;
  case MPC_I16:
    return INT16_MAX;
  case MPC_I32:
    return INT32_MAX;
  case MPC_U8:
    return UINT8_MAX;
  case MPC_U16:
    return UINT16_MAX;
  case MPC_U32:
    return UINT32_MAX;
  case MPC_BOOL:
    return 1;
  default:
    return INT64_MAX;
  }
}

float halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, rest = bits & 0x7fff;
  if (rest >= 0x7c00) // infinity or NaN
    return std::bit_cast<float>(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  if (rest >= 0x400) // a normal number: the exponent's bias changes from 15 to 127
    return std::bit_cast<float>(sign | (rest + (112 << 10)) << 13);
  float magnitude = float(rest) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

uint16_t floatToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000)
    return sign | 0x7e00 | (bits >> 13 & 0x3ff); // the result is a quiet NaN
  if (bits >= 0x477ff000)                        // 65520 and above round to infinity
    return sign | 0x7c00;
  if (bits < 0x38800000) { // below 2^-14: the sum with 0.5 rounds to a multiple of 2^-24
    float sum = std::bit_cast<float>(bits) + 0.5f;
    return sign | uint16_t(std::bit_cast<uint32_t>(sum) - 0x3f000000);
  }
  return sign | uint16_t((bits - (112u << 23) + 0xfff + (bits >> 13 & 1)) >> 13);
}

float bfloatToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

uint16_t floatToBfloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// Returns the f32 nearest to `value` that rounds to a 16-bit type as `value` itself does, by rounding to odd
/// (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
static float roundToOdd(double value) {
  float nearest = float(value);
  if (double(nearest) == value || std::isnan(value) || std::isinf(nearest))
    return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (bits & 1)
    return nearest;
  // `nearest` is even and inexact, so the neighbour on the other side of `value` is odd.
  bool away = std::fabs(value) > std::fabs(double(nearest));
  return std::bit_cast<float>(away ? bits + 1 : bits - 1);
}

uint16_t doubleToHalf(double value) { return floatToHalf(roundToOdd(value)); }
uint16_t doubleToBfloat(double value) { return floatToBfloat(roundToOdd(value)); }

namespace {
constexpr size_t kBlock = 256; // number of elements converted at a time through a wide intermediate

struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};

template <typename T>
double widen(T value) {
  return double(value);
}
double widen(Half value) { return halfToFloat(value.bits); }
double widen(Bfloat value) { return bfloatToFloat(value.bits); }

template <typename T>
void narrow(double value, T &out) {
  out = T(value);
}
void narrow(double value, Half &out) { out.bits = doubleToHalf(value); }
void narrow(double value, Bfloat &out) { out.bits = doubleToBfloat(value); }
void narrow(double value, bool &out) { out = value != 0; }

/// Calls `visitor` with a null pointer of the element's C++ type.
template <typename Visitor>
void dispatch(mpc_dtype type, Visitor visitor) {
  switch (type) {
  case MPC_F16:
    return visitor((Half *)nullptr);
  case MPC_BF16:
    return visitor((Bfloat *)nullptr);
  case MPC_F32:
    return visitor((float *)nullptr);
  case MPC_F64:
    return visitor((double *)nullptr);
  case MPC_I8:
    return visitor((int8_t *)nullptr);
  case MPC_I16:
    return visitor((int16_t *)nullptr);
  case MPC_I32:
    return visitor((int32_t *)nullptr);
  case MPC_I64:
    return visitor((int64_t *)nullptr);
  case MPC_U8:
    return visitor((uint8_t *)nullptr);
  case MPC_U16:
    return visitor((uint16_t *)nullptr);
  case MPC_U32:
    return visitor((uint32_t *)nullptr);
  case MPC_U64:
    return visitor((uint64_t *)nullptr);
  case MPC_BOOL:
    return visitor((bool *)nullptr);
  }
}

/// Reads an element that may be unaligned.
template <typename T>
T at(const void *data, size_t index) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data) + index * sizeof(T), sizeof(T));
  return value;
}
template <>
bool at<bool>(const void *data, size_t index) {
  return static_cast<const char *>(data)[index] != 0;
}
template <typename T>
void put(void *data, size_t index, T value) {
  std::memcpy(static_cast<char *>(data) + index * sizeof(T), &value, sizeof(T));
}

template <typename Source>
void toFloat(const void *source, float *target, size_t count, Affine map) {
  float scale = float(map.scale), shift = float(map.shift);
  for (size_t i = 0; i < count; ++i)
    target[i] = float(at<Source>(source, i)) * scale + shift;
}

void convertIntegers(mpc_dtype from, const char *source, mpc_dtype to, char *target, size_t count) {
  int64_t wide[kBlock];
  for (size_t done = 0; done < count; done += kBlock) {
    size_t n = std::min(kBlock, count - done);
    for (size_t i = 0; i < n; ++i)
      wide[i] = loadInteger(from, source, done + i);
    dispatch(to, [&]<typename T>(T *) {
      if constexpr (std::is_same_v<T, bool>) {
        for (size_t i = 0; i < n; ++i)
          put<bool>(target, done + i, wide[i] != 0);
      } else if constexpr (std::is_integral_v<T>) {
        for (size_t i = 0; i < n; ++i)
          put<T>(target, done + i, T(wide[i]));
      }
    });
  }
}
} // namespace

void convert(mpc_dtype from, const void *source, mpc_dtype to, void *target, size_t count, Affine map) {
  if (from == to && map.identity()) {
    if (count)
      std::memcpy(target, source, count * sizeOf(from));
    return;
  }
  if (!isFloat(from) && !isFloat(to))
    return convertIntegers(from, static_cast<const char *>(source), to, static_cast<char *>(target), count);
  // These are the two common cases of training data and the common case of a parameter's copy.
  if (to == MPC_F32 && from == MPC_U8)
    return toFloat<uint8_t>(source, static_cast<float *>(target), count, map);
  if (to == MPC_F32 && from == MPC_F32)
    return toFloat<float>(source, static_cast<float *>(target), count, map);
  if (from == MPC_F32 && to == MPC_F16 && map.identity()) {
    for (size_t i = 0; i < count; ++i)
      put<uint16_t>(target, i, floatToHalf(at<float>(source, i)));
    return;
  }
  double wide[kBlock];
  for (size_t done = 0; done < count; done += kBlock) {
    size_t n = std::min(kBlock, count - done);
    dispatch(from, [&]<typename T>(T *) {
      for (size_t i = 0; i < n; ++i)
        wide[i] = widen(at<T>(source, done + i));
    });
    if (!map.identity())
      for (size_t i = 0; i < n; ++i)
        wide[i] =
            to == MPC_F64 ? wide[i] * map.scale + map.shift : float(wide[i]) * float(map.scale) + float(map.shift);
    dispatch(to, [&]<typename T>(T *) {
      for (size_t i = 0; i < n; ++i) {
        T value;
        narrow(wide[i], value);
        put<T>(target, done + i, value);
      }
    });
  }
}

/// Returns whether an element is an integer that `to` can hold.
static bool isIntegerOf(mpc_dtype from, const void *source, size_t i, mpc_dtype to) {
  if (isFloat(from)) {
    double value = loadDouble(from, source, i);
    // highest + 1 is a power of two and so exact as a double; NaN fails every comparison.
    return value >= double(lowestOf(to)) && value < double(highestOf(to)) + 1 && value == std::floor(value);
  }
  int64_t value = loadInteger(from, source, i);
  return value >= lowestOf(to) && value <= highestOf(to) && (from != MPC_U64 || value >= 0);
}

size_t firstMisfit(mpc_dtype from, const void *source, mpc_dtype to, size_t count, Affine map) {
  if (from == to && map.identity())
    return count;
  if (!isFloat(to)) {
    for (size_t i = 0; i < count; ++i)
      if (!isIntegerOf(from, source, i, to))
        return i;
    return count;
  }
  double converted[kBlock], wide[kBlock]; // large enough for any type
  for (size_t done = 0; done < count; done += kBlock) {
    size_t n = std::min(kBlock, count - done);
    convert(from, static_cast<const char *>(source) + done * sizeOf(from), to, converted, n, map);
    convert(to, converted, MPC_F64, wide, n);
    for (size_t i = 0; i < n; ++i)
      if (!std::isfinite(wide[i]) && std::isfinite(loadDouble(from, source, done + i)))
        return done + i;
  }
  return count;
}

[[gnu::cold]] void checkExact(mpc_dtype from, const void *source, mpc_dtype to, size_t count, std::string_view what) {
  if (size_t i = firstMisfit(from, source, to, count); i < count)
    fail("",
         concat(what, ": element ", i, " holds ", loadDouble(from, source, i), ", which ", nameOf(to),
                " cannot represent"),
         "give values of the type's range");
}

void convertExactly(mpc_dtype from, const void *source, mpc_dtype to, void *target, size_t count,
                    std::string_view what) {
  checkExact(from, source, to, count, what);
  convert(from, source, to, target, count);
}

[[gnu::cold]] double loadDouble(mpc_dtype type, const void *data, size_t index) {
  double value = 0;
  dispatch(type, [&]<typename T>(T *) { value = widen(at<T>(data, index)); });
  return value;
}

int64_t loadInteger(mpc_dtype type, const void *data, size_t index) {
  int64_t value = 0;
  dispatch(type, [&]<typename T>(T *) {
    if constexpr (std::is_integral_v<T>)
      value = int64_t(at<T>(data, index)); // NOLINT(bugprone-signed-char-misuse): i8 is a number here
  });
  return value;
}

void storeDouble(mpc_dtype type, void *data, size_t index, double number) {
  dispatch(type, [&]<typename T>(T *) {
    T value;
    narrow(number, value);
    put<T>(data, index, value);
  });
}

} // namespace mpc::rt
