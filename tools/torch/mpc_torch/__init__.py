"""The parts of tools/torch/export.py, which exports torch modules for training with mpc."""
