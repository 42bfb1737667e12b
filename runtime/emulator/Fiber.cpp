// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/emulator/Fiber.h"

#include "runtime/support/Error.h"

#include <cerrno>
#include <cstdint>
#include <sys/mman.h>
#ifdef MPC_EMU_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace mpc::rt::emulator {

// Kernels keep what LLVM spills, and call libm: a few KB. Untouched pages cost nothing.
constexpr size_t kStackBytes = 128 << 10;
constexpr size_t kGuardBytes = 4096;

Stacks::Stacks(size_t count) : count_(count), bytes_(count * (kStackBytes + kGuardBytes)) {
  void *memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    failErrno("emulator", "cannot reserve stacks", errno);
  base_ = static_cast<char *>(memory);
  for (size_t i = 0; i < count; ++i)
    if (mprotect(base_ + i * (kStackBytes + kGuardBytes), kGuardBytes, PROT_NONE) != 0)
      failErrno("emulator", "cannot protect stacks", errno);
}

#ifdef MPC_EMU_ASAN
/// Takes away AddressSanitizer's marks of computations on stacks that were never continued: the memory has another use
/// now. __asan_unpoison_memory_region would do it, but not under allow_user_poisoning=0, which tools/ci/sanitize.py
/// needs for LLVM's allocators.
__attribute__((no_sanitize_address)) static void clearMarks(const char *begin, const char *end) {
  size_t scale, offset;
  __asan_get_shadow_mapping(&scale, &offset);
  auto *mark = reinterpret_cast<volatile uint64_t *>((reinterpret_cast<uintptr_t>(begin) >> scale) + offset);
  for (auto *last = reinterpret_cast<volatile uint64_t *>((reinterpret_cast<uintptr_t>(end) >> scale) + offset);
       mark != last; ++mark)
    *mark = 0;
}
#else
static void clearMarks(const char *, const char *) {}
#endif

Stacks::~Stacks() {
  clearMarks(base_, base_ + bytes_);
  munmap(base_, bytes_);
}

void *Stacks::top(size_t i) const {
  // Tops at the same distance from a page's start would share a handful of cache sets.
  size_t colour = i % 32 * 320;
  return base_ + (i + 1) * (kStackBytes + kGuardBytes) - colour;
}

void *Stacks::bottom(size_t i) const { return base_ + i * (kStackBytes + kGuardBytes) + kGuardBytes; }

//===-- The switch: by hand, or by the C library ---------------------------------------===//

#if defined(__x86_64__) && !defined(MPC_EMU_UCONTEXT)
// The registers that a callee preserves (System V ABI), and the control words of SSE and x87. The layout of a saved
// context, from its address up: mxcsr and x87 control word (4 bytes each), r15, r14, r13, r12, rbx, rbp, return
// address. Loading a control word is slow, and they hardly ever differ: only then is it loaded (of mxcsr, the control
// bits count, not the flags of past exceptions).
asm(R"(
  .text
  .p2align 4
  .type mpc_emu_switch_context, @function
mpc_emu_switch_context:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  subq $8, %rsp
  stmxcsr (%rsp)
  fnstcw 4(%rsp)
  movl (%rsp), %eax
  movw 4(%rsp), %dx
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  xorl (%rsp), %eax
  testl $0xffc0, %eax
  je 1f
  ldmxcsr (%rsp)
1:
  cmpw %dx, 4(%rsp)
  je 2f
  fldcw 4(%rsp)
2:
  addq $8, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size mpc_emu_switch_context, .-mpc_emu_switch_context
  .type mpc_emu_start_context, @function
mpc_emu_start_context:
  movq %r12, %rdi
  callq *%r13
  ud2
  .size mpc_emu_start_context, .-mpc_emu_start_context
)");
extern "C" void mpc_emu_switch_context(void **from, void *to);
extern "C" void mpc_emu_start_context();

