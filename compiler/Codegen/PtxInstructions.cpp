//===- PtxInstructions.cpp - counts instructions that decide the speed, in PTX text -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Codegen/NvptxCodegen.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;
using namespace mpc;

/// Whether a load or store moves 16 bytes at once.
static bool moves16Bytes(StringRef instruction) {
  for (StringRef type : {".v4.b32", ".v4.f32", ".v4.u32", ".v2.b64", ".v2.f64", ".v2.u64", ".b128"})
    if (instruction.ends_with(type))
      return true;
  return false;
}

/// Counts the instructions of a line; `labels` are those before it.
static void count(StringRef line, PtxInstructions &counts, StringSet<> &labels) {
  line = line.trim();
  if (line.starts_with("$") && line.contains(':'))
    labels.insert(line.take_until([](char c) { return c == ':'; }));
  if (line.ends_with(";") && !line.starts_with(".")) { // the end of an instruction, which may take several lines
    ++counts.all;
    if (size_t target = line.find('$'); target != StringRef::npos)
      counts.loops |= labels.contains(line.substr(target).drop_back(1));
  }
  if (line.consume_front("@")) // a predicate
    line = line.split(' ').second;
  StringRef name = line.take_until([](char c) { return isSpace(c) || c == ';'; });
  if (name.starts_with("mma.sync"))
    ++counts.mma;
  else if (name.starts_with("wgmma.mma_async"))
    ++counts.wgmma;
  else if (name.starts_with("ldmatrix"))
    ++counts.loadMatrix;
  else if (name.starts_with("cp.async.bulk.tensor"))
    ++counts.tensorCopies;
  else if (name.starts_with("cp.async.ca") || name.starts_with("cp.async.cg"))
    ++counts.copyAsync;
  else if (name.starts_with("ld.global"))
    ++(moves16Bytes(name) ? counts.wideLoads : counts.otherLoads);
  else if (name.starts_with("st.global"))
    ++(moves16Bytes(name) ? counts.wideStores : counts.otherStores);
}

StringMap<PtxInstructions> mpc::countPtxInstructions(StringRef ptx) {
  StringMap<PtxInstructions> kernels;
  PtxInstructions *current = nullptr;
  StringSet<> labels;
  for (StringRef line : split(ptx, '\n')) {
    if (size_t at = line.find(".entry "); at != StringRef::npos)
      current = &kernels[line.substr(at + 7).take_until([](char c) { return c == '(' || isSpace(c); })], labels.clear();
    else if (current)
      count(line, *current, labels);
  }
  return kernels;
}
