//===- PtxasTest.cpp - what ptxas prints, read back -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Codegen/Ptxas.h"
#include <gtest/gtest.h>

using namespace mpc;

TEST(Ptxas, ReadsTheReport) {
  auto reports = parsePtxasReport("ptxas info    : 0 bytes gmem\n"
                                  "ptxas info    : Compiling entry function 'gemm' for 'sm_90a'\n"
                                  "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions "
                                  "are serialized due to insufficient register resources for the wgmma pipeline "
                                  "crossing function boundary at a function call in the function 'gemm'\n"
                                  "ptxas info    : Function properties for gemm\n"
                                  "    96 bytes stack frame, 92 bytes spill stores, 88 bytes spill loads\n"
                                  "ptxas info    : Used 168 registers, used 3 barriers, 96 bytes cumulative stack "
                                  "size, 49152 bytes smem, 376 bytes cmem[0]\n"
                                  "ptxas info    : Compile time = 12.3 ms\n"
                                  "ptxas info    : Compiling entry function 'relu' for 'sm_90a'\n"
                                  "ptxas info    : Function properties for relu\n"
                                  "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                                  "ptxas info    : Used 10 registers, used 0 barriers, 368 bytes cmem[0]\n");
  ASSERT_EQ(reports.size(), 2u);
  const PtxasReport &gemm = reports["gemm"], &relu = reports["relu"];
  EXPECT_EQ(gemm.registers, 168);
  EXPECT_EQ(gemm.barriers, 3);
  EXPECT_EQ(gemm.stackBytes, 96);
  EXPECT_EQ(gemm.spillStoreBytes, 92);
  EXPECT_EQ(gemm.spillLoadBytes, 88);
  EXPECT_EQ(gemm.sharedBytes, 49152);
  EXPECT_EQ(gemm.constantBytes, 376);
  ASSERT_EQ(gemm.warnings.size(), 1u);
  EXPECT_EQ(gemm.warnings[0].rfind("(C7510) Potential Performance Loss", 0), 0u);
  EXPECT_EQ(relu.registers, 10);
  EXPECT_EQ(relu.sharedBytes, 0);
  EXPECT_EQ(relu.spillStoreBytes, 0);
  EXPECT_TRUE(relu.warnings.empty());
}

static const char *twoKernels = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry a(\n)\n{\n  "
                                "ret;\n}\n.visible .entry b(\n)\n{\n  frob.b32 %r1;\n  ret;\n}\n";

TEST(Ptxas, NamesTheKernelOfAnError) {
  EXPECT_EQ(describePtxasError("ptxas kernels.ptx, line 12; error   : Not a name of any known instruction: "
                               "'frob'\nptxas fatal   : Ptx assembly aborted due to errors\n",
                               twoKernels),
            "in kernel 'b': error   : Not a name of any known instruction: 'frob': frob.b32 %r1;");
  EXPECT_EQ(describePtxasError("ptxas fatal   : Value 'sm_70' is not defined for option 'gpu-name'\n", twoKernels),
            "ptxas fatal   : Value 'sm_70' is not defined for option 'gpu-name'");
}

TEST(Ptxas, RefusesWhatIsNoPtx) {
  std::string path = findPtxas();
  if (path.empty())
    GTEST_SKIP() << "no ptxas on this machine";
  PtxasResult result = runPtxas(path, twoKernels, *findGpuArch("sm_80"));
  EXPECT_TRUE(result.cubin.empty());
  EXPECT_NE(result.error.find("in kernel 'b'"), std::string::npos) << result.error;
}

TEST(PtxInstructions, AreCountedByKernel) {
  auto counts =
      countPtxInstructions(".visible .entry gemm(\n\t.param .u64 gemm_param_0\n)\n{\n"
                           "\tld.global.nc.v4.b32 \t{%r1, %r2, %r3, %r4}, [%rd1];\n"
                           "\t@%p1 ld.global.b32 \t%r5, [%rd1];\n"
                           "\tld.shared.v4.b32 \t{%r1, %r2, %r3, %r4}, [%r9];\n"
                           "\tcp.async.cg.shared.global [%r1], [%rd4], 16;\n\tcp.async.commit_group;\n"
                           "\tldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%r5];\n"
                           "\tmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r5}, {%f1};\n"
                           "\tmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r5}, {%f1};\n"
                           "\tst.global.v2.b64 \t[%rd5], {%rd6, %rd7};\n}\n"
                           ".visible .entry relu(\n)\n{\n\tst.global.b16 \t[%rd5], %rs1;\n"
                           "\twgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%f1}, %rd1, %rd2, p, 1, 1, 0, 0;\n"
                           "\tcp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], "
                           "[%rd1, {%r2, %r3}], [%r4];\n}\n");
  ASSERT_EQ(counts.size(), 2u);
  const PtxInstructions &gemm = counts["gemm"], &relu = counts["relu"];
  EXPECT_EQ(gemm.mma, 2);
  EXPECT_EQ(gemm.loadMatrix, 1);
  EXPECT_EQ(gemm.copyAsync, 1);
  EXPECT_EQ(gemm.wideLoads, 1);
  EXPECT_EQ(gemm.otherLoads, 1);
  EXPECT_EQ(gemm.wideStores, 1);
  EXPECT_EQ(gemm.wgmma + gemm.tensorCopies + gemm.otherStores, 0);
  EXPECT_EQ(relu.wgmma, 1);
  EXPECT_EQ(relu.tensorCopies, 1);
  EXPECT_EQ(relu.otherStores, 1);
  EXPECT_EQ(relu.mma, 0);
}
