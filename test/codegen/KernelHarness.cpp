// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelHarness.h"
#include "EmulatedDispatches.h"
#include "compiler/Evaluator/Evaluator.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Analysis/Form.h"
#include "dialects/Kernel/Analysis/Reuse.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

//===-- Memory ------------------------------------------------------------------------===//

static unsigned bytesOfElement(Type element) { return element.isInteger(1) ? 1 : element.getIntOrFloatBitWidth() / 8; }
constexpr size_t guardBytes = 256;
constexpr char guard = 0x5A;

Memory::Memory(RankedTensorType type)
    : type(type), bytes(type.getNumElements() * bytesOfElement(type.getElementType())) {
  storage = std::shared_ptr<char>(static_cast<char *>(std::aligned_alloc(64, (bytes + guardBytes + 63) / 64 * 64)),
                                  std::free);
  base = storage.get();
  std::memset(base, guard, bytes + guardBytes);
}
Memory::Memory(const HostTensor &tensor) : Memory(tensor.type()) {
  for (size_t i = 0; i < tensor.values.size(); ++i)
    set(i, tensor.values[i]);
}
Memory Memory::as(RankedTensorType other) const {
  Memory view = *this;
  view.type = other;
  return view;
}
bool Memory::guardIntact() const {
  return std::all_of(base + bytes, base + bytes + guardBytes, [](char c) { return c == guard; });
}
void Memory::set(size_t i, double v) {
  Type element = type.getElementType();
  unsigned size = bytesOfElement(element);
  uint64_t bits;
  if (auto floatType = dyn_cast<FloatType>(element)) {
    APFloat f(v);
    bool inexact;
    f.convert(floatType.getFloatSemantics(), APFloat::rmNearestTiesToEven, &inexact);
    bits = f.bitcastToAPInt().getZExtValue();
  } else {
    bits = element.isUnsignedInteger() ? uint64_t(v) : uint64_t(int64_t(v));
  }
  std::memcpy(base + i * size, &bits, size);
}
HostTensor Memory::read() const {
  HostTensor tensor(type);
  Type element = type.getElementType();
  unsigned size = bytesOfElement(element);
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, base + i * size, size);
    if (auto floatType = dyn_cast<FloatType>(element)) {
      APFloat f(floatType.getFloatSemantics(), APInt(size * 8, bits));
      bool inexact;
      f.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
      tensor.values[i] = f.convertToDouble();
    } else if (element.isUnsignedInteger() || element.isInteger(1)) {
      tensor.values[i] = double(bits);
    } else {
      tensor.values[i] = double(int64_t(bits << (64 - 8 * size)) >> (64 - 8 * size));
    }
  }
  return tensor;
}

//===-- Numbers ------------------------------------------------------------------------===//

double mpc::test::ulpDistance(Type element, double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b)))
    return 0;
  auto floatType = dyn_cast<FloatType>(element);
  if (!floatType || std::isnan(a) || std::isnan(b) || std::isinf(a) || std::isinf(b))
    return std::numeric_limits<double>::infinity();
  const llvm::fltSemantics &s = floatType.getFloatSemantics();
  int precision = llvm::APFloat::semanticsPrecision(s), least = llvm::APFloat::semanticsMinExponent(s);
  int exponent = b == 0 ? least : std::max(std::ilogb(b), least);
  return std::abs(a - b) / std::ldexp(1.0, exponent - precision + 1);
}

HostTensor mpc::test::draw(RankedTensorType type, const Draw &how, std::mt19937_64 &random) {
  HostTensor tensor(type);
  Type element = type.getElementType();
  bool isFloat = isa<FloatType>(element);
  const double specials[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-40, 6e-8, -6e-8, 65520, -3.4e38};
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    double &v = tensor.values[i];
    if (isFloat)
      v = how.specials && i % 7 == 3 ? specials[i / 7 % std::size(specials)]
                                     : std::uniform_real_distribution<double>(how.low, how.high)(random);
    else if (element.isInteger(1))
      v = random() & 1;
    else
      v = double(std::uniform_int_distribution<int64_t>(
          element.isUnsignedInteger() ? std::max<int64_t>(0, how.low) : how.low, how.high)(random));
  }
  tensor.round();
  return tensor;
}

//===-- Compilation ---------------------------------------------------------------------===//

