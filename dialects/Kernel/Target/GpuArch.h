//===- GpuArch.h - what NVIDIA's architectures can do, as data --------------------===//
#ifndef MPC_KERNEL_TARGET_GPUARCH_H
#define MPC_KERNEL_TARGET_GPUARCH_H
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace mpc {

/// One architecture. Emitters choose by these facts, never by name.
/// Source: CUDA C++ Programming Guide 12.8, "Technical Specifications per Compute Capability" (table 30); PTX ISA 8.7 for instructions.
struct GpuArch {
  llvm::StringRef name;       ///< "sm_80": LLVM's CPU, ptxas's -arch, the name of the target
  int compute;                ///< 80
  int ptxVersion;             ///< 70 for PTX ISA 7.0: the first that has what we use of this architecture, so that old drivers take it too
  // Of the largest common part: P100, V100, T4, A100, RTX 3090, RTX 4090, H100 SXM. For estimates only. Source: NVIDIA's architecture whitepapers.
  int multiprocessors;
  int clockMHz;               ///< boost
  int globalGBs;              ///< bandwidth of memory, 10^9 bytes a second
  int l2MiB;
  int fmaPerClock;            ///< f32 multiply-adds of a multiprocessor
  int mmaPerClock;            ///< those of its tensor cores for 16-bit types with f32 sums; 0: none
  int sharedBytesPerBlock;    ///< with the opt-in above 48 KB
  int sharedBytesPerSm;
  int threadsPerSm;
  int blocksPerSm;
  int registersPerSm = 65536; ///< 32 bits each
  int registersPerThread = 255;
  // Instructions
  bool hasLoadMatrix = false; ///< kernel.load_matrix
  bool hasMmaF16K8 = false;   ///< kernel.mma f16 8
  bool hasMmaK16 = false;     ///< kernel.mma f16 16, bf16 16, tf32 8
  bool hasCopyAsync = false;  ///< kernel.copy_async and its commit and wait
  bool hasFloat8 = false; ///< kernel.encode_f8 and decode_f8 as instructions (sm_89 only from PTX ISA 8.1 on,
                          ///< which its row does not ask for)
  bool hasWgmma = false;      ///< wgmma, TMA, mbarrier transactions, clusters
  bool ptxasKnows = true;     ///< ptxas 13 has dropped what is older than sm_75; drivers up to R580 compile its PTX
};

/// All known architectures, oldest first.
llvm::ArrayRef<GpuArch> gpuArchs();
/// Null when there is none of this name.
const GpuArch *findGpuArch(llvm::StringRef name);
/// "sm_60, sm_70, ...", for messages.
std::string gpuArchNames();

/// Shared memory that a block has without asking for more at launch.
inline constexpr int staticSharedBytes = 48 * 1024;

} // namespace mpc
#endif
