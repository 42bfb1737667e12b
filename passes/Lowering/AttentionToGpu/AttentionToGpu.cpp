// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/AttentionToGpu/AttentionToGpu.h"
#include "dialects/Kernel/Analysis/AttentionKernel.h"
#include "passes/Lowering/AttentionToGpu/AttentionKernels.h"
#include "passes/Lowering/HeroToGpu/KernelFunction.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::attention;

namespace {

/// Emits the kernels of one dispatch.
class Emitter {
public:
  Emitter(kernel::DispatchOp dispatch, ModuleOp module, const graph::AttentionForm &form, Tiles tiles)
      : dispatch(dispatch), module(module), op(kernel::attentionOf(dispatch)), form(form), tiles(tiles) {}

  /// Emits a kernel that reads the inputs and writes these results of the op, unless the dispatch has none of them. Its
  /// blocks divide `rows` rows of each of `heads` heads, and `resident` of them stand on a multiprocessor at least.
  void emit(const Twine &symbol, ArrayRef<unsigned> results, int64_t rows, int64_t heads, int64_t resident,
            llvm::function_ref<void(const Kernel &)> code);
  SmallVector<kernel::LaunchAttr> launches;
  bool failed = false;

private:
  using Parameters = llvm::DenseMap<int64_t, Value>;
  Tensors tensorsOf(const Parameters &parameters);
  /// The position of a buffer among the inputs and results of the dispatch.
  int64_t positionOf(Value buffer);
  /// Where an operand or result lies; nullopt for a result that is not asked for.
  std::optional<kernel::HeadAccess> accessOf(Value v);

  kernel::DispatchOp dispatch;
  ModuleOp module;
  Operation *op;
  const graph::AttentionForm &form;
  Tiles tiles;
};

} // namespace

int64_t Emitter::positionOf(Value buffer) {
  if (auto argument = dyn_cast<BlockArgument>(buffer))
    return argument.getArgNumber();
  return int64_t(dispatch.getInputs().size()) +
         std::distance(dispatch.yielded().begin(), llvm::find(dispatch.yielded(), buffer));
}

std::optional<kernel::HeadAccess> Emitter::accessOf(Value v) {
  if (v.getDefiningOp() != op)
    return kernel::accessOfOperand(v);
  return kernel::accessOfResult(dispatch, v);
}

Tensors Emitter::tensorsOf(const Parameters &parameters) {
  auto rows = [&](Value v) {
    std::optional<kernel::HeadAccess> access = accessOf(v);
    ArrayRef<int64_t> shape = graph::shapeOf(v);
    if (!access)
      return HeadLayout{Value(), 0, 0, 0, 0, shape[2], shape[3]};
    return HeadLayout{parameters.lookup(positionOf(access->buffer)),
                      access->offset,
                      access->strides[0],
                      access->strides[1],
                      access->strides[2],
                      shape[2],
                      shape[3]};
  };
  Tensors t;
  t.q = rows(form.q), t.k = rows(form.k), t.v = rows(form.v);
  if (auto grad = dyn_cast<graph::AttentionGradOp>(op)) {
    t.largest = rows(grad.getLargest()), t.logSum = rows(grad.getLogSum()), t.delta = rows(grad.getDelta());
    t.dy = rows(grad.getDy()), t.dq = rows(grad.getDq()), t.dk = rows(grad.getDk()), t.dv = rows(grad.getDv());
  } else {
    auto forward = cast<graph::AttentionOp>(op);
    t.y = rows(forward.getY()), t.largest = rows(forward.getLargest()), t.logSum = rows(forward.getLogSum());
  }
  return t;
}

void Emitter::emit(const Twine &symbol, ArrayRef<unsigned> results, int64_t rows, int64_t heads, int64_t resident,
                   llvm::function_ref<void(const Kernel &)> code) {
  SmallVector<int64_t> positions = llvm::to_vector(llvm::seq<int64_t>(0, dispatch.getInputs().size()));
  size_t inputs = positions.size();
  for (unsigned result : results)
    if (std::optional<kernel::HeadAccess> access = accessOf(op->getResult(result)))
      if (int64_t position = positionOf(access->buffer); !llvm::is_contained(positions, position))
        positions.push_back(position);
  if (positions.size() == inputs)
    return;
  hero::KernelFunction emitted = hero::emitFunction(
      dispatch, module, op->getLoc(), symbol, positions, [&](ElementEmitter &e, Parameters &parameters) {
        for (Value v : {form.mask, form.bias, form.seed, form.step})
          if (v)
            e.bindBuffer(v, {parameters.lookup(cast<BlockArgument>(v).getArgNumber()), graph::typeOf(v), {}, {}});
        code({e, op, form, tiles, sharedBytes(op, tiles.rows, tiles.columns), tensorsOf(parameters)});
      });
  failed |= emitted.failed;
  emitted.function->setAttr(kernel::EntryAttr::name,
                            kernel::EntryAttr::get(module.getContext(), tiles.threads(), /*resident=*/0, /*cluster=*/1,
                                                   /*min_blocks=*/resident, ArrayRef<kernel::TensorMapAttr>()));
  int64_t blocks = form.samples() * heads * int64_t(llvm::divideCeil(rows, tiles.rows));
  launches.push_back(kernel::LaunchAttr::of(emitted.function, blocks, /*grain=*/1, emitted.args));
}

FailureOr<SmallVector<kernel::LaunchAttr>> mpc::emitGpuAttention(kernel::DispatchOp dispatch, ModuleOp module,
                                                                 StringRef symbol) {
  FailureOr<kernel::Contraction> schedule = scheduleOf(dispatch, *kernel::gpuOf(module));
  if (llvm::failed(schedule))
    return failure();
  Operation *op = kernel::attentionOf(dispatch);
  Tiles tiles{schedule->m, schedule->n, schedule->mainloop == kernel::Mainloop::Wgmma};
  bool isGradient = isa<graph::AttentionGradOp>(op);
  graph::AttentionForm form = isGradient ? graph::AttentionForm::of(cast<graph::AttentionGradOp>(op))
                                         : graph::AttentionForm::of(cast<graph::AttentionOp>(op));
  Emitter emitter(dispatch, module, form, tiles);
  int64_t resident = residentBlocks(op, tiles.rows);
  if (isGradient) {
    emitter.emit(symbol + "_dq", {0}, form.queries(), form.heads(), resident, emitQueryGradient);
    emitter.emit(symbol + "_dkv", {1, 2}, form.keys(), form.keyHeads(), /*resident=*/1, emitKeyGradient);
  } else {
    emitter.emit(symbol, {0, 1, 2}, form.queries(), form.heads(), resident, emitForward);
  }
  if (emitter.failed)
    return failure();
  return emitter.launches;
}
