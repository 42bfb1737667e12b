//===- Loops.cpp - #kernel.loops: its text and what it must be ---------------------===//
#include "dialects/Kernel/Analysis/Dims.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "dialects/Kernel/Target/Blocks.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace mpc::kernel;

//===-- Text -------------------------------------------------------------------------------===//

// The text of loops is, for example, columns 32x3136x64 order = [0 to 1, 2] vector = 4 threads = 128x2.

static void print(AsmPrinter &printer, const Loop &loop) {
  printer << loop.first;
  if (loop.count > 1)
    printer << " to " << loop.last();
  if (loop.tile)
    printer << " by " << loop.tile;
}

static ParseResult parse(AsmParser &parser, Loop &loop) {
  int64_t last = 0;
  if (parser.parseInteger(loop.first))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("to"))) {
    SMLoc place = parser.getCurrentLocation();
    if (parser.parseInteger(last))
      return failure();
    if (last <= loop.first)
      return parser.emitError(place, "a loop walks dimensions in ascending order");
    loop.count = last - loop.first + 1;
  }
  if (failed(parser.parseOptionalKeyword("by")))
    return success();
  SMLoc place = parser.getCurrentLocation();
  if (parser.parseInteger(loop.tile))
    return failure();
  return loop.tile > 0 ? success() : parser.emitError(place, "a tile has at least one iteration");
}

void LoopsAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringifyWalk(getWalk()) << ' ';
  printer.printDimensionList(getExtents());
  printer << (getExtents().empty() ? "" : " ") << "order = [";
  llvm::interleaveComma(getOrder(), printer, [&](const Loop &loop) { ::print(printer, loop); });
  printer << ']';
  if (getParallel() > 0)
    printer << " parallel = " << getParallel();
  if (getVector() > 1)
    printer << " vector = " << getVector();
  if (!getThreads().empty()) {
    printer << " threads = ";
    printer.printDimensionList(getThreads());
  }
  if (getUnroll())
    printer << " unroll";
  if (!getCuts().empty())
    printer << " cuts = [" << getCuts() << ']';
  printer << '>';
}

Attribute LoopsAttr::parse(AsmParser &parser, Type) {
  SMLoc start = parser.getCurrentLocation(), place;
  StringRef word;
  SmallVector<int64_t> extents, threads, cuts;
  SmallVector<Loop> order;
  int64_t parallel = 0, vector = 1;
  bool unroll = false;
  if (parser.parseLess() || parser.getCurrentLocation(&place) || parser.parseKeyword(&word))
    return {};
  std::optional<Walk> walk = symbolizeWalk(word);
  if (!walk) {
    parser.emitError(place, "'" + word + "' is no walk; write points, tiles, copies, rows or columns");
    return {};
  }
  auto list = [&](auto element) { return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, element); };
  if (parser.parseDimensionList(extents, /*allowDynamic=*/false, /*withTrailingX=*/false) ||
      parser.parseKeyword("order") || parser.parseEqual() ||
      list([&] { return ::parse(parser, order.emplace_back()); }))
    return {};
  if (succeeded(parser.parseOptionalKeyword("parallel")) && (parser.parseEqual() || parser.parseInteger(parallel)))
    return {};
  if (succeeded(parser.parseOptionalKeyword("vector")) && (parser.parseEqual() || parser.parseInteger(vector)))
    return {};
  if (succeeded(parser.parseOptionalKeyword("threads")) &&
      (parser.parseEqual() || parser.parseDimensionList(threads, /*allowDynamic=*/false, /*withTrailingX=*/false)))
    return {};
  unroll = succeeded(parser.parseOptionalKeyword("unroll"));
  if (succeeded(parser.parseOptionalKeyword("cuts")) &&
      (parser.parseEqual() || list([&] { return parser.parseInteger(cuts.emplace_back()); })))
    return {};
  if (parser.parseGreater())
    return {};
  return LoopsAttr::getChecked([&] { return parser.emitError(start); }, parser.getContext(), *walk, ArrayRef(extents),
                               ArrayRef(order), parallel, vector, ArrayRef(threads), unroll, ArrayRef(cuts));
}

//===-- What the attribute must be ---------------------------------------------------------===//

