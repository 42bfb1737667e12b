# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from typing import Callable, NamedTuple, Optional, Sequence


class Row(NamedTuple):
    name: str
    # The command runs in the row's folder; words are quoted as for a shell. `mpc` is the tool, and any other first word is a program in the folder; $LOSS is a loss
    # that fits the networks.
    command: str
    # The message must contain all of them.
    words: Sequence[str]
    # This makes the files that the command needs, in the given folder.
    make: Optional[Callable[[str], object]] = None
