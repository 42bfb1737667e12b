//===- Providers.h - The library providers under test -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TEST_RUNTIME_LIBRARY_PROVIDERS_H
#define MPC_TEST_RUNTIME_LIBRARY_PROVIDERS_H

#include "Primitive.h"
#include "Reference.h"

#include <ostream>

namespace mpc::test {

struct Provider {
  const char *name;
  const mpc_library *(*open)(int threads); // returns null on failure
};
inline std::ostream &operator<<(std::ostream &os, const Provider &p) { return os << p.name; }

/// Returns the generic provider, and oneDNN where it was built.
std::vector<Provider> providers();

/// A provider that makes every primitive with `Make`, for `Threads` threads, whatever is faster.
template <std::unique_ptr<generic::Primitive> (*Make)(const mpc_library_desc &, int), int Threads>
const mpc_library *libraryOf() {
  static constexpr auto unwrap = [](const mpc_library_primitive *p) {
    return reinterpret_cast<generic::Primitive *>(const_cast<mpc_library_primitive *>(p));
  };
  static const mpc_library library = {
      MPC_LIBRARY_ABI,
      "one method",
      [](const mpc_library_desc *desc, char *, size_t) {
        return reinterpret_cast<mpc_library_primitive *>(Make(*desc, Threads).release());
      },
      [](const mpc_library_primitive *p) { return unwrap(p)->scratchBytes(); },
      [](mpc_library_primitive *p, void *const *buffers, void *scratch) { unwrap(p)->execute(buffers, scratch); },
      [](mpc_library_primitive *p) { delete unwrap(p); },
      [](const mpc_library_primitive *p) { return unwrap(p)->implementation(); }};
  return &library;
}

/// A primitive with guarded buffers that are filled from a seed.
class Problem {
public:
  /// Throws std::runtime_error with the provider's message when the provider refuses the description.
  Problem(const mpc_library *library, const Desc &desc, uint64_t seed);
  ~Problem();
  Problem(const Problem &) = delete;
  Problem &operator=(const Problem &) = delete;

  /// Overwrites element `index` of an operand (0: a, 1: b) by a representable value.
  void set(int operand, int64_t index, double value);
  void fill(int operand, double value);
  /// Runs the primitive into a result full of NaN. The addend has a buffer of its own unless `inPlace`.
  /// `fill` is what the scratch holds before.
  void run(bool inPlace = false, unsigned char fill = 0xff);

  const std::vector<char> &result() const { return out; }
  double at(int64_t index) const { return decode(desc.type_out, out.data(), index); }
  /// Returns an empty string when every element is within the error bound of the contract, else the first
  /// that is not.
  std::string check() const;
  /// Returns an empty string when the guards around the scratch and the result, and all inputs, are untouched.
  std::string integrity() const { return damage; }
  std::string implementation() const { return library->implementation(primitive); }

private:
  Desc desc;
  const mpc_library *library;
  mpc_library_primitive *primitive;
  std::vector<char> operands[4]; // a, b, bias, addend
  std::vector<char> out;
  std::string damage;
};

} // namespace mpc::test

#endif
