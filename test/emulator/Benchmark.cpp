// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Measures how fast the emulator is per core: GPU threads, and matrix products of warps, per second.
#include "HopperHarness.h"
#include <algorithm>
#include <cstdio>
#include <ctime>

using namespace mpc::test;
using namespace mpc::rt;

/// Each warp multiplies 16 x 8 tiles 64 times; each product starts from the sums of the one before.
static const char *products = R"(
  %zero = llvm.mlir.constant(0.0 : f32) : f32
  %one = llvm.mlir.constant(1006648320 : i32) : i32
  %lo = arith.constant 0 : index
  %hi = arith.constant 64 : index
  %step = arith.constant 1 : index
  %d:4 = scf.for %j = %lo to %hi step %step iter_args(%c0 = %zero, %c1 = %zero, %c2 = %zero, %c3 = %zero) -> (f32, f32, f32, f32) {
    %e:4 = kernel.mma f16 16 (%one, %one, %one, %one) (%one, %one) (%c0, %c1, %c2, %c3)
    scf.yield %e#0, %e#1, %e#2, %e#3 : f32, f32, f32, f32
  }
  %t = kernel.thread_id
  %p = llvm.getelementptr %b0[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  llvm.store %d#0, %p : f32, !llvm.ptr<1>)";

/// One warpgroup multiplies two stages of 64 x 64 and 64 x n tiles 64 times, 64 x n x 64 each time.
static std::string wgmmas(int n) {
  int sums = n / 2;
  TileLayout layout = {3, 0, 1024, false};
  std::string body = "%t = kernel.thread_id\n%zero = llvm.mlir.constant(0.0 : f32) : f32\n%sa = "
                     "kernel.shared 8192 {alignment = 1024 : i64}\n%sb = kernel.shared " +
                     std::to_string(n * 128) + " {alignment = 1024 : i64}\n" + copyIn(0, "%sa", 8192, "a") +
                     copyIn(0, "%sb", n * 128, "b") +
                     "kernel.async_fence\nkernel.barrier\n%lo = arith.constant 0 : index\n%hi = "
                     "arith.constant 64 : index\n%step = arith.constant 1 : index\n" +
                     "%r:" + std::to_string(sums) + " = scf.for %j = %lo to %hi step %step iter_args(";
  for (int i = 0; i < sums; ++i)
    body += (i ? ", %acc_" : "%acc_") + std::to_string(i) + " = %zero";
  body += ") -> (" + typeList("f32", sums) + ") {\nkernel.wgmma_fence\n";
  for (int k = 0; k < 4; ++k) {
    std::string before;
    for (int i = 0; i < sums; ++i)
      before += (i ? ", %acc_" : "%acc_") + std::to_string(i);
    std::string number = std::to_string(k), offset = "[" + std::to_string(32 * k) + "] " + layout.text();
    body += "%d" + number + ":" + std::to_string(sums) + " = kernel.wgmma f16 %sa" + offset + ", %sb" + offset + " (" +
            (k ? valueList("d" + std::to_string(k - 1), sums) : before) + ") : " + typeList("f32", sums) + "\n";
  }
  body += "kernel.wgmma_commit\n%e:" + std::to_string(sums) + " = kernel.wgmma_wait 0 (" + valueList("d3", sums) +
          ") : " + typeList("f32", sums) + "\nscf.yield " + valueList("e", sums) + " : " + typeList("f32", sums) +
          "\n}\n" + storeSums("r", sums, 1);
  return kernelText(128, 2, body);
}

/// Returns the seconds of the fastest of five launches on one core.
static double seconds(const std::string &text, uint32_t blocks, std::vector<std::vector<char>> buffers) {
  EmulatedKernel kernel(text);
  Threads threads(1);
  emulator::Emulator emulator(threads);
  std::vector<emulator::Buffer> arguments;
  for (auto &b : buffers)
    arguments.push_back({b.data(), b.size()});
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    std::clock_t begin = std::clock(); // CPU time, since one thread runs and the machine may be shared
    emulator.launch(kernel.kernel(), {blocks}, arguments);
    best = std::min(best, double(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return best;
}

int main() {
  constexpr uint32_t blocks = 2000;
  double reduction = seconds(kernelText(128, 2, blockReduction), blocks,
                             {std::vector<char>(blocks * 512), std::vector<char>(blocks * 4)});
  std::printf("block reduction   %6.2f million threads/s/core\n", blocks * 128 / reduction / 1e6);
  double mma = seconds(kernelText(128, 1, products), 100, {std::vector<char>(512)});
  std::printf("mma m16n8k16 f16  %6.2f million warp products/s/core\n", 100 * 4 * 64 / mma / 1e6);
  for (int n : {64, 128, 256}) {
    double wgmma = seconds(wgmmas(n), 4, {std::vector<char>(n * 128 + 8192), std::vector<char>(64 * n * 4)});
    std::printf("wgmma m64n%dk16 f16  %6.2f GMAC/s/core\n", n, 4.0 * 64 * 64 * n * 64 / wgmma / 1e9);
  }
}