std::unique_ptr<MLIRContext> mpc::test::makeContext() {
  DialectRegistry registry;
  registry.insert<func::FuncDialect>();
  registerHostDialects(registry);
  registerEvaluatorModels(registry);
  auto context = std::make_unique<MLIRContext>(registry);
  context->loadAllAvailableDialects(); // also the dialects that kernels are lowered to
  return context;
}

static void setForm(ModuleOp module) {
  kernel::DispatchOp dispatch = dispatchOf(module);
  FailureOr<kernel::Form> form = kernel::formOf(dispatch);
  ASSERT_TRUE(succeeded(form)) << dispatch.getName().str();
  dispatch.setForm(*form);
  EXPECT_TRUE(succeeded(verify(module))) << dispatch.getName().str();
}

OwningOpRef<ModuleOp> mpc::test::parseCase(MLIRContext *context, const Case &c) {
  auto join = [](const std::vector<std::string> &parts) {
    std::string text;
    for (const std::string &p : parts)
      text += (text.empty() ? "" : ", ") + p;
    return text;
  };
  std::vector<std::string> arguments, blockArguments, names, resultTypes, resultNames;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    arguments.push_back("%i" + std::to_string(i) + ": " + c.inputs[i]);
    names.push_back("%i" + std::to_string(i));
    blockArguments.push_back("%" + std::to_string(i) + ": " + c.inputs[i]);
  }
  for (const std::string &y : c.yields) {
    resultNames.push_back(y.substr(0, y.find(" :")));
    resultTypes.push_back(y.substr(y.find(": ") + 2));
  }
  std::vector<std::string> places;
  for (int64_t p : c.inPlace)
    places.push_back(std::to_string(p));
  std::string text = "func.func @f(" + join(arguments) + ") {\n%r:" + std::to_string(resultTypes.size()) +
                     " = kernel.dispatch pointwise \"" + c.name + "\" (" + join(names) + ") " +
                     (places.empty() ? "" : "{in_place = array<i64: " + join(places) + ">} ") + ": (" + join(c.inputs) +
                     ") -> (" + join(resultTypes) + ") {\n" +
                     (blockArguments.empty() ? "" : "^bb0(" + join(blockArguments) + "):\n") + c.body +
                     "\nkernel.yield " + join(resultNames) + " : " + join(resultTypes) + "\n}\nreturn\n}\n";
  // The text states some form; only the body says which one is right.
  auto module = parseSourceString<ModuleOp>(text, ParserConfig(context, /*verifyAfterParse=*/false));
  EXPECT_TRUE(module) << c.name << "\n" << text;
  if (module)
    setForm(*module);
  return module;
}

void mpc::test::setTarget(ModuleOp module, StringRef arch) {
  module->setAttr(kernel::TargetAttr::name, kernel::TargetAttr::get(module.getContext(), arch));
  setForm(module);
}

kernel::DispatchOp mpc::test::dispatchOf(ModuleOp module) {
  kernel::DispatchOp found;
  module.walk([&](kernel::DispatchOp op) { found = op; });
  return found;
}

Library::Library(const std::string &bytes) {
  int fd = memfd_create("kernels", 0);
  EXPECT_EQ(write(fd, bytes.data(), bytes.size()), ssize_t(bytes.size()));
  handle = dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW);
  EXPECT_TRUE(handle) << dlerror();
  close(fd);
}
Library::~Library() {
  if (handle)
    dlclose(handle);
}
mpc_kernel_fn Library::find(const std::string &symbol) const {
  auto function = handle ? reinterpret_cast<mpc_kernel_fn>(dlsym(handle, symbol.c_str())) : nullptr;
  EXPECT_TRUE(function) << symbol;
  return function;
}

std::vector<HostTensor> mpc::test::runKernel(mpc_kernel_fn kernel, kernel::LaunchAttr launch,
                                             kernel::DispatchOp dispatch, ArrayRef<HostTensor> inputs) {
  std::vector<Memory> memories;
  for (const HostTensor &t : inputs)
    memories.emplace_back(t);
  ArrayRef<int64_t> inPlace;
  if (auto places = dispatch->getAttrOfType<DenseI64ArrayAttr>("in_place"))
    inPlace = places.asArrayRef();
  for (auto [r, v] : llvm::enumerate(dispatch.getResults())) {
    if (r < inPlace.size() && inPlace[r] >= 0)
      memories.push_back(memories[inPlace[r]].as(graph::typeOf(v)));
    else
      memories.emplace_back(graph::typeOf(v));
  }
  std::vector<void *> pointers;
  for (const Memory &m : memories)
    pointers.push_back(m.data());
  int64_t grid = launch.getGrid()[0], a = grid / 3, b = grid - grid / 4;
  EXPECT_GE(launch.getGrain(), 1);
  EXPECT_LE(launch.getGrain(), grid);
  for (auto [low, high] : {std::pair(b, grid), std::pair(int64_t(0), a), std::pair(a, b)})
    kernel(pointers.data(), low, high);

  for (const Memory &m : memories)
    EXPECT_TRUE(m.guardIntact()) << "wrote beyond a buffer";
  std::vector<HostTensor> results;
  for (size_t i = inputs.size(); i < memories.size(); ++i)
    results.push_back(memories[i].read());
  return results;
}

