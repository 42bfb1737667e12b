//===- Program.h - A sequence of oneDNN primitives --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library primitive consists of a oneDNN primitive and the reorders around it. Everything is created once;
// execute only sets addresses and runs.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_RUNTIME_ONEDNN_PROGRAM_H
#define MPC_RUNTIME_ONEDNN_PROGRAM_H

#include "Compat.h"
#include "Primitive.h"

#include <deque>
#include <string>
#include <vector>

namespace mpc::onednn {

/// Returns the only engine of the process.
const dnnl::engine &engine();

class Program : public generic::Primitive {
public:
  explicit Program(int threads) : threads(threads), stream(engine()) {}
  void execute(void *const *buffers, void *scratch) override;
  /// Returns for example "oneDNN jit:avx2".
  const char *implementation() const override { return name.c_str(); }

protected:
  /// Takes the implementation that oneDNN chose for the product or convolution. Throws dnnl::error where it is a
  /// reference implementation: plain loops for checking others, up to a hundred times as slow.
  template <class PrimitiveDesc>
  PrimitiveDesc chosen(PrimitiveDesc pd) {
    const std::string implementation = pd.impl_info_str();
    if (implementation.starts_with("ref"))
      throw dnnl::error(dnnl_unimplemented, "only a reference implementation");
    name = "oneDNN " + implementation;
    return pd;
  }
  /// Makes a tensor that lies in buffers[index].
  dnnl::memory buffer(const dnnl::memory::desc &, int index);
  /// Makes a tensor in the scratch memory.
  dnnl::memory temporary(const dnnl::memory::desc &);
  /// Appends a primitive; its scratchpad is added to the arguments.
  template <class PrimitiveDesc>
  void add(const PrimitiveDesc &pd, const dnnl::primitive &primitive, std::vector<std::pair<int, dnnl::memory>> args) {
    const dnnl::memory::desc scratchpad = pd.scratchpad_desc();
    if (scratchpad.get_size())
      args.push_back({DNNL_ARG_SCRATCHPAD, temporary(scratchpad)});
    append(primitive, args);
  }
  /// Returns `from` itself if it already has the wanted layout; else a temporary that a reorder fills.
  dnnl::memory reordered(const dnnl::memory &from, const dnnl::memory::desc &wanted);
  /// Appends a reorder from -> to.
  void reorder(const dnnl::memory &from, const dnnl::memory &to);
  /// Copies buffers[from] to buffers[to] before everything else, unless they are the same.
  void copyFirst(int from, int to, size_t bytes) { copy = {from, to, bytes}; }

private:
  void append(const dnnl::primitive &primitive, const std::vector<std::pair<int, dnnl::memory>> &args);

  struct Step {
    dnnl::primitive primitive;
    std::vector<dnnl_exec_arg_t> args;
  };
  struct Binding {
    dnnl::memory memory;
    int buffer;    // index of the buffer, or -1
    size_t offset; // offset in the scratch memory
  };
  struct Copy {
    int from = -1, to = -1;
    size_t bytes = 0;
  };
  std::string name;
  int threads;
  dnnl::stream stream;
  std::vector<Step> steps;
  std::vector<Binding> bindings;
  Copy copy;
};

/// Sets the number of threads that OpenMP uses for work started by this thread; restores it at the end.
class ThreadScope {
public:
  explicit ThreadScope(int threads);
  ~ThreadScope();

private:
  int before;
};

/// Make primitives on oneDNN. They return null when oneDNN (or this formulation) does not cover the description.
std::unique_ptr<generic::Primitive> makeMatmul(const mpc_library_desc &, int threads);
std::unique_ptr<generic::Primitive> makeConvolution(const mpc_library_desc &, int threads);

} // namespace mpc::onednn

#endif
