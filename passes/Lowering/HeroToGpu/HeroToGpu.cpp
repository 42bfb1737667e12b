//===- HeroToGpu.cpp - kernels of a hero --------------------------------------------------------===//
//
//   @k         one block for each work item (Raster.h), or with wgmma persistent blocks that compute several:
//              mainloop, then the epilogue or partial sums
//   @k_reduce  where k is split: adds the partial sums in the order of the splits, then the epilogue
//   @k_columns where the epilogue sums columns: adds the sums of the parts of the rows; without rows it is the only kernel
//
//===----------------------------------------------------------------------------------------===//
#include "passes/Lowering/HeroToGpu/HeroToGpu.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Kernel/Analysis/Form.h"
#include "dialects/Support/Diagnostics.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Lowering/HeroToGpu/Drain.h"
#include "passes/Lowering/HeroToGpu/Emit.h"
#include "passes/Lowering/HeroToGpu/Mma.h"
#include "passes/Lowering/HeroToGpu/Simt.h"
#include "passes/Lowering/HeroToGpu/Wgmma.h"
#include "passes/Lowering/KernelToGpu/KernelToGpu.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

namespace {

constexpr int64_t reduceThreads = 256;

class HeroEmitter {
public:
  HeroEmitter(const Problem &problem, ModuleOp module, StringRef symbol, const Schedule &schedule)
      : problem(problem), module(module), symbol(symbol), arch(*kernel::gpuOf(module)), schedule(schedule), tile(schedule.tile),
        dispatch(problem.dispatch), body(dispatch.getBody().front()) {}

  FailureOr<llvm::SmallVector<kernel::LaunchAttr>> run();

private:
  /// A function that is emitted, and for each parameter the number of the buffer that it points to: the dispatch's
  /// inputs come first, then its results; the scratch is LaunchAttr::scratch.
  struct Emitted {
    LLVM::LLVMFuncOp function;
    llvm::SmallVector<int64_t> args;
  };
  kernel::LaunchAttr emitMain();
  kernel::LaunchAttr emitReduce();
  FailureOr<kernel::LaunchAttr> emitColumnSums();
  FailureOr<kernel::LaunchAttr> emitEmptySums();
  /// Emits the kernel of a loop dispatch that writes the column sums. `body` makes them from tensors of these types, which lie in the scratch.
  FailureOr<kernel::LaunchAttr> emitLoops(ArrayRef<Type> inScratch, llvm::function_ref<Values(OpBuilder &, ValueRange)> body);
  /// Appends the positions of the arguments that are read besides the hero's operands, then those of the
  /// results.
  void addEpilogueArguments(llvm::SmallVector<int64_t> &positions);
  /// Starts a function with one parameter for each of these positions and calls `emit` with the parameters,
  /// keyed by position.
  Emitted function(const Twine &name, ArrayRef<int64_t> positions, llvm::function_ref<void(ElementEmitter &, llvm::DenseMap<int64_t, Value> &)> emit);
  llvm::SmallVector<Buffer> bindBuffers(ElementEmitter &e, llvm::DenseMap<int64_t, Value> &parameters);
  int64_t resultPosition(unsigned result) { return int64_t(dispatch.getInputs().size()) + result; }
  int64_t positionOf(Value argument) const { return cast<BlockArgument>(argument).getArgNumber(); }

  const Problem &problem;
  ModuleOp module;
  StringRef symbol;
  const GpuArch &arch;
  const Schedule &schedule;
  const Tile &tile;
  kernel::DispatchOp dispatch;
  Block &body;
  bool failed = false;
};

} // namespace

void HeroEmitter::addEpilogueArguments(llvm::SmallVector<int64_t> &positions) {
  for (BlockArgument argument : body.getArguments())
    if (llvm::any_of(argument.getUsers(), [&](Operation *user) { return user != problem.hero; }))
      positions.push_back(argument.getArgNumber());
  for (unsigned r : problem.fullResults)
    positions.push_back(resultPosition(r));
}

