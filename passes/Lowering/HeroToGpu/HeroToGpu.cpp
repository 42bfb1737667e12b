//===- HeroToGpu.cpp - kernels of a hero --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   @k         one block for each work item (Raster.h), or with wgmma persistent blocks that compute several:
//              mainloop, then the epilogue or partial sums
//   @k_reduce  where k is split: adds the partial sums in the order of the splits, then the epilogue
//   @k_runs    where the epilogue sums columns in many parts of the rows: adds runs of these parts
//   @k_columns where the epilogue sums columns: adds the sums of the parts of the rows, or of their runs; without rows
//   it is the only kernel
//
//===----------------------------------------------------------------------------------------===//
#include "passes/Lowering/HeroToGpu/HeroToGpu.h"
#include "dialects/Support/Diagnostics.h"
#include "passes/Lowering/HeroToGpu/Emit.h"
#include "passes/Lowering/HeroToGpu/HeroEmitter.h"
#include "passes/Lowering/HeroToGpu/MainKernel.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

void HeroEmitter::addEpilogueArguments(llvm::SmallVector<int64_t> &positions) {
  for (BlockArgument argument : body.getArguments())
    if (llvm::any_of(argument.getUsers(), [&](Operation *user) { return user != problem.hero; }))
      positions.push_back(argument.getArgNumber());
  for (unsigned r : problem.fullResults)
    positions.push_back(resultPosition(r));
}

HeroEmitter::Emitted
HeroEmitter::function(const Twine &name, ArrayRef<int64_t> positions,
                      llvm::function_ref<void(ElementEmitter &, llvm::DenseMap<int64_t, Value> &)> emit) {
  Emitted emitted = emitFunction(dispatch, module, problem.hero->getLoc(), name, positions, emit);
  failed |= emitted.failed;
  return emitted;
}

llvm::SmallVector<Buffer> HeroEmitter::bindBuffers(ElementEmitter &e, llvm::DenseMap<int64_t, Value> &parameters) {
  for (BlockArgument argument : body.getArguments())
    if (Value parameter = parameters.lookup(argument.getArgNumber()))
      e.bindBuffer(argument, {parameter, cast<RankedTensorType>(argument.getType()), {}, {}});
  llvm::SmallVector<Buffer> results;
  for (unsigned r : problem.fullResults)
    results.push_back(
        {parameters.lookup(resultPosition(r)), cast<RankedTensorType>(dispatch.yielded()[r].getType()), {}, {}});
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
  auto [emitted, args, hasFailed] =
      function(symbol, positions, [&](ElementEmitter &e, llvm::DenseMap<int64_t, Value> &parameters) {
        Code c(e.b);
        llvm::SmallVector<Buffer> results;
        if (!partial)
          results = bindBuffers(e, parameters);
        auto epilogue = [&](const BlockPlace &place, int neighbours) {
          RowParts parts{parameters.lookup(kernel::LaunchAttr::scratch), rowParts(problem, schedule)};
          if (parts.scratch) // the sums of runs of parts come first
            parts.scratch =
                c.at(parts.scratch, runSums(problem, schedule) * problem.accumulator().getIntOrFloatBitWidth() / 8);
          return Epilogue(problem, e, results, place.z, place.spanM, place.spanN, neighbours, parts);
        };
        auto sink = [&](const BlockPlace &place, int neighbours) -> std::unique_ptr<Sink> {
          if (partial)
            return std::make_unique<Partials>(problem, c, parameters[kernel::LaunchAttr::scratch], place, neighbours);
          return std::make_unique<Epilogue>(epilogue(place, neighbours));
        };
        auto pairs = [&](const BlockPlace &place) { return epilogue(place, 2); };
        Value a = parameters[positionOf(problem.a.tensor)], b = parameters[positionOf(problem.b.tensor)];
        MainKernel main{c,    problem, schedule, arch, raster, cast<BlockArgument>(a), cast<BlockArgument>(b),
                        sink, pairs,   {}};
        for (const Buffer &result : results)
          main.results.push_back(cast<BlockArgument>(result.pointer));
        maps = emitterOf(tile.mainloop)(main);
      });
  // `min_blocks` is set even where it is 1: without it ptxas takes fewer registers than there are, and spills.
  int64_t blocks = std::max(tile.blocks, 1), resident = factsOf(tile.mainloop).persistent ? blocks : 0;
  emitted->setAttr(kernel::EntryAttr::name, kernel::EntryAttr::get(module.getContext(), tile.threads(), resident,
                                                                   schedule.cluster, blocks, maps));
  return kernel::LaunchAttr::of(emitted, raster.pieces() * schedule.cluster, /*grain=*/1, args);
}

FailureOr<llvm::SmallVector<kernel::LaunchAttr>> HeroEmitter::run() {
  llvm::SmallVector<kernel::LaunchAttr> launches;
  bool empty = problem.m() * problem.n() * problem.z() == 0;
  if (!empty)
    launches.push_back(emitMain());
  if (!empty && schedule.splits > 1)
    launches.push_back(emitReduce());
  if (!problem.columnSums.empty()) {
    llvm::SmallVector<FailureOr<kernel::LaunchAttr>, 2> added;
    if (!empty && runSums(problem, schedule) > 0)
      added.push_back(emitRuns());
    added.push_back(empty ? emitEmptySums() : emitColumnSums());
    for (FailureOr<kernel::LaunchAttr> launch : added) {
      if (llvm::failed(launch))
        return failure();
      launches.push_back(*launch);
    }
  }
  if (failed)
    return failure();
  return launches;
}

FailureOr<llvm::SmallVector<kernel::LaunchAttr>> mpc::hero::emitScheduled(const Problem &problem, ModuleOp module,
                                                                          StringRef symbol, const Schedule &schedule) {
  return HeroEmitter(problem, module, symbol, schedule).run();
}

/// Fails with what products of 8-bit floats require where no schedule fits them.
static LogicalResult requireSchedule(const Problem &problem, const GpuArch &arch) {
  bool empty = problem.m() * problem.n() * problem.z() == 0;
  if (empty || !tilesFor(problem, arch).empty())
    return success();
  Location loc = problem.hero->getLoc();
  if (!arch.hasFloat8Products)
    return emitErrorWithHint(loc, "products of 8-bit floats have no kernel for " + arch.name,
                             "compile for " + gpuArchNamesWith(&GpuArch::hasFloat8Products) +
                                 ", or cast the factors to 16 bits");
  for (auto [name, operand] : {std::pair("A", &problem.a), std::pair("B", &problem.b)})
    if (operand->contiguous != Axis::K)
      return emitErrorWithHint(
          loc, llvm::Twine("factor ") + name + " of 8-bit floats is not contiguous along the summed dimension",
          "pass its graph.transpose, made where it is cast to 8 bits, and turn transpose_" +
              llvm::StringRef(name).lower() + " around");
  return emitErrorWithHint(
      loc, "factors of 8-bit floats whose " + llvm::Twine(problem.k()) + " summed elements are no rows of 16 bytes",
      "make the summed dimension a multiple of 16, at least 16");
}

FailureOr<llvm::SmallVector<kernel::LaunchAttr>> mpc::emitGpuHero(kernel::DispatchOp dispatch, ModuleOp module,
                                                                  StringRef symbol) {
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
