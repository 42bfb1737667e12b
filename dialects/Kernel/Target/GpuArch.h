//===- GpuArch.h - what NVIDIA's architectures can do, as data --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_TARGET_GPUARCH_H
#define MPC_KERNEL_TARGET_GPUARCH_H
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace mpc {

/// One architecture. Schedules and emitters decide by these facts, never by its name. Each fact stands for one thing,
/// and a later architecture may lack what an earlier one has: sm_100 has tensor maps and clusters, but no wgmma.
/// Source: CUDA C++ Programming Guide 12.8, "Technical Specifications per Compute Capability" (table 30); PTX
/// ISA 8.7 for instructions.
struct GpuArch {
  llvm::StringRef name; ///< "sm_80": LLVM's CPU, ptxas's -arch, the name of the target
  int compute;          ///< 80
  /// 70 for PTX ISA 7.0: the first that has what kernels use of this architecture, so that old drivers take it too.
  int ptxVersion;
  /// The largest common part, whose numbers come next; GpuPart.h has others. Only estimates use the numbers. Source:
  /// NVIDIA's architecture whitepapers.
  llvm::StringRef part;
  int multiprocessors;
  int clockMHz;  ///< boost
  int globalGBs; ///< bandwidth of memory, 10^9 bytes a second
  int l2MiB;
  int fmaPerClock;         ///< f32 multiply-adds of a multiprocessor
  int mmaPerClock;         ///< multiply-adds of its tensor cores for 16-bit types with f32 sums; 0 where it has none
  double mmaShare = 1;     ///< the share of mmaPerClock that kernel.mma reaches; on H100 only kernel.wgmma reaches all
  int sharedBytesPerBlock; ///< including the opt-in above 48 KB
  int sharedBytesPerSm;
  int threadsPerSm;
  int blocksPerSm;
  int registersPerSm = 65536; ///< 32 bits each
  int registersPerThread = 255;
  int epilogueOps =
      8; ///< the most elementwise ops behind a product in its launch: their operands take registers, most of which the
         ///< sums already hold. (A host library adds a bias at most, dialects/Kernel/Analysis/HostCall.h.)
  // Instructions. Test GpuArchTest knows which facts need another one.
  bool hasLoadMatrix = false;     ///< kernel.load_matrix
  bool hasMmaF16K8 = false;       ///< kernel.mma f16 8
  bool hasMmaK16 = false;         ///< kernel.mma f16 16, bf16 16, tf32 8
  bool hasCopyAsync = false;      ///< kernel.copy_async and its commit and wait
  bool hasBF16Conversion = false; ///< kernel.round_bf16 as an instruction
  /// kernel.encode_f8 and decode_f8 as instructions (sm_89 only from PTX ISA 8.1 on, which its row does not ask for).
  bool hasFloat8 = false;
  /// Tensor maps (TMA): kernel.tensor_load and its kin, the barriers that count their bytes (kernel.mbarrier_init and
  /// its kin), and kernel.store_matrix, which prepares what they store.
  bool hasTensorMaps = false;
  bool hasClusters = false;       ///< blocks that share operands: kernel.cluster_rank, kernel.cluster_barrier
  bool hasWgmma = false;          ///< kernel.wgmma and its kin, kernel.set_registers
  bool hasFloat8Products = false; ///< kernel.wgmma of 8-bit floats, twice as fast as of 16-bit floats
  bool ptxasKnows = true; ///< ptxas 13 has dropped architectures older than sm_75; drivers up to R580 compile their PTX

  /// Returns whether code for this architecture runs on its compute capability alone, and not on newer ones: names with
  /// an `a` say so (PTX ISA, ".target").
  bool isExact() const { return name.ends_with("a"); }
};

/// All known architectures, oldest first.
llvm::ArrayRef<GpuArch> gpuArchs();
/// Null when there is none of this name.
const GpuArch *findGpuArch(llvm::StringRef name);
/// "sm_60, sm_70, ...", for messages.
std::string gpuArchNames();
/// The same for the architectures of which a fact holds: "sm_90a" for &GpuArch::hasWgmma.
std::string gpuArchNamesWith(bool GpuArch::*fact);

/// The shared memory that a block can have without asking for more at launch.
inline constexpr int staticSharedBytes = 48 * 1024;

} // namespace mpc
#endif
