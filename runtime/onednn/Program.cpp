//===- Program.cpp - A sequence of oneDNN primitives ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Program.h"

#include <cstring>
#include <omp.h>

namespace mpc::onednn {

const dnnl::engine &engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

ThreadScope::ThreadScope(int threads) : before(omp_get_max_threads()) {
  if (before != threads)
    omp_set_num_threads(threads);
}
ThreadScope::~ThreadScope() { omp_set_num_threads(before); }

dnnl::memory Program::buffer(const dnnl::memory::desc &desc, int index) {
  bindings.push_back({dnnl::memory(desc, engine(), nullptr), index, 0});
  return bindings.back().memory;
}

dnnl::memory Program::temporary(const dnnl::memory::desc &desc) {
  bindings.push_back({dnnl::memory(desc, engine(), nullptr), -1, scratch.add(desc.get_size())});
  return bindings.back().memory;
}

dnnl::memory Program::reordered(const dnnl::memory &from, const dnnl::memory::desc &wanted) {
  if (from.get_desc() == wanted)
    return from;
  dnnl::memory to = temporary(wanted);
  reorder(from, to);
  return to;
}

void Program::reorder(const dnnl::memory &from, const dnnl::memory &to) {
  Attributes attributes;
  setScratchpad(attributes);
  const dnnl::reorder::primitive_desc pd(engine(), from.get_desc(), engine(), to.get_desc(), attributes);
  add(pd, dnnl::reorder(pd), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

void Program::append(const dnnl::primitive &primitive, const std::vector<std::pair<int, dnnl::memory>> &args) {
  Step step{primitive, {}};
  for (const auto &[kind, memory] : args)
    step.args.push_back({kind, memory.get()});
  steps.push_back(std::move(step));
}

// It calls the C interface, because the C++ one builds a vector of the arguments on every call.
void Program::execute(void *const *buffers, void *scratch) {
  ThreadScope scope(threads);
  for (Binding &b : bindings)
    b.memory.set_data_handle(b.buffer >= 0 ? buffers[b.buffer] : static_cast<char *>(scratch) + b.offset);
  if (copy.bytes && buffers[copy.from] != buffers[copy.to])
    std::memcpy(buffers[copy.to], buffers[copy.from], copy.bytes);
  for (Step &step : steps)
    dnnl_primitive_execute(step.primitive.get(), stream.get(), int(step.args.size()), step.args.data());
  dnnl_stream_wait(stream.get());
}

} // namespace mpc::onednn
