//===- PtxasTest.cpp - what ptxas prints, read back -----------------------------------===//
#include "compiler/Codegen/Ptxas.h"
#include <gtest/gtest.h>

using namespace mpc;

TEST(Ptxas, ReadsTheReport) {
  auto reports = parsePtxasReport("ptxas info    : 0 bytes gmem\n"
                                  "ptxas info    : Compiling entry function 'gemm' for 'sm_90a'\n"
                                  "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register resources for the wgmma pipeline crossing function boundary at a function call in the function 'gemm'\n"
                                  "ptxas info    : Function properties for gemm\n"
                                  "    96 bytes stack frame, 92 bytes spill stores, 88 bytes spill loads\n"
                                  "ptxas info    : Used 168 registers, used 3 barriers, 96 bytes cumulative stack size, 49152 bytes smem, 376 bytes cmem[0]\n"
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

static const char *twoKernels = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry a(\n)\n{\n  ret;\n}\n.visible .entry b(\n)\n{\n  frob.b32 %r1;\n  ret;\n}\n";

TEST(Ptxas, NamesTheKernelOfAnError) {
  EXPECT_EQ(describePtxasError("ptxas kernels.ptx, line 12; error   : Not a name of any known instruction: 'frob'\nptxas fatal   : Ptx assembly aborted due to errors\n", twoKernels),
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