HeroEmitter::Emitted HeroEmitter::function(const Twine &name, ArrayRef<int64_t> positions,
                                           llvm::function_ref<void(ElementEmitter &, llvm::DenseMap<int64_t, Value> &)> emit) {
  llvm::SmallVector<int64_t> unique;
  for (int64_t position : positions)
    if (!llvm::is_contained(unique, position))
      unique.push_back(position);
  OpBuilder b(module.getContext());
  b.setInsertionPointToEnd(module.getBody());
  Location loc = problem.hero->getLoc();
  auto global = LLVM::LLVMPointerType::get(b.getContext(), 1);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                          llvm::SmallVector<Type>(unique.size(), global));
  auto function = LLVM::LLVMFuncOp::create(b, loc, name.str(), type);
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  LLVM::ReturnOp::create(b, loc, ValueRange{});
  llvm::DenseMap<int64_t, Value> parameters;
  for (auto [i, position] : llvm::enumerate(unique)) {
    function.setArgAttr(i, "llvm.align", b.getI64IntegerAttr(graph::kTensorAlignment));
    if (position != kernel::LaunchAttr::scratch)
      function.setArgAttr(i, "llvm.noalias", b.getUnitAttr());
    if (position != kernel::LaunchAttr::scratch && position < int64_t(dispatch.getInputs().size()))
      function.setArgAttr(i, "llvm.readonly", b.getUnitAttr());
    parameters[position] = entry->getArgument(i);
  }
  ElementEmitter e(b, loc, module);
  e.tableAddressSpace = 1;
  e.b.setInsertionPoint(entry->getTerminator());
  emit(e, parameters);
  failed |= e.failed();
  return {function, std::move(unique)};
}

llvm::SmallVector<Buffer> HeroEmitter::bindBuffers(ElementEmitter &e, llvm::DenseMap<int64_t, Value> &parameters) {
  for (BlockArgument argument : body.getArguments())
    if (Value parameter = parameters.lookup(argument.getArgNumber()))
      e.bindBuffer(argument, {parameter, cast<RankedTensorType>(argument.getType()), {}, {}});
  llvm::SmallVector<Buffer> results;
  for (unsigned r : problem.fullResults)
    results.push_back({parameters.lookup(resultPosition(r)), cast<RankedTensorType>(body.getTerminator()->getOperand(r).getType()), {}, {}});
  return results;
}

kernel::LaunchAttr HeroEmitter::emitMain() {
  Raster raster(problem, schedule, arch);
  llvm::SmallVector<int64_t> positions = {positionOf(problem.a.tensor), positionOf(problem.b.tensor)};
  bool partial = schedule.splits > 1;
  if (partial || !problem.columnSums.empty())
    positions.push_back(kernel::LaunchAttr::scratch);
  if (!partial)
    addEpilogueArguments(positions);
  llvm::SmallVector<kernel::TensorMapAttr> maps;
  auto [emitted, args] =
      function(symbol, positions, [&](ElementEmitter &e, llvm::DenseMap<int64_t, Value> &parameters) {
        Code c{e.b};
        llvm::SmallVector<Buffer> results;
        if (!partial)
          results = bindBuffers(e, parameters);
        auto epilogue = [&](const BlockPlace &place, int neighbours) {
          RowParts parts{parameters.lookup(kernel::LaunchAttr::scratch), rowParts(problem, schedule)};
          return Epilogue(problem, e, results, place.z, place.spanM, place.spanN, neighbours, parts);
        };
        auto sink = [&](const BlockPlace &place, int neighbours) -> std::unique_ptr<Sink> {
          if (partial)
            return std::make_unique<Partials>(problem, c, parameters[kernel::LaunchAttr::scratch], place, neighbours);
          return std::make_unique<Epilogue>(epilogue(place, neighbours));
        };
        Value a = parameters[positionOf(problem.a.tensor)], b = parameters[positionOf(problem.b.tensor)];
        if (tile.mainloop == Mainloop::Wgmma) {
          auto drained = [&](const BlockPlace &place) { return sink(place, drainNeighbours); };
          auto pairs = [&](const BlockPlace &place) { return epilogue(place, 2); };
          WgmmaOutput output{drained, pairs, {}};
          for (const Buffer &result : results)
            output.results.push_back(cast<BlockArgument>(result.pointer));
          maps =
              emitWgmma(c, problem, schedule, raster, cast<BlockArgument>(a), cast<BlockArgument>(b), output);
          return;
        }
        Value thread = kernel::ThreadIdOp::create(c.b, c.b.getI32Type());
        Value block = kernel::BlockIdOp::create(c.b, c.b.getI32Type(), kernel::Axis::X);
        BlockPlace place = raster.place(c, thread, block, Value());
        bool simt = tile.mainloop == Mainloop::Simt;
        std::unique_ptr<Sink> own = sink(place, simt ? simtNeighbours : drainNeighbours);
        if (simt)
          emitSimt(c, problem, tile, a, b, place, *own);
        else
          emitMma(c, problem, tile, arch, a, b, place, *own);
      });
  // `min_blocks` is set even where it is 1: without it ptxas takes fewer registers than there are, and spills.
  // Only wgmma kernels are persistent, that is, their blocks compute one work item after the other.
  int64_t blocks = std::max(tile.blocks, 1), resident = tile.mainloop == Mainloop::Wgmma ? blocks : 0;
  emitted->setAttr(kernel::EntryAttr::name, kernel::EntryAttr::get(module.getContext(), tile.threads(), resident, schedule.cluster, blocks, maps));
  return kernel::LaunchAttr::of(emitted, raster.pieces() * schedule.cluster, /*grain=*/1, args);
}

