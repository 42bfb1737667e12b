// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element types: their names, sizes, and conversions of whole arrays between them.
#pragma once

#include "mpc/kernel.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mpc::rt {

/// Returns the bytes of one element.
size_t sizeOf(mpc_dtype type);
/// Returns "f16", "bf16", ….
std::string_view nameOf(mpc_dtype type);
/// Returns the type of that name; throws Error (located at `where`) when there is none.
mpc_dtype dtypeOf(std::string_view name, std::string_view where);

bool isFloat(mpc_dtype type);
/// Return the smallest and the largest value of an integer type or bool (u64 is cut at the largest int64).
int64_t lowestOf(mpc_dtype type);
int64_t highestOf(mpc_dtype type);

/// Convert IEEE binary16 and bfloat16, given as bits. Conversions to 16 bits round once to nearest even and
/// overflow to infinity.
float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
uint16_t doubleToHalf(double value);
float bfloatToFloat(uint16_t bits);
uint16_t floatToBfloat(float value);
uint16_t doubleToBfloat(double value);

/// The map y = x * scale + shift, computed in f32 for results of at most 32 bits.
struct Affine {
  double scale = 1, shift = 0;
  bool identity() const { return scale == 1 && shift == 0; }
};

/// Converts `count` elements. Float to integer truncates, and integer to narrower integer wraps, so callers check
/// with firstMisfit first. The affine map is only for conversions to a float type.
void convert(mpc_dtype from, const void *source, mpc_dtype to, void *target, size_t count, Affine map = {});

/// Returns the first of `count` elements that `to` cannot hold, or `count`. A float type cannot hold a finite number
/// that becomes infinite; an integer type cannot hold a value that is no integer of its range (for u64 the range ends
/// at the largest int64).
size_t firstMisfit(mpc_dtype from, const void *source, mpc_dtype to, size_t count, Affine map = {});
/// Throws Error, "WHAT: element I holds V, which TYPE cannot represent", if there is such an element.
void checkExact(mpc_dtype from, const void *source, mpc_dtype to, size_t count, std::string_view what);
/// Calls checkExact, then convert.
void convertExactly(mpc_dtype from, const void *source, mpc_dtype to, void *target, size_t count,
                    std::string_view what);

/// Read one element as double or, for integer types, exactly as int64.
double loadDouble(mpc_dtype type, const void *data, size_t index);
int64_t loadInteger(mpc_dtype type, const void *data, size_t index);
/// Stores `number` rounded to the type.
void storeDouble(mpc_dtype type, void *data, size_t index, double number);

} // namespace mpc::rt
