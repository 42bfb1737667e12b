//===- WindowKernelTest.cpp - pooling, resizing, scatter as kernels ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelHarness.h"
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;

namespace {
std::string tensor(const std::string &shape, const std::string &element) {
  return "tensor<" + shape + "x" + element + ">";
}

struct Window {
  std::string kernel, strides, dilations, low, high, in, out; ///< two dimensions each; in and out are written "HxW"
  std::string flags = {};
  std::string attributes(bool last) const {
    return "kernel = array<i64: " + kernel + ">, strides = array<i64: " + strides +
           ">, dilations = array<i64: " + dilations + ">, pad_low = array<i64: " + low +
           ">, pad_high = array<i64: " + high + ">" + (last ? ", layout = #graph<layout channels_last>" : "");
  }
  std::string shape(const std::string &spatial, bool last) const {
    return last ? "2x" + spatial + "x5" : "2x5x" + spatial;
  }
};
const std::vector<Window> windows = {
    {"2, 2", "2, 2", "1, 1", "0, 0", "0, 0", "8x6", "4x3"},
    {"3, 3", "2, 2", "1, 1", "1, 1", "1, 1", "9x8", "5x4"},
    {"3, 2", "1, 1", "1, 1", "1, 0", "1, 1", "6x7", "6x7"},
    {"2, 3", "3, 1", "2, 2", "0, 2", "1, 2", "9x7", "3x7"},
    {"3, 3", "2, 2", "1, 1", "0, 0", "0, 0", "8x8", "4x4", ", ceil_mode"},
    {"5, 5", "5, 5", "1, 1", "0, 0", "0, 0", "10x10", "2x2"},
    {"7, 3", "1, 2", "1, 1", "0, 1", "0, 1", "7x9", "1x5"},
};
} // namespace

TEST(WindowKernel, MaxPool) {
  Batch batch;
  for (const Window &w : windows)
    for (bool last : {false, true})
      for (std::string t : {"f32", "f16", "bf16", "i32"}) {
        std::string x = tensor(w.shape(w.in, last), t), y = tensor(w.shape(w.out, last), t),
                    i = tensor(w.shape(w.out, last), "i16");
        batch.add({.name = "max_pool " + x,
                   .inputs = {x},
                   .body = "%y, %i = graph.max_pool %0 {" + w.attributes(last) + w.flags + "} : (" + x + ") -> (" + y +
                           ", " + i + ")",
                   .yields = {"%y : " + y, "%i : " + i},
                   .draws = {{-4, 4, t[0] != 'i'}}});
        if (t[0] == 'i')
          continue;
        int64_t positions = 1;
        for (size_t at = 0; at != std::string::npos; at = w.kernel.find(' ', at + 1))
          positions *= std::atoi(w.kernel.c_str() + at);
        batch.add(
            {.name = "max_pool_grad " + x,
             .inputs = {y, i},
             .body = "%x = graph.max_pool_grad %0, %1 {" + w.attributes(last) + "} : (" + y + ", " + i + ") -> " + x,
             .yields = {"%x : " + x},
             .ulps = 1,
             .absolute = 1e-6,
             .draws = {{-4, 4}, {0, double(positions - 1)}}});
      }
  batch.run();
}

TEST(WindowKernel, AvgPool) {
  Batch batch;
  for (const Window &w : windows)
    for (bool last : {false, true})
      for (std::string include : {"", ", count_include_pad"})
        for (std::string t : {"f32", "f16", "f64"}) {
          std::string x = tensor(w.shape(w.in, last), t), y = tensor(w.shape(w.out, last), t),
                      attrs = " {" + w.attributes(last) + include + w.flags + "} : (";
          // The bound is the rounding of up to 25 additions of numbers below 4 * 25, before the division.
          batch.add({.name = "avg_pool " + x,
                     .inputs = {x},
                     .body = "%y = graph.avg_pool %0" + attrs + x + ") -> " + y,
                     .yields = {"%y : " + y},
                     .ulps = 1,
                     .absolute = 4e-6});
          batch.add({.name = "avg_pool_grad " + x,
                     .inputs = {y},
                     .body = "%x = graph.avg_pool_grad %0" + attrs + y + ") -> " + x,
                     .yields = {"%x : " + x},
                     .ulps = 1,
                     .absolute = 4e-6});
        }
  batch.run();
}

