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
    HostCodegen::registerDialects(registry);
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
  return "llvm.func @k(" + parameters + ") attributes {kernel.threads = " + std::to_string(threads) + " : i32} {\n" + body + "\nllvm.return\n}\n";
}

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

/// 64-byte aligned copies, as the arena's buffers are, with nothing of each other's in between.
namespace {
struct Aligned {
  explicit Aligned(const std::vector<char> &bytes)
      : data(static_cast<char *>(std::aligned_alloc(64, (bytes.size() + 64) / 64 * 64)), std::free) {
    std::copy(bytes.begin(), bytes.end(), data.get());
  }
  std::unique_ptr<char, void (*)(void *)> data;
};
} // namespace

std::optional<rt::Error> EmulatedKernel::launch(uint64_t seed, Grid grid, std::vector<std::vector<char>> &buffers, bool readOnly) {
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
    EXPECT_EQ(std::string(error->what()).find(nameOf(expected)) != std::string::npos, true) << "seed " << seed << ": " << error->text();
    if (seed == 0)
      message = error->text();
  }
  return message;
}
