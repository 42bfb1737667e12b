// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations that the 32 threads of a warp do together. The last lane to arrive computes for all.
//
// Of these only warp_sync orders memory. All lanes must meet at the same op. The operations do not wait for lanes that
// have exited, but shuffles and matrix operations need all 32.
#include "runtime/emulator/Block.h"

#include <cmath>
#include <cstring>

namespace mpc::rt::emulator {

static void shuffle(Thread *lanes) {
  uint32_t values[kWarp];
  for (uint32_t i = 0; i < kWarp; ++i)
    values[i] = lanes[i].value;
  for (uint32_t i = 0; i < kWarp; ++i) {
    uint32_t by = lanes[i].operand % kWarp;
    uint32_t from = lanes[i].mode == 0 ? i ^ by : lanes[i].mode == 1 ? i + by : lanes[i].mode == 2 ? i - by : by;
    lanes[i].value = values[from < kWarp ? from : i];
  }
}

static void vote(Thread *lanes, uint32_t live) {
  bool any = false, all = true;
  for (uint32_t i = 0; i < kWarp; ++i)
    if (live >> i & 1)
      any |= lanes[i].value != 0, all &= lanes[i].value != 0;
  for (uint32_t i = 0; i < kWarp; ++i)
    lanes[i].value = lanes[i].mode == 0 ? any : all;
}

/// Loads `count` matrices: lanes[8 i + r].address is row r of matrix i.
static void loadMatrix(Thread *lanes, uint32_t site) {
  uint32_t count = lanes[0].operand;
  bool transpose = lanes[0].mode;
  for (uint32_t m = 0; m < count; ++m) {
    uint16_t rows[8][8];
    for (uint32_t r = 0; r < 8; ++r) {
      Thread &owner = lanes[8 * m + r];
      uint32_t offset = checkShared(owner, owner.address, 16, 4 | MPC_EMU_READ << 8, site);
      std::memcpy(rows[r], owner.parent->shared + offset, 16);
    }
    for (uint32_t l = 0; l < kWarp; ++l) {
      uint32_t g = l / 4, q = l % 4 * 2;
      uint32_t low = transpose ? rows[q][g] : rows[g][q], high = transpose ? rows[q + 1][g] : rows[g][q + 1];
      lanes[l].registers[m] = low | high << 16;
    }
  }
}

/// The inverse of loadMatrix.
static void storeMatrix(Thread *lanes, uint32_t site) {
  uint32_t count = lanes[0].operand;
  bool transpose = lanes[0].mode;
  for (uint32_t m = 0; m < count; ++m) {
    uint16_t rows[8][8];
    for (uint32_t l = 0; l < kWarp; ++l) {
      uint32_t g = l / 4, q = l % 4 * 2, value = lanes[l].registers[m];
      (transpose ? rows[q][g] : rows[g][q]) = uint16_t(value);
      (transpose ? rows[q + 1][g] : rows[g][q + 1]) = uint16_t(value >> 16);
    }
    for (uint32_t r = 0; r < 8; ++r) {
      Thread &owner = lanes[8 * m + r];
      uint32_t offset = checkShared(owner, owner.address, 16, 4 | MPC_EMU_WRITE << 8, site);
      std::memcpy(owner.parent->shared + offset, rows[r], 16);
    }
  }
}

/// Is called when all lanes that can come have come: computes, and lets the others go on.
static void complete(Block &block, uint32_t number, Thread &self) {
  Warp &warp = block.warps[number];
  Thread *lanes = &block.threads[number * kWarp];
  if (warp.live != ~0u && warp.op != WarpOp::Sync && warp.op != WarpOp::Vote)
    stop(lanes[__builtin_ctz(warp.live)], Fault::DivergentWarp, warp.site, "thread %u of the warp has exited",
         lanes[__builtin_ctz(~warp.live)].id);
  switch (warp.op) {
  case WarpOp::Sync:
    orderMemory(block, 1u << number);
    break;
  case WarpOp::Shuffle:
    shuffle(lanes);
    break;
  case WarpOp::Vote:
    vote(lanes, warp.live);
    break;
  case WarpOp::LoadMatrix:
    loadMatrix(lanes, warp.site);
    break;
  case WarpOp::StoreMatrix:
    storeMatrix(lanes, warp.site);
    break;
  case WarpOp::Mma:
    multiplyTile(lanes, lanes[0].mode, lanes[0].operand);
    break;
  }
  for (uint32_t i = kWarp; i-- > 0;) {
    Thread &t = lanes[i];
    if (&t == &self || !(warp.arrived >> i & 1))
      continue;
    t.state = State::Ready;
    block.scheduler->pushFront(&t);
  }
  warp.arrived = 0;
}

void recheckWarp(Thread &exited) {
  const Warp &warp = exited.parent->warps[exited.warp];
  if (warp.arrived && warp.arrived == warp.live)
    complete(*exited.parent, exited.warp, exited);
}

/// Waits for the other lanes at the same op; when it returns, the op is done.
static void meet(Thread &t, WarpOp op, uint32_t site) {
  Block &block = *t.parent;
  Warp &warp = block.warps[t.warp];
  if (warp.arrived == 0)
    warp.op = op, warp.site = site;
  else if (warp.op != op || warp.site != site)
    stop(t, Fault::DivergentWarp, site, "other threads of the warp wait at %s", block.kernel->sites[warp.site].c_str());
  warp.arrived |= 1u << t.id % kWarp;
  t.site = site;
  if (warp.arrived == warp.live) {
    complete(block, t.warp, t);
    return;
  }
  t.state = State::InWarp;
  suspend(t);
}

} // namespace mpc::rt::emulator

