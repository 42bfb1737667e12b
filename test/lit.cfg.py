# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lit configuration: `lit build/test` runs every .mlir and .test file under test/."""
import os
import shutil
import lit.formats

config.name = "mpc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.join(config.mpc_source_dir, "test")
config.test_exec_root = config.mpc_test_out
config.environment["PATH"] = os.pathsep.join(
    [config.mpc_bin_dir, config.llvm_tools_dir, config.environment.get("PATH", "")])
config.substitutions += [("%build", os.path.dirname(config.mpc_bin_dir)), ("%source", config.mpc_source_dir)]
# Compiled programs are in other folders and find oneDNN by this variable.
config.environment["MPC_LIBRARY_PATH"] = config.mpc_bin_dir
config.substitutions.append(("%shared", os.path.join(config.mpc_source_dir, "..", "shared")))
if os.path.isdir(os.path.join(config.mpc_source_dir, "..", "shared")):
    config.available_features.add("shared")
# Tests that measure sizes and memory, or link a program without the sanitizers, are left out of sanitized builds.
if config.mpc_sanitized:
    config.available_features.add("sanitized")
# Assembling PTX is optional: ptxas comes with the CUDA toolkit.
if shutil.which("ptxas") or any(os.path.exists(os.path.join(d, "bin", "ptxas")) for d in (os.environ.get("CUDA_HOME", ""), "/usr/local/cuda") if d):
    config.available_features.add("ptxas")
