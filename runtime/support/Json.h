// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parses JSON of files that may be damaged.
#pragma once

#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

namespace mpc::rt {

/// nlohmann's conversions, except that a number which is no integer of its type's range is a json::type_error; theirs
/// is undefined, or gives another number.
template <typename T, typename = void>
struct JsonConversion : nlohmann::adl_serializer<T> {};
template <typename T>
struct JsonConversion<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>>
    : nlohmann::adl_serializer<T> {
  template <typename AnyJson>
  static void from_json(const AnyJson &value, T &result) {
    using Signed = typename AnyJson::number_integer_t;
    using Unsigned = typename AnyJson::number_unsigned_t;
    auto take = [&](auto number) {
      result = T(number);
      return std::in_range<T>(number);
    };
    bool fits = value.is_number_unsigned()  ? take(*value.template get_ptr<const Unsigned *>())
                : value.is_number_integer() ? take(*value.template get_ptr<const Signed *>())
                                            : false;
    if (!fits)
      throw AnyJson::type_error::create(302, "expected an integer within its range", &value);
  }
};

/// This type keeps the order of its keys. A value that becomes an object or an array by its first [] or push_back
/// is broken where that allocation fails, and its destructor crashes: make values as json::object(),
/// json::array() or from a list.
using json = nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, int64_t, uint64_t, double,
                                  std::allocator, JsonConversion>;

/// Appends a value to the array `object[key]`, which is made where it is missing.
inline void appendTo(json &object, const char *key, json value) {
  object.emplace(key, json::array()).first->push_back(std::move(value));
}

} // namespace mpc::rt