kernel::LaunchAttr HeroEmitter::emitReduce() {
  Type type = problem.accumulator();
  int bytes = type.getIntOrFloatBitWidth() / 8, vector = problem.storeVector(16 / bytes);
  int64_t perRow = problem.n() / vector, count = problem.z() * problem.m() * perRow;
  llvm::SmallVector<int64_t> positions = {kernel::LaunchAttr::scratch};
  addEpilogueArguments(positions);
  auto [emitted, args] = function(
      symbol + "_reduce", positions, [&](ElementEmitter &e, llvm::DenseMap<int64_t, Value> &parameters) {
        Code c{e.b};
        Value block = kernel::BlockIdOp::create(c.b, c.b.getI32Type(), kernel::Axis::X);
        Value number = c.add(c.mul(block, reduceThreads), kernel::ThreadIdOp::create(c.b, c.b.getI32Type()));
        c.when(count % reduceThreads == 0 ? Value() : c.below(number, count), [&] {
          Value pointer = c.at(parameters[kernel::LaunchAttr::scratch], c.mul(c.wide(number), vector * bytes));
          Values zeros(vector, arith::ConstantOp::create(c.b, c.b.getFloatAttr(type, 0)));
          Type vectorType = vector == 1 ? type : Type(VectorType::get({vector}, type));
          Values sums = c.loop(c.i32(0), c.i32(schedule.splits), zeros, [&](Value split, ValueRange carried) {
            Value at = c.at(pointer, c.mul(c.wide(split), problem.z() * problem.m() * problem.n() * bytes));
            Value partial = c.load(vectorType, at, vector * bytes);
            Values next;
            for (auto [i, sum] : llvm::enumerate(carried))
              next.push_back(arith::AddFOp::create(c.b, sum, vector == 1 ? partial : c.extract(partial, i)));
            return next;
          });
          Value row = c.div(number, perRow);
          Epilogue epilogue(problem, e, bindBuffers(e, parameters), c.div(row, problem.m()), 1, 1, vector);
          (void)epilogue.put(c.rem(row, problem.m()), c.mul(c.rem(number, perRow), vector), sums, {});
        });
      });
  emitted->setAttr(kernel::EntryAttr::name, kernel::EntryAttr::get(module.getContext(), reduceThreads));
  return kernel::LaunchAttr::of(emitted, llvm::divideCeilSigned(count, reduceThreads), /*grain=*/1, args);
}

FailureOr<kernel::LaunchAttr> HeroEmitter::emitLoops(ArrayRef<Type> inScratch, llvm::function_ref<Values(OpBuilder &, ValueRange)> body) {
  Location loc = problem.hero->getLoc();
  Block holder; // what a dispatch reads comes from outside of it
  holder.addArguments(inScratch, llvm::SmallVector<Location>(inScratch.size(), loc));
  OpBuilder b(module.getContext());
  b.setInsertionPointToStart(&holder);
  FailureOr<kernel::DispatchOp> columns = kernel::createLoops(b, loc, "columns", holder.getArguments(), body);
  if (llvm::failed(columns))
    return failure();
  FailureOr<kernel::LaunchAttr> launch = emitGpuKernel(*columns, module, (symbol + "_columns").str());
  if (llvm::failed(launch))
    return failure();
  llvm::SmallVector<int64_t> args(inScratch.size(), kernel::LaunchAttr::scratch);
  for (const kernel::ColumnSum &sum : problem.columnSums)
    args.push_back(resultPosition(sum.result));
  return kernel::LaunchAttr::get(b.getContext(), launch->getKernel(), launch->getGrid(), launch->getGrain(), args);
}

