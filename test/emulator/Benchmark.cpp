// How fast the emulator is, per core: GPU threads and matrix products of warps per second.
#include "EmulatorHarness.h"
#include <algorithm>
#include <cstdio>
#include <ctime>

using namespace mpc::test;
using namespace mpc::rt;

/// Each warp multiplies 16 x 8 tiles 64 times, the results of one being the sums of the next.
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

/// Seconds of the fastest of five launches on one core.
static double seconds(const std::string &text, uint32_t blocks, std::vector<std::vector<char>> buffers) {
  EmulatedKernel kernel(text);
  Threads threads(1);
  emulator::Emulator emulator(threads);
  std::vector<emulator::Buffer> arguments;
  for (auto &b : buffers)
    arguments.push_back({b.data(), b.size()});
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    std::clock_t begin = std::clock(); // CPU time: one thread runs, and the machine may be shared
    emulator.launch(kernel.kernel(), {blocks}, arguments);
    best = std::min(best, double(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return best;
}

int main() {
  constexpr uint32_t blocks = 2000;
  double reduction = seconds(kernelText(128, 2, blockReduction), blocks, {std::vector<char>(blocks * 512), std::vector<char>(blocks * 4)});
  std::printf("block reduction   %6.2f million threads/s/core\n", blocks * 128 / reduction / 1e6);
  double mma = seconds(kernelText(128, 1, products), 100, {std::vector<char>(512)});
  std::printf("mma m16n8k16 f16  %6.2f million warp products/s/core\n", 100 * 4 * 64 / mma / 1e6);
}