//===-- Batches --------------------------------------------------------------------------===//

struct Batch::Impl {
  std::unique_ptr<MLIRContext> context = makeContext();
  struct Item {
    Case c;
    OwningOpRef<ModuleOp> module;
    kernel::LaunchAttr launch;
  };
  std::vector<Item> items;
  Kernels kernels{context.get()};
};

Batch::Batch() : impl(std::make_unique<Impl>()) {}
Batch::~Batch() = default;
MLIRContext *Batch::context() { return impl->context.get(); }

void Batch::add(const Case &c) {
  OwningOpRef<ModuleOp> module = parseCase(context(), c);
  if (!module)
    return;
  kernel::DispatchOp dispatch = dispatchOf(*module);
  if (c.form) {
    EXPECT_EQ(dispatch.getForm(), *c.form) << c.name;
  }
  kernel::Reuses reuses = kernel::reusableInputs(dispatch);
  for (auto [r, input] : llvm::enumerate(c.inPlace))
    EXPECT_TRUE(input < 0 || llvm::is_contained(reuses[r], input)) << c.name;
  auto launch = impl->kernels.add(dispatch);
  EXPECT_TRUE(succeeded(launch)) << c.name;
  if (succeeded(launch))
    impl->items.push_back({c, std::move(module), *launch});
}

void Batch::run() {
  std::vector<Impl::Item> &items = impl->items;
  // This machine may have more than the oldest level.
  auto objects = impl->kernels.compile({HostCpu::oldest(), HostCpu::native()});
  ASSERT_TRUE(succeeded(objects));
  for (const HostObject &object : *objects) {
    SCOPED_TRACE(object.cpu.name);
    Library library(object.bytes);
    check([&](size_t i, ArrayRef<HostTensor> inputs) {
      return runKernel(library.find(symbolOf(items[i].launch)), items[i].launch, dispatchOf(*items[i].module), inputs);
    });
  }
  SCOPED_TRACE("emulator");
  EmulatedDispatches emulated(context(), *findGpuArch("sm_80")); // all GPUs have the same loops
  for (Impl::Item &item : items) {
    setTarget(*item.module, "sm_80");
    emulated.add(dispatchOf(*item.module));
  }
  emulated.compile();
  check([&](size_t i, ArrayRef<HostTensor> inputs) { return emulated.run(dispatchOf(*items[i].module), inputs); });
}

void Batch::check(const Execute &execute) {
  for (auto [number, item] : llvm::enumerate(impl->items)) {
    const Case &c = item.c;
    SCOPED_TRACE(c.name);
    kernel::DispatchOp dispatch = dispatchOf(*item.module);
    std::mt19937_64 random(7);
    llvm::SmallVector<HostTensor> inputs, expected;
    for (auto [i, v] : llvm::enumerate(dispatch.getInputs()))
      inputs.push_back(
          draw(graph::typeOf(v), c.draws.empty() ? Draw() : c.draws[std::min(i, c.draws.size() - 1)], random));
    ASSERT_TRUE(succeeded(Evaluator::evaluateOp(dispatch, inputs, expected, EvalMode::Rounded)));

    std::vector<HostTensor> results = execute(number, inputs);
    for (auto [r, reference] : llvm::enumerate(expected)) {
      const HostTensor &actual = results[r];
      int failures = 0;
      for (size_t i = 0; i < actual.values.size() && failures < 5; ++i) {
        double got = actual.values[i], want = reference.values[i];
        double distance = ulpDistance(reference.element, got, want);
        if (distance > c.ulps && !(std::abs(got - want) <= c.absolute)) {
          ++failures;
          ADD_FAILURE() << c.name << ": result " << r << " element " << i << ": " << got << ", expected " << want
                        << ", " << distance << " ulp";
        }
      }
    }
  }
}
