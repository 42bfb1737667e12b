# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""DCGAN of tools/models in PyTorch, with the usual training loop: the discriminator's step on a batch of pictures and one of generated ones, then the generator's,
which uses these pictures again. (mpc's steps are programs of their own, so its generator computes them twice.) There is no gradient scaler, so fp16 is refused."""
import torch
from torch import nn
from torch.nn import functional as F


class Generator(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.project = nn.ConvTranspose2d(100, 8 * width, 4, bias=False)
        layers = []
        for c_in, c_out in ((8, 4), (4, 2), (2, 1)):
            layers += [nn.BatchNorm2d(c_in * width), nn.ReLU(), nn.ConvTranspose2d(c_in * width, c_out * width, 5, 2, 2, 1, bias=False)]
        self.body = nn.Sequential(*layers, nn.BatchNorm2d(width), nn.ReLU(), nn.ConvTranspose2d(width, 3, 5, 2, 2, 1), nn.Tanh())

    def forward(self, noise):
        return self.body(self.project(noise))


def discriminator(width):
    channels, layers = [3, width, 2 * width, 4 * width, 8 * width], []
    for i, (c_in, c_out) in enumerate(zip(channels, channels[1:])):
        layers += [nn.Conv2d(c_in, c_out, 5, 2, 2, bias=False), *([nn.BatchNorm2d(c_out)] if i else []), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(8 * width * 16, 1))


def make_step(batch, device, autocast, wrap, width=128):
    """Returns a function that trains both networks on one made-up batch and returns the discriminator's loss. `autocast` makes a context, and `wrap` compiles a module."""
    g, d = (module.to(device, memory_format=torch.channels_last) for module in (Generator(width), discriminator(width)))
    real = torch.randn(batch, 3, 64, 64, device=device).to(memory_format=torch.channels_last)
    optimizers = [torch.optim.Adam(module.parameters(), lr=2e-4, betas=(0.5, 0.999), fused=True) for module in (d, g)]
    run_g, run_d = wrap(g), wrap(d)

    def update(optimizer, loss):
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    def step():
        with autocast():
            fake = run_g(torch.randn(batch, 100, 1, 1, device=device))
            loss = F.softplus(-run_d(real)).mean() + F.softplus(run_d(fake.detach())).mean()
        update(optimizers[0], loss)
        d.requires_grad_(False)  # as in mpc, whose generator's step computes no gradients of the discriminator's weights
        with autocast():
            fooled = F.softplus(-run_d(fake)).mean()
        update(optimizers[1], fooled)
        d.requires_grad_(True)
        return loss
    return step