/// The kernel sums [columnSums, parts, n] over the parts.
FailureOr<kernel::LaunchAttr> HeroEmitter::emitColumnSums() {
  Type type = problem.accumulator();
  int64_t parts = rowParts(problem, schedule), count = problem.columnSums.size();
  return emitLoops({RankedTensorType::get({count, parts, problem.n()}, type)}, [&](OpBuilder &b, ValueRange partial) {
    Location loc = problem.hero->getLoc();
    Values sums;
    for (auto [s, column] : llvm::enumerate(problem.columnSums)) {
      auto slice = graph::SliceOp::create(b, loc, RankedTensorType::get({1, parts, problem.n()}, type), partial[0], b.getDenseI64ArrayAttr({int64_t(s), 0, 0}),
                                          b.getDenseI64ArrayAttr({1, parts, problem.n()}), b.getDenseI64ArrayAttr({1, 1, 1}));
      Value sum = graph::ReduceSumOp::create(b, loc, RankedTensorType::get({problem.n()}, type), slice, b.getDenseI64ArrayAttr({0, 1}), /*keepdims=*/false);
      auto result = cast<RankedTensorType>(column.op->getResult(0).getType());
      sums.push_back(graph::reshapeTo(b, loc, graph::castTo(b, loc, sum, result.getElementType()), result.getShape()));
    }
    return sums;
  });
}

/// The kernel writes the sums of columns that have no rows, which are zeros.
FailureOr<kernel::LaunchAttr> HeroEmitter::emitEmptySums() {
  return emitLoops({}, [&](OpBuilder &b, ValueRange) {
    return llvm::map_to_vector(problem.columnSums, [&](const kernel::ColumnSum &sum) {
      return graph::splat(b, problem.hero->getLoc(), cast<RankedTensorType>(sum.op->getResult(0).getType()), 0);
    });
  });
}

FailureOr<llvm::SmallVector<kernel::LaunchAttr>> HeroEmitter::run() {
  llvm::SmallVector<kernel::LaunchAttr> launches;
  bool empty = problem.m() * problem.n() * problem.z() == 0;
  if (!empty)
    launches.push_back(emitMain());
  if (!empty && schedule.splits > 1)
    launches.push_back(emitReduce());
  if (!problem.columnSums.empty()) {
    FailureOr<kernel::LaunchAttr> columns = empty ? emitEmptySums() : emitColumnSums();
    if (llvm::failed(columns))
      return failure();
    launches.push_back(*columns);
  }
  if (failed)
    return failure();
  return launches;
}

FailureOr<llvm::SmallVector<kernel::LaunchAttr>> mpc::hero::emitScheduled(const Problem &problem, ModuleOp module, StringRef symbol, const Schedule &schedule) {
  return HeroEmitter(problem, module, symbol, schedule).run();
}

/// Fails with what products of 8-bit floats require where no schedule fits them.
static LogicalResult requireSchedule(const Problem &problem, const GpuArch &arch) {
  bool empty = problem.m() * problem.n() * problem.z() == 0;
  if (empty || !tilesFor(problem, arch).empty())
    return success();
  Location loc = problem.hero->getLoc();
  if (!arch.hasWgmma)
    return emitErrorWithHint(loc, "products of 8-bit floats have no kernel for " + arch.name,
                             "compile for sm_90a, or cast the factors to 16 bits");
  for (auto [name, operand] : {std::pair("A", &problem.a), std::pair("B", &problem.b)})
    if (operand->contiguous != Axis::K)
      return emitErrorWithHint(
          loc,
          llvm::Twine("factor ") + name + " of 8-bit floats is not contiguous along the summed dimension",
          "pass its graph.transpose, made where it is cast to 8 bits, and turn transpose_" +
              llvm::StringRef(name).lower() + " around");
  return emitErrorWithHint(loc,
                           "factors of 8-bit floats whose " + llvm::Twine(problem.k()) +
                               " summed elements are no rows of 16 bytes",
                           "make the summed dimension a multiple of 16, at least 16");
}

FailureOr<llvm::SmallVector<kernel::LaunchAttr>> mpc::emitGpuHero(kernel::DispatchOp dispatch, ModuleOp module, StringRef symbol) {
  if (dispatch.computesNothing())
    return llvm::SmallVector<kernel::LaunchAttr>();
  const GpuArch &arch = *kernel::gpuOf(module);
  FailureOr<Problem> problem = describeHero(dispatch);
  if (failed(problem) || failed(requireSchedule(*problem, arch)))
    return failure();
  FailureOr<hero::Schedule> schedule = hero::scheduleOf(*problem, arch);
  if (failed(schedule))
    return failure();
  return emitScheduled(*problem, module, symbol, *schedule);
}
