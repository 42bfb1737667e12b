// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EmulatorHarness.h"
#include "compiler/Codegen/EmulatorCodegen.h"
#include "compiler/Codegen/HostCodegen.h"
#include "mlir/Parser/Parser.h"

using namespace mpc;
using namespace mpc::test;
using namespace mpc::rt::emulator;

static mlir::MLIRContext &context() {
  static mlir::MLIRContext *context = [] {
    mlir::DialectRegistry registry;
    registerHostDialects(registry);
    return new mlir::MLIRContext(registry);
  }();
  return *context;
}

static rt::Threads &threads() {
  static rt::Threads threads(2);
  return threads;
}

std::string mpc::test::kernelText(int threads, int buffers, const std::string &body) {
  std::string parameters;
  for (int i = 0; i < buffers; ++i)
    parameters += (i ? ", %b" : "%b") + std::to_string(i) + ": !llvm.ptr<1>";
  return "llvm.func @k(" + parameters +
         ") attributes {kernel.entry = #kernel.entry<threads = " + std::to_string(threads) + ">} {\n" + body +
         "\nllvm.return\n}\n";
}

std::string mpc::test::withEntry(std::string text, const std::string &fields) {
  size_t end = text.find(">} {\n");
  return text.insert(end, ", " + fields);
}

const char *const mpc::test::blockReduction = R"(
  %t = kernel.thread_id
  %block = kernel.block_id x
  %n = llvm.mlir.constant(128 : i32) : i32
  %c32 = llvm.mlir.constant(32 : i32) : i32
  %c4 = llvm.mlir.constant(4 : i32) : i32
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %zero = llvm.mlir.constant(0.0 : f32) : f32
  %first = llvm.mul %block, %n : i32
  %i = llvm.add %first, %t : i32
  %p = llvm.getelementptr %b0[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %x = llvm.load %p : !llvm.ptr<1> -> f32
  %lane = llvm.urem %t, %c32 : i32
  %warp = llvm.udiv %t, %c32 : i32
  %lo = arith.constant 0 : index
  %hi = arith.constant 5 : index
  %one = arith.constant 1 : index
  %s = scf.for %j = %lo to %hi step %one iter_args(%v = %x) -> (f32) {
    %j32 = arith.index_cast %j : index to i32
    %c16 = arith.constant 16 : i32
    %d = arith.shrui %c16, %j32 : i32
    %o = kernel.shuffle xor %v, %d : f32
    %sum = arith.addf %v, %o : f32
    scf.yield %sum : f32
  }
  %partial = kernel.shared 16
  %isFirst = llvm.icmp "eq" %lane, %c0 : i32
  scf.if %isFirst {
    %q = llvm.getelementptr %partial[%warp] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    llvm.store %s, %q : f32, !llvm.ptr<3>
  }
  kernel.barrier
  %inWarp0 = llvm.icmp "ult" %t, %c32 : i32
  scf.if %inWarp0 {
    %below4 = llvm.icmp "ult" %t, %c4 : i32
    %w = scf.if %below4 -> (f32) {
      %q = llvm.getelementptr %partial[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %v = llvm.load %q : !llvm.ptr<3> -> f32
      scf.yield %v : f32
    } else {
      scf.yield %zero : f32
    }
    %c2 = arith.constant 2 : i32
    %c1 = arith.constant 1 : i32
    %w2 = kernel.shuffle down %w, %c2 : f32
    %w3 = arith.addf %w, %w2 : f32
    %w4 = kernel.shuffle down %w3, %c1 : f32
    %w5 = arith.addf %w3, %w4 : f32
    %isZero = llvm.icmp "eq" %t, %c0 : i32
    scf.if %isZero {
      %q = llvm.getelementptr %b1[%block] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      llvm.store %w5, %q : f32, !llvm.ptr<1>
    }
  })";

EmulatedKernel::EmulatedKernel(const std::string &text) {
  auto parsed = mlir::parseSourceString<mlir::ModuleOp>(text, &context());
  if (!parsed) {
    ADD_FAILURE() << text;
    return;
  }
  auto object = emitEmulatorObject(*parsed);
  if (failed(object)) {
    ADD_FAILURE() << text;
    return;
  }
  module.emplace(*object, "test");
  found = &module->find("k");
}

/// Holds copies of buffers in separate allocations, each aligned to 64 bytes as the arena's buffers are.
namespace {
struct Aligned {
  explicit Aligned(const std::vector<char> &bytes)
      : data(static_cast<char *>(std::aligned_alloc(64, (bytes.size() + 64) / 64 * 64)), std::free) {
    std::copy(bytes.begin(), bytes.end(), data.get());
  }
  std::unique_ptr<char, void (*)(void *)> data;
};
} // namespace

std::optional<rt::Error> EmulatedKernel::launch(uint64_t seed, Grid grid, std::vector<std::vector<char>> &buffers,
                                                bool readOnly) {
  if (!found)
    return rt::Error("test", "no kernel");
  std::vector<Aligned> copies(buffers.begin(), buffers.end());
  std::vector<Buffer> arguments;
  for (size_t i = 0; i < buffers.size(); ++i)
    arguments.push_back({copies[i].data.get(), buffers[i].size(), !readOnly});
  Emulator emulator(threads(), seed);
  auto error = rt::attempt([&] { emulator.launch(*found, grid, arguments, "test"); });
  for (size_t i = 0; i < buffers.size(); ++i)
    std::copy_n(copies[i].data.get(), buffers[i].size(), buffers[i].begin());
  return error;
}

void EmulatedKernel::runBytes(Grid grid, std::vector<std::vector<char>> &buffers) {
  std::vector<std::vector<char>> first;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    std::vector<std::vector<char>> copy = buffers;
    auto error = launch(seed, grid, copy);
    ASSERT_FALSE(error) << "seed " << seed << ": " << error->text();
    if (seed == 0)
      first = copy;
    ASSERT_EQ(copy, first) << "seed " << seed;
  }
  buffers = first;
}

std::string EmulatedKernel::faultBytes(Fault expected, Grid grid, const std::vector<std::vector<char>> &buffers) {
  std::string message;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    std::vector<std::vector<char>> copy = buffers;
    auto error = launch(seed, grid, copy);
    EXPECT_TRUE(error) << "nothing found with seed " << seed;
    if (!error)
      continue;
    if (expected != Fault::None) {
      EXPECT_NE(error->text().find(nameOf(expected)), std::string::npos) << "seed " << seed << ": " << error->text();
    }
    if (seed == 0)
      message = error->text();
  }
  return message;
}
