# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parts of tools/torch/export.py, which exports torch modules for training with mpc."""
