// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/devices/CudaSnapshots.h"

#include <algorithm>

namespace mpc::rt {

using namespace cuda;

/// A copy costs microseconds, however small, so ranges at most this far apart are copied together: a scaler's state, 64
/// bytes per variable, is one copy.
static constexpr int64_t kGap = 256;

CudaSnapshots::CudaSnapshots(Context &context, StreamHandle stream, Address arena,
                             const std::vector<ArenaRange> &ranges, size_t slots)
    : context_(context), stream_(stream), arena_(arena) {
  std::vector<size_t> runOf;
  for (const ArenaRange &range : ranges) {
    int64_t begin = range.offset, end = begin + int64_t(range.bytes);
    size_t run = 0;
    while (run < runs_.size() && (begin > runs_[run].end + kGap || end + kGap < runs_[run].begin))
      ++run;
    if (run == runs_.size())
      runs_.push_back({begin, end, 0});
    runs_[run].begin = std::min(runs_[run].begin, begin);
    runs_[run].end = std::max(runs_[run].end, end);
    runOf.push_back(run);
  }
  for (Run &run : runs_) {
    run.at = slotBytes_;
    slotBytes_ += (size_t(run.end - run.begin) + 15) / 16 * 16;
  }
  for (size_t i = 0; i < ranges.size(); ++i)
    rangeAt_.push_back(runs_[runOf[i]].at + size_t(ranges[i].offset - runs_[runOf[i]].begin));
  for (size_t i = 0; i < slots; ++i)
    events_.push_back(context.event());
  if (slotBytes_ > 0)
    pinned_ = context.allocatePinned(slots * slotBytes_);
}

void CudaSnapshots::take(size_t slot) {
  context_.enter();
  const Driver &cu = context_.driver();
  for (const Run &run : runs_)
    context_.check(cu.memcpyDtoHAsync(pinned_ + slot * slotBytes_ + run.at, arena_ + uint64_t(run.begin),
                                      size_t(run.end - run.begin), stream_));
  context_.check(cu.eventRecord(events_[slot], stream_));
}

const std::byte *CudaSnapshots::range(size_t slot, size_t index) {
  context_.enter();
  context_.check(context_.driver().eventSynchronize(events_[slot]));
  return pinned_ + slot * slotBytes_ + rangeAt_[index];
}

} // namespace mpc::rt