LogicalResult LoopsAttr::verify(function_ref<InFlightDiagnostic()> emitError, Walk walk, ArrayRef<int64_t> extents,
                                ArrayRef<Loop> order, int64_t parallel, int64_t vector, ArrayRef<int64_t> threads,
                                bool unroll, ArrayRef<int64_t> cuts) {
  if (llvm::any_of(extents, [](int64_t extent) { return extent < 1; }))
    return emitError() << "the dimensions of a space have at least one index";
  SmallVector<int64_t> walked(extents.size(), 0);
  for (const Loop &loop : order)
    for (int64_t dim = loop.first; dim <= loop.last(); ++dim) {
      if (dim < 0 || dim >= int64_t(extents.size()))
        return emitError() << "a loop walks dimension " << dim << " of a space with " << extents.size();
      ++walked[dim];
    }
  for (auto [dim, times] : llvm::enumerate(walked))
    if (times != 1)
      return emitError() << "loops walk each dimension once, and dimension " << dim << ' ' << times << " times";
  if (parallel < 0 || parallel > int64_t(order.size()))
    return emitError() << parallel << " of " << order.size() << " loops are parallel";
  if (vector < 1)
    return emitError() << "an iteration computes at least one point, not " << vector;
  if (!threads.empty() &&
      (threads.size() != 2 || threads[0] < 1 || threads[1] < 1 || !isBlockSize(llvm::product_of(threads))))
    return emitError() << "a block has rows of threads, in all " << blockSizes();
  bool isTiled = walk == Walk::Tiles || walk == Walk::Copies;
  if (isTiled && (order.size() < 2 || !order.back().tile || !order[order.size() - 2].tile))
    return emitError() << stringifyWalk(walk) << " are made of the tiles of the two innermost loops";
  if (unroll && (walk != Walk::Rows || threads.empty()))
    return emitError() << "only the threads that share a row unroll their pieces of it";
  if (!cuts.empty() && (walk != Walk::Points || order.empty() || order.back().count != 1))
    return emitError() << "only the innermost loop over points is cut, where it walks one dimension";
  for (int64_t low = 0; int64_t cut : cuts) {
    if (cut <= low || cut >= extents[order.back().first])
      return emitError() << "the innermost loop is cut at ascending places inside of it, not at " << cut;
    low = cut;
  }
  return success();
}

/// Verifies that loops over kept and reduced dimensions come in the order that a walk is made of.
static LogicalResult verifyOrder(DispatchOp dispatch, LoopsAttr loops, ArrayRef<Dim> dims) {
  SmallVector<bool> reduced; // for each loop
  for (const Loop &loop : loops.getOrder()) {
    reduced.push_back(dims[loop.first].reduced);
    for (const Dim &dim : dims.slice(loop.first, loop.count))
      if (dim.reduced != reduced.back())
        return dispatch.emitOpError("loops: a loop walks kept and reduced dimensions");
  }
  bool innermostIsKept = loops.getWalk() == Walk::Columns;
  if (innermostIsKept && (reduced.empty() || reduced.pop_back_val()))
    return dispatch.emitOpError("loops: a walk over columns ends with a kept dimension");
  if (!llvm::is_sorted(reduced))
    return dispatch.emitOpError("loops: a loop over a kept dimension is inside of one over a reduced dimension");
  if (llvm::count(reduced, false) < loops.getParallel())
    return dispatch.emitOpError("loops: a loop over a reduced dimension is parallel");
  return success();
}

/// Whether a walk goes through dispatches of a form. Scatters have loops of their own.
static bool walks(Walk walk, Form form) {
  switch (walk) {
  case Walk::Points:
  case Walk::Tiles:
    return form == Form::Pointwise;
  case Walk::Copies:
    return form == Form::TransposedCopy;
  case Walk::Rows:
  case Walk::Columns:
    return form == Form::Reduction || form == Form::Row;
  }
  llvm_unreachable("every walk is for some form");
}

LogicalResult mpc::kernel::verifyLoops(DispatchOp dispatch, const GpuArch *gpu) {
  LoopsAttr loops = dispatch.getLoopsAttr();
  if (!loops)
    return success();
  if (dispatch.isBatch())
    return dispatch.emitOpError("is a batch, whose members have loops, and has loops of its own");
  if (loops.getThreads().empty() != !gpu)
    return dispatch.emitOpError("loops: ")
           << (loops.getThreads().empty() ? "a kernel of a GPU has threads" : "a kernel of the host has no threads");
  if (dispatch.isContraction()) // these are the loops behind the call, which emission verifies
    return success();
  if (!walks(loops.getWalk(), dispatch.getForm()))
    return dispatch.emitOpError("loops: ")
           << stringifyWalk(loops.getWalk()) << " do not go through a dispatch of the form "
           << stringifyForm(dispatch.getForm());
  SmallVector<Dim> dims = *dimsOf(dispatch); // every other form has a space
  auto extents = llvm::map_range(dims, [](Dim dim) { return dim.extent; });
  if (!llvm::equal(loops.getExtents(), extents))
    return dispatch.emitOpError("loops: the dimensions of its space are ") << llvm::interleaved(extents, "x");
  return verifyOrder(dispatch, loops, dims);
}
