# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training step of torchvision's SSD300: its loss with 20 classes, on one made-up batch."""
import torch
import torchvision

BOXES = 8  # true boxes of a picture


def make_step(batch, device, autocast, wrap):
    """Returns a function that trains the network on one made-up batch and returns the loss. `autocast` makes a context, and `wrap` compiles the parts with weights."""
    model = torchvision.models.detection.ssd300_vgg16(weights=None, weights_backbone=None, num_classes=21).to(device, memory_format=torch.channels_last).train()
    model.backbone, model.head = wrap(model.backbone), wrap(model.head)
    images = [torch.rand(3, 300, 300, device=device) for _ in range(batch)]
    corners = torch.rand(batch, BOXES, 2, device=device) * 200
    boxes = torch.cat([corners, corners + 20 + 80 * torch.rand(batch, BOXES, 2, device=device)], dim=2)
    targets = [{"boxes": b, "labels": torch.randint(1, 21, (BOXES,), device=device)} for b in boxes]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9, fused=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with autocast():
            loss = sum(model(images, targets).values())
        loss.backward()
        optimizer.step()
        return loss
    return step