static void *makeRegisters(void *stackTop, void (*entry)(void *), void *argument) {
  uint64_t *frame = static_cast<uint64_t *>(stackTop) - 8;
  uint32_t mxcsr;
  uint16_t x87;
  asm volatile("stmxcsr %0\n fnstcw %1" : "=m"(mxcsr), "=m"(x87));
  frame[0] = mxcsr | uint64_t(x87) << 32;
  frame[1] = frame[2] = 0;
  frame[3] = reinterpret_cast<uint64_t>(entry);    // r13
  frame[4] = reinterpret_cast<uint64_t>(argument); // r12
  frame[5] = frame[6] = 0;
  frame[7] = reinterpret_cast<uint64_t>(&mpc_emu_start_context);
  return frame;
}

static void switchRegisters(void *&from, void *to) { mpc_emu_switch_context(&from, to); }

#else
} // namespace mpc::rt::emulator
#include <new>
#include <ucontext.h>
namespace mpc::rt::emulator {
// Other CPUs (or, to try it, -DMPC_EMU_UCONTEXT): the C library's contexts, which also save the signal mask
// with a system call.
namespace {
struct Saved {
  ucontext_t context;
  void (*entry)(void *);
  void *argument;
};
void start(unsigned high, unsigned low) {
  auto *saved = reinterpret_cast<Saved *>(uintptr_t(uint64_t(high) << 32 | low));
  saved->entry(saved->argument);
}
} // namespace

static void *makeRegisters(void *stackTop, void (*entry)(void *), void *argument) {
  // The context lies at the top of its own stack; the stack proper is below.
  char *place = reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(stackTop) - sizeof(Saved)) & ~uintptr_t(63));
  auto *saved = new (place) Saved{{}, entry, argument};
  getcontext(&saved->context);
  saved->context.uc_stack.ss_size = kStackBytes / 2;
  saved->context.uc_stack.ss_sp = place - kStackBytes / 2;
  uint64_t address = reinterpret_cast<uintptr_t>(saved);
  makecontext(&saved->context, reinterpret_cast<void (*)()>(start), 2, unsigned(address >> 32), unsigned(address));
  return saved;
}

static void switchRegisters(void *&from, void *to) {
  Saved here;
  from = &here;
  swapcontext(&here.context, &static_cast<Saved *>(to)->context);
}
#endif

#ifdef MPC_EMU_ASAN
} // namespace mpc::rt::emulator
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
namespace mpc::rt::emulator {
/// The stack of the running OS thread.
static Context ownStack() {
  thread_local Context own = [] {
    pthread_attr_t attributes;
    void *bottom = nullptr;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
      pthread_attr_getstack(&attributes, &bottom, &bytes);
      pthread_attr_destroy(&attributes);
    }
    return Context{nullptr, bottom, bytes};
  }();
  return own;
}

Context makeContext(const Stacks &stacks, size_t i, void (*entry)(void *), void *argument) {
  char *bottom = static_cast<char *>(stacks.bottom(i)), *top = static_cast<char *>(stacks.top(i));
  clearMarks(bottom, top);
  return {makeRegisters(top, entry, argument), bottom, size_t(top - bottom)};
}

void contextStarted() { __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr); }

void switchContext(Context &from, const Context &to) {
  if (!from.bottom)
    from = ownStack();
  void *fakeStack = nullptr;
  __sanitizer_start_switch_fiber(&fakeStack, to.bottom, to.bytes);
  switchRegisters(from.registers, to.registers);
  __sanitizer_finish_switch_fiber(fakeStack, nullptr, nullptr);
}
#else
Context makeContext(const Stacks &stacks, size_t i, void (*entry)(void *), void *argument) {
  return {makeRegisters(stacks.top(i), entry, argument)};
}
void contextStarted() {}
void switchContext(Context &from, const Context &to) { switchRegisters(from.registers, to.registers); }
#endif

} // namespace mpc::rt::emulator