TEST(WindowKernel, Depthwise) {
  Batch batch;
  for (const Window &w : windows)
    for (bool last : {false, true})
      for (std::string t : {"f32", "f16", "bf16", "f64"}) {
        if (!w.flags.empty()) // ceil_mode is one of pools
          continue;
        std::string kernel = w.kernel;
        kernel.replace(kernel.find(", "), 2, "x");
        std::string x = tensor(w.shape(w.in, last), t), y = tensor(w.shape(w.out, last), t),
                    k = tensor(kernel + "x5", t), attrs = " {" + w.attributes(last) + "} : (";
        // The bound is the rounding of up to 25 additions of numbers below 16 * 25.
        batch.add({.name = "depthwise_conv " + x,
                   .inputs = {x, k},
                   .body = "%y = graph.depthwise_conv %0, %1" + attrs + x + ", " + k + ") -> " + y,
                   .yields = {"%y : " + y},
                   .ulps = 1,
                   .absolute = 4e-5});
        batch.add({.name = "depthwise_input_grad " + x,
                   .inputs = {y, k},
                   .body = "%x = graph.depthwise_input_grad %0, %1" + attrs + y + ", " + k + ") -> " + x,
                   .yields = {"%x : " + x},
                   .ulps = 1,
                   .absolute = 4e-5});
      }
  batch.run();
}

TEST(WindowKernel, Resize) {
  struct Resize {
    std::string in, out, attributes;
  };
  const std::vector<Resize> cases = {
      {"2x3x4x5", "2x3x8x10",
       "mode = #graph<resize_mode nearest>, scales = array<f64: 1.0, 1.0, 0.5, 0.5>, offsets = array<f64: 0.0, 0.0, "
       "0.0, 0.0>"},
      {"2x3x4x5", "2x3x8x10",
       "mode = #graph<resize_mode linear>, scales = array<f64: 1.0, 1.0, 0.5, 0.5>, offsets = array<f64: 0.0, 0.0, "
       "-0.25, -0.25>"},
      {"2x3x9x7", "2x3x4x5",
       "mode = #graph<resize_mode linear>, scales = array<f64: 1.0, 1.0, 2.25, 1.4>, offsets = array<f64: 0.0, 0.0, "
       "0.625, 0.2>"},
      {"2x6x5x3", "2x3x7x3",
       "mode = #graph<resize_mode nearest>, scales = array<f64: 1.0, 2.0, 0.7142857, 1.0>, offsets = array<f64: 0.0, "
       "0.5, -0.14, 0.0>, nearest_bias = -0.5 : f64, nearest_ceil"},
      {"2x3x2x2", "2x3x14x2",
       "mode = #graph<resize_mode linear>, scales = array<f64: 1.0, 1.0, 0.0769230769, 1.0>, offsets = array<f64: 0.0, "
       "0.0, 0.0, 0.0>"},
  };
  Batch batch;
  for (const Resize &r : cases)
    for (std::string t : {"f32", "f16", "f64"}) {
      std::string x = tensor(r.in, t), y = tensor(r.out, t);
      batch.add({.name = "resize " + x,
                 .inputs = {x},
                 .body = "%y = graph.resize %0 {" + r.attributes + "} : (" + x + ") -> " + y,
                 .yields = {"%y : " + y},
                 .ulps = 1,
                 .absolute = 2e-6});
      batch.add({.name = "resize_grad " + x,
                 .inputs = {y},
                 .body = "%x = graph.resize_grad %0 {" + r.attributes + "} : (" + y + ") -> " + x,
                 .yields = {"%x : " + x},
                 .ulps = 1,
                 .absolute = 6e-6});
    }
  batch.run();
}

TEST(WindowKernel, Scatter) {
  Batch batch;
  for (std::string t : {"f32", "f64", "i64", "i8", "ui8"})
    for (std::string mode : {"add", "multiply", "max", "min"})
      for (auto [to, from, axis] : {std::tuple<std::string, std::string, std::string>{"20x100", "3x7x100", "0"},
                                    {"4x6x10", "4x3x7x10", "1"},
                                    {"5x9", "5x3x7", "1"}}) {
        const bool isFloat = t[0] == 'f';
        std::string x = tensor(to, t), y = tensor(from, t), i = "tensor<3x7xi64>";
        int64_t n = axis == "0" ? 20 : to == "5x9" ? 9 : 6;
        batch.add({.name = "scatter " + mode + " " + x,
                   .inputs = {y, i},
                   .body = "%x = graph.scatter %0, %1 {axis = " + axis + " : i64, mode = #graph<scatter_mode " + mode +
                           ">} : (" + y + ", " + i + ") -> " + x,
                   .yields = {"%x : " + x},
                   .ulps = isFloat ? (mode == "multiply" ? 20.0 : 1.0) : 0.0,
                   .absolute = isFloat ? 5e-6 : 0.0,
                   .draws = {{isFloat      ? -4.0
                              : t == "ui8" ? 0.0
                                           : -2.0,
                              isFloat ? 4.0 : 2.0},
                             {double(-n), double(n - 1)}},
                   .form = kernel::Form::Scatter});
      }
  batch.run();
}
