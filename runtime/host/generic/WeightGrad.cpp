//===- WeightGrad.cpp - Weight gradients of convolutions ------------------===//
//
// dw[o, (c, tap)] = sum over result positions p of dy[p, o] * x window[p, (tap, c)], per group: a product
// whose reduction runs over all positions of all images. x windows are copied out block by block; dy is read
// as it lies. When the gradient is small, the positions are cut into pieces that are summed apart and then
// added in a fixed order, so that the result does not depend on the number of threads.
//
//===----------------------------------------------------------------------===//
#include "BlockedProduct.h"
#include "Window.h"

namespace mpc::generic {
namespace {

/// One gradient row, acc[first .. first + count) in the order [tap][c], rounded to dw[c][tap].
template <class T>
void storeGradient(const Window &w, int32_t type, char *dw, int64_t row, int64_t first, int64_t count,
                   const T *acc) {
  const int64_t channels = w.sourcePerGroup(), taps = w.taps(), size = elementBytes(type);
  while (count > 0) {
    const int64_t tap = first / channels, channel = first % channels,
                  length = std::min(count, channels - channel);
    kernels<T>().narrowStrided(dw + ((row * channels + channel) * taps + tap) * size, type, taps, acc,
                               length);
    acc += length;
    first += length;
    count -= length;
  }
}

template <class T> class Source final : public BlockSource<T> {
public:
  Source(const mpc_library_desc &desc, const Window &window, int64_t splits, void *const *buffers, T *partial)
      : d(desc), w(window), splits(splits), x(buffers[0]), dy(static_cast<const char *>(buffers[1])),
        dw(static_cast<char *>(buffers[2])), partial(partial) {}

  BlockA<T> a(int64_t g, Range m, Range k, T *buffer) const override {
    const int64_t size = elementBytes(d.type_b);
    const char *first = dy + (k.begin * d.O + g * w.resultPerGroup() + m.begin) * size;
    if (size == int64_t(sizeof(T)) && d.O * size <= 1024)
      return {reinterpret_cast<const T *>(first), d.O, true};
    for (int64_t row = 0; row < k.size; ++row)
      kernels<T>().widenStrided(buffer + row * m.size, first + row * d.O * size, d.type_b, 1, m.size);
    return {buffer, m.size, true};
  }

  BlockB<T> b(int64_t g, Range k, Range n, T *buffer) const override {
    const int64_t ld = roundUp(n.size, kernels<T>().panelColumns);
    gatherRows<T>(w, x, d.type_a, g, k.begin, k.size, n.begin, n.size, buffer, ld);
    for (int64_t row = 0; row < k.size; ++row)
      std::fill(buffer + row * ld + n.size, buffer + (row + 1) * ld, T(0));
    return {buffer, ld, kernels<T>().panelColumns};
  }

  void store(int64_t g, int64_t split, Range m, Range n, const T *acc, int64_t ldacc) const override {
    const int64_t rows = w.resultPerGroup(), columns = w.depth();
    for (int64_t i = 0; i < m.size; ++i, acc += ldacc) {
      const int64_t row = g * rows + m.begin + i;
      if (splits == 1)
        storeGradient(w, d.type_out, dw, row, n.begin, n.size, acc);
      else
        std::copy(acc, acc + n.size, partial + (split * d.O + row) * columns + n.begin);
    }
  }

private:
  const mpc_library_desc &d;
  const Window &w;
  int64_t splits;
  const void *x;
  const char *dy;
  char *dw;
  T *partial;
};

template <class T> class WeightGrad final : public Primitive {
public:
  WeightGrad(const mpc_library_desc &desc, int threads)
      : desc(desc), window(forwardWindow(desc)), threads(threads) {
    const int64_t rows = window.resultPerGroup(), columns = window.depth();
    blocks = chooseBlocking<T>(desc.groups, rows, columns, window.rows(), 1);
    blocks.kb = std::min<int64_t>(blocks.kb, std::max<int64_t>(1, window.rows()));
    // Fixed by the shape alone: about 16 tasks, pieces of at least 4 blocks, at most 2 MB of partial sums.
    const int64_t wanted = std::min(ceilDiv(16, blocks.tasks()), window.rows() / (4 * blocks.kb));
    const int64_t fitting = (2 << 20) / std::max<int64_t>(1, desc.O * columns * int64_t(sizeof(T)));
    blocks.splits = std::max<int64_t>(1, std::min(wanted, fitting));
    while (blocks.splits == 1 && blocks.tasks() < 16 && blocks.nb > kernels<T>().panelColumns)
      blocks.nb = roundUp(blocks.nb / 2, kernels<T>().panelColumns);
    partialAt =
        this->scratch.add(blocks.splits == 1 ? 0 : size_t(blocks.splits * desc.O * columns) * sizeof(T));
    slotsAt = this->scratch.add(size_t(threads * blockedScratchElements<T>(blocks)) * sizeof(T));
  }

  void execute(void *const *buffers, void *scratch) override {
    char *base = static_cast<char *>(scratch);
    T *partial = reinterpret_cast<T *>(base + partialAt);
    runBlocked<T>(blocks, Source<T>(desc, window, blocks.splits, buffers, partial), threads,
                  reinterpret_cast<T *>(base + slotsAt));
    if (blocks.splits == 1)
      return;
    const int64_t columns = window.depth();
    forEachTask(threads, desc.O, [&](int, int64_t row) {
      T *sum = partial + row * columns; // the first piece becomes the sum
      for (int64_t split = 1; split < blocks.splits; ++split) {
        const T *piece = partial + (split * desc.O + row) * columns;
        for (int64_t i = 0; i < columns; ++i)
          sum[i] += piece[i];
      }
      storeGradient(window, desc.type_out, static_cast<char *>(buffers[2]), row, 0, columns, sum);
    });
  }

private:
  mpc_library_desc desc;
  Window window;
  int threads;
  Blocking blocks;
  size_t partialAt, slotsAt;
};

} // namespace

template <class T> std::unique_ptr<Primitive> makeWeightGrad(const mpc_library_desc &desc, int threads) {
  return std::make_unique<WeightGrad<T>>(desc, threads);
}
template std::unique_ptr<Primitive> makeWeightGrad<float>(const mpc_library_desc &, int);
template std::unique_ptr<Primitive> makeWeightGrad<double>(const mpc_library_desc &, int);

} // namespace mpc::generic
