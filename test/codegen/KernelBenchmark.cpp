//===- KernelBenchmark.cpp - bandwidth of host kernels, against memcpy ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This is not a test. Run it with `ninja mpc-kernel-benchmark && build/bin/mpc-kernel-benchmark [cpu]`. It uses one
// thread and counts the bytes of the operands and results.
//
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"
#include "dialects/Graph/IR/Shapes.h"
#include "mlir/IR/MLIRContext.h"
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>

using namespace mpc;
using namespace mpc::test;

/// Returns the shortest time of many runs, in seconds.
static double bestTime(const std::function<void()> &f) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  auto start = Clock::now();
  for (int i = 0; i < 5 || (std::chrono::duration<double>(Clock::now() - start).count() < 0.3 && i < 100000); ++i) {
    auto t = Clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - t).count());
  }
  return best;
}

static std::string tensor(const std::string &shape, const std::string &t) { return "tensor<" + shape + "x" + t + ">"; }

int main(int argc, char **argv) {
  std::vector<Case> cases;
  for (std::string shape : {"8388608", "65536"})
    for (std::string t : {"f32", "f16", "bf16"}) {
      std::string x = tensor(shape, t), f = tensor(shape, "f32");
      cases.push_back({"relu(a+b) " + x,
                       {x, x},
                       "%a = graph.add %0, %1 : (" + x + ", " + x + ") -> " + x + "\n%b = graph.relu %a : " + x,
                       {"%b : " + x}});
      if (t != "f32")
        cases.push_back({"cast " + x + " to f32", {x}, "%a = graph.cast %0 : " + x + " to " + f, {"%a : " + f}});
      if (t != "f32")
        cases.push_back({"cast f32 to " + x, {f}, "%a = graph.cast %0 : " + f + " to " + x, {"%a : " + x}});
      for (std::string op : {"exp", "log", "tanh", "sigmoid", "erf", "gelu", "sin"})
        if (t == "f32" && shape == "65536")
          cases.push_back({op + " " + x, {x}, "%a = graph." + op + " %0 : " + x, {"%a : " + x}});
    }
  for (std::string t : {"f32", "f16", "bf16"})
    for (std::string dims : {"32768x64", "2048x512"}) {
      std::string c = dims.substr(dims.find('x') + 1);
      std::string x = tensor(dims, t), xf = tensor(dims, "f32"), y = tensor(c, "f32");
      std::string up = t == "f32" ? "" : "%u = graph.cast %0 : " + x + " to " + xf + "\n", u = t == "f32" ? "%0" : "%u";
      cases.push_back(
          {"BN mean " + x,
           {x},
           up + "%s = graph.reduce_sum " + u + " {axes = array<i64: 0>, keepdims = false} : (" + xf + ") -> " + y,
           {"%s : " + y}});
      cases.push_back({"BN variance " + x,
                       {x, y},
                       up + "%d = graph.sub " + u + ", %1 : (" + xf + ", " + y + ") -> " + xf +
                           "\n%q = graph.mul %d, %d : (" + xf + ", " + xf + ") -> " + xf +
                           "\n%s = graph.reduce_sum %q {axes = array<i64: 0>, keepdims = false} : (" + xf + ") -> " + y,
                       {"%s : " + y}});
      cases.push_back({"BN normalize+relu " + x,
                       {x, y, y, y},
                       up + "%d = graph.sub " + u + ", %1 : (" + xf + ", " + y + ") -> " + xf +
                           "\n%q = graph.mul %d, %2 : (" + xf + ", " + y + ") -> " + xf +
                           "\n%s = graph.add %q, %3 : (" + xf + ", " + y + ") -> " + xf +
                           "\n%c = graph.cast %s : " + xf + " to " + x + "\n%r = graph.relu %c : " + x,
                       {"%r : " + x}});
    }
  std::string w = "tensor<1048576xf32>", h = "tensor<1048576xf16>", one = "tensor<f32>", flag = "tensor<i1>";
  cases.push_back({"SGD momentum, f16 copy, found_inf",
                   {w, w, w, one, flag},
                   "%m9 = graph.constant dense<0.9> : tensor<f32>\n%a = graph.mul %1, %m9 : (" + w + ", " + one +
                       ") -> " + w + "\n%m = graph.add %a, %2 : (" + w + ", " + w + ") -> " + w +
                       "\n%s = graph.mul %m, %3 : (" + w + ", " + one + ") -> " + w + "\n%n = graph.sub %0, %s : (" +
                       w + ", " + w + ") -> " + w + "\n%mm = graph.select %4, %1, %m : (" + flag + ", " + w + ", " + w +
                       ") -> " + w + "\n%ww = graph.select %4, %0, %n : (" + flag + ", " + w + ", " + w + ") -> " + w +
                       "\n%c = graph.cast %ww : " + w + " to " + h,
                   {"%ww : " + w, "%mm : " + w, "%c : " + h},
                   0,
                   0,
                   {},
                   {0, 1, -1}});
  for (std::string s : {"128x10", "128x1000", "1024x4096"}) {
    std::string x = tensor(s, "f32"), r = "tensor<" + s.substr(0, s.find('x')) + "x1xf32>",
                attrs = " {axes = array<i64: 1>, keepdims = true} : (" + x + ") -> " + r;
    cases.push_back({"softmax " + x,
                     {x},
                     "%m = graph.reduce_max %0" + attrs + "\n%d = graph.sub %0, %m : (" + x + ", " + r + ") -> " + x +
                         "\n%e = graph.exp %d : " + x + "\n%s = graph.reduce_sum %e" + attrs +
                         "\n%y = graph.div %e, %s : (" + x + ", " + r + ") -> " + x,
                     {"%y : " + x}});
  }
  std::string p = "tensor<32x32x32x64xf32>", q = "tensor<32x16x16x64xf32>", qi = "tensor<32x16x16x64xi16>";
  std::string window = " {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low "
                       "= array<i64: 0, 0>, pad_high = array<i64: 0, 0>, layout = #graph<layout channels_last>} : ";
  cases.push_back({"max_pool 2x2 NHWC",
                   {p},
                   "%y, %i = graph.max_pool %0" + window + "(" + p + ") -> (" + q + ", " + qi + ")",
                   {"%y : " + q, "%i : " + qi}});
  cases.push_back({"max_pool_grad 2x2 NHWC",
                   {q, qi},
                   "%y = graph.max_pool_grad %0, %1" + window + "(" + q + ", " + qi + ") -> " + p,
                   {"%y : " + p}});
  std::string pc = "tensor<32x64x32x32xf32>", qc = "tensor<32x64x16x16xf32>", qci = "tensor<32x64x16x16xi16>";
  std::string windowC = " {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, "
                        "pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>} : ";
  cases.push_back({"max_pool 2x2 NCHW",
                   {pc},
                   "%y, %i = graph.max_pool %0" + windowC + "(" + pc + ") -> (" + qc + ", " + qci + ")",
                   {"%y : " + qc, "%i : " + qci}});
  cases.push_back({"max_pool_grad 2x2 NCHW",
                   {qc, qci},
                   "%y = graph.max_pool_grad %0, %1" + windowC + "(" + qc + ", " + qci + ") -> " + pc,
                   {"%y : " + pc}});
  cases.push_back({"transpose NCHW to NHWC",
                   {pc},
                   "%y = graph.transpose %0 {permutation = array<i64: 0, 2, 3, 1>} : (" + pc + ") -> " + p,
                   {"%y : " + p}});
  std::string dx = tensor("1048576", "f32"), i64 = "tensor<i64>";
  cases.push_back({"dropout 1M",
                   {dx, i64, i64},
                   "%y = graph.dropout %0, %1, %2 {ratio = 0.5 : f64, salt = 1 : i64} : (" + dx + ", " + i64 + ", " +
                       i64 + ") -> " + dx,
                   {"%y : " + dx}});
  cases.push_back(
      {"sum 1M to 64",
       {"tensor<64x16384xf32>"},
       "%y = graph.reduce_sum %0 {axes = array<i64: 1>, keepdims = false} : (tensor<64x16384xf32>) -> tensor<64xf32>",
       {"%y : tensor<64xf32>"}});
  cases.push_back({"any is_nonfinite 1M f16",
                   {"tensor<64x16384xf16>"},
                   "%n = graph.is_nonfinite %0 : (tensor<64x16384xf16>) -> tensor<64x16384xi1>\n%y = graph.reduce_any "
                   "%n {axes = array<i64: 1>, keepdims = false} : (tensor<64x16384xi1>) -> tensor<64xi1>",
                   {"%y : tensor<64xi1>"}});

  auto context = makeContext();
  Kernels codegen(context.get());
  struct Item {
    Case c;
    mlir::OwningOpRef<mlir::ModuleOp> module;
    kernel::LaunchAttr kernel;
  };
  std::vector<Item> items;
  auto start = std::chrono::steady_clock::now();
  for (const Case &c : cases) {
    auto module = parseCase(context.get(), c);
    auto kernel = codegen.add(dispatchOf(*module));
    if (failed(kernel))
      return 1;
    items.push_back({c, std::move(module), *kernel});
  }
  double added = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  HostCpu cpu{argc > 1 ? argv[1] : "x86-64-v4"};
  std::clock_t cpuStart = std::clock();
  auto objects = codegen.compile(cpu, /*threads=*/1);
  std::printf("%.0f ms of CPU time\n", double(std::clock() - cpuStart) * 1e3 / CLOCKS_PER_SEC);
  if (failed(objects))
    return 1;
  double emitted = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() - added;
  std::printf("%zu kernels: emitted in %.0f ms, compiled for %s in %.0f ms, %zu bytes\n", codegen.size(), added * 1e3,
              cpu.name.c_str(), emitted * 1e3, objects->front().bytes.size());
  Library library(objects->front().bytes);
  std::map<size_t, double> copySpeed;
  auto memcpySpeed = [&](size_t bytes) {
    double &speed = copySpeed[bytes];
    if (speed == 0) {
      std::vector<char> a(bytes, 1), b(bytes, 2);
      speed = 2 * bytes / bestTime([&] { std::memcpy(b.data(), a.data(), bytes); });
    }
    return speed;
  };
  for (Item &item : items) {
    kernel::DispatchOp dispatch = dispatchOf(*item.module);
    std::mt19937_64 random(1);
    std::vector<Memory> memories;
    std::vector<void *> pointers;
    size_t bytes = 0;
    auto size = [](mlir::Value v) {
      mlir::Type e = graph::elementOf(v);
      return graph::typeOf(v).getNumElements() * (e.isInteger(1) ? 1 : e.getIntOrFloatBitWidth() / 8);
    };
    for (mlir::Value v : dispatch.getInputs()) {
      Draw how;
      how.low = 0, how.high = 2;
      memories.emplace_back(draw(graph::typeOf(v), how, random));
      bytes += size(v);
    }
    for (auto [r, v] : llvm::enumerate(dispatch.getResults())) {
      memories.emplace_back(graph::typeOf(v));
      bytes += size(v);
    }
    for (Memory &m : memories)
      pointers.push_back(m.data());
    std::string symbol = item.kernel.getKernel().getLeafReference().str();
    int64_t grid = item.kernel.getGrid().front();
    mpc_kernel_fn kernel = library.find(symbol);
    double t = bestTime([&] { kernel(pointers.data(), 0, grid); });
    double speed = bytes / t;
    std::printf("%-52s %9.1f us %7.2f GB/s %5.0f%% of memcpy  grid %lld grain %lld %s\n", item.c.name.c_str(), t * 1e6,
                speed / 1e9, 100 * speed / memcpySpeed(bytes / 2), (long long)grid, (long long)item.kernel.getGrain(),
                symbol.c_str());
  }
}
