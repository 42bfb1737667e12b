// Element types: names, sizes, and conversions of whole arrays between them.
#pragma once

#include "mpc/kernel.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mpc::rt {

/// Bytes of one element.
size_t sizeOf(mpc_dtype type);
/// "f16", "bf16", ….
std::string_view nameOf(mpc_dtype type);
/// The type of that name; throws Error (located at `where`) when there is none.
mpc_dtype dtypeOf(std::string_view name, std::string_view where);

bool isFloat(mpc_dtype type);
/// The smallest and the largest value of an integer type or bool (u64 is cut at the largest int64).
int64_t lowestOf(mpc_dtype type);
int64_t highestOf(mpc_dtype type);

/// IEEE binary16 and bfloat16, as bits. To-conversions round once to nearest even and overflow to infinity.
float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
uint16_t doubleToHalf(double value);
float bfloatToFloat(uint16_t bits);
uint16_t floatToBfloat(float value);
uint16_t doubleToBfloat(double value);

/// y = x * scale + shift, in f32 for results of at most 32 bits.
struct Affine {
  double scale = 1, shift = 0;
  bool identity() const { return scale == 1 && shift == 0; }
};

/// Converts `count` elements. Float to integer truncates, integer to narrower integer wraps: callers check
/// with firstMisfit. The affine map is only for conversions to a float type.
void convert(mpc_dtype from, const void *source, mpc_dtype to, void *target, size_t count, Affine map = {});

/// The first of `count` elements that `to` cannot hold, or `count`: for a float type a finite number that
/// becomes infinite, for an integer type what is no integer of its range (beyond int64, none of u64's).
size_t firstMisfit(mpc_dtype from, const void *source, mpc_dtype to, size_t count, Affine map = {});
/// Throws Error, "WHAT: element I holds V, which TYPE cannot represent", where there is such an element.
void checkExact(mpc_dtype from, const void *source, mpc_dtype to, size_t count, std::string_view what);
/// checkExact, then convert.
void convertExactly(mpc_dtype from, const void *source, mpc_dtype to, void *target, size_t count,
                    std::string_view what);

/// One element as double or, for integer types, exactly as int64.
double loadDouble(mpc_dtype type, const void *data, size_t index);
int64_t loadInteger(mpc_dtype type, const void *data, size_t index);
/// Stores `number` rounded to the type.
void storeDouble(mpc_dtype type, void *data, size_t index, double number);

} // namespace mpc::rt