using namespace mpc::rt::emulator;

void mpc_emu_warp_sync(mpc_emu_thread *thread, uint32_t site) {
  meet(*static_cast<Thread *>(thread), WarpOp::Sync, site);
}

uint32_t mpc_emu_shuffle(mpc_emu_thread *thread, uint32_t mode, uint32_t value, uint32_t offset, uint32_t site) {
  Thread &t = *static_cast<Thread *>(thread);
  t.mode = mode, t.value = value, t.operand = offset;
  meet(t, WarpOp::Shuffle, site);
  return t.value;
}

uint32_t mpc_emu_vote(mpc_emu_thread *thread, uint32_t mode, uint32_t predicate, uint32_t site) {
  Thread &t = *static_cast<Thread *>(thread);
  t.mode = mode, t.value = predicate;
  meet(t, WarpOp::Vote, site);
  return t.value;
}

void mpc_emu_load_matrix(mpc_emu_thread *thread, uint64_t row, uint32_t count, uint32_t transpose, uint32_t site) {
  Thread &t = *static_cast<Thread *>(thread);
  t.address = row, t.operand = count, t.mode = transpose;
  meet(t, WarpOp::LoadMatrix, site);
}

void mpc_emu_store_matrix(mpc_emu_thread *thread, uint64_t row, uint32_t count, uint32_t transpose, uint32_t site) {
  Thread &t = *static_cast<Thread *>(thread);
  t.address = row, t.operand = count, t.mode = transpose;
  meet(t, WarpOp::StoreMatrix, site);
}

void mpc_emu_mma(mpc_emu_thread *thread, uint32_t element, uint32_t k, uint32_t site) {
  Thread &t = *static_cast<Thread *>(thread);
  t.mode = element, t.operand = k;
  meet(t, WarpOp::Mma, site);
}

/// Turns denormals into zeros of their sign, as .ftz does.
static float flush(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

float mpc_emu_approx(uint32_t function, float x) {
  // Computing in double makes the one rounding to f32 the correct one, except in very rare ties.
  double v = flush(x);
  double y = function == 0 ? std::exp2(v) : function == 1 ? std::log2(v) : function == 2 ? 1 / v : 1 / std::sqrt(v);
  return flush(float(y));
}
