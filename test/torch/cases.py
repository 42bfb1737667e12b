# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Describes a network of the comparison: a module, inputs and the loss of one step."""
import torch
from torch.nn.functional import cross_entropy

CLASSES = 10
VOCABULARY = 61


class Case:
    """A network and one step of its training.

    `make` builds the module. `inputs` are forward's arguments by name. `labels` are the targets of the loss, or None where forward returns the
    loss itself. `outputs` names what forward returns, in order.
    """

    def __init__(self, make, inputs, labels=None, outputs=("logits",), tokens=False):
        self.make, self.inputs, self.labels, self.outputs, self.tokens = make, inputs, labels, list(outputs), tokens

    def loss(self, module, inputs, labels):
        """Computes in torch the loss that mpc is asked for."""
        result = module(**inputs)
        if labels is None:
            return result.loss
        logits = result if isinstance(result, torch.Tensor) else result.logits
        return cross_entropy(logits.flatten(0, 1), labels.flatten()) if self.tokens else cross_entropy(logits, labels)

    def mpc_loss(self):
        if self.labels is None:
            return "--loss=output:loss"
        return "--loss=softmax_cross_entropy:logits:labels" + (",axis=-1" if self.tokens else "")


def image(batch, size):
    return {"x": torch.randn(batch, 3, size, size)}


def classes(batch):
    return torch.randint(0, CLASSES, (batch,))


def ids(batch=2, tokens=6):
    return torch.randint(3, VOCABULARY, (batch, tokens))
