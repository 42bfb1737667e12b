from typing import Callable, NamedTuple, Optional, Sequence


class Row(NamedTuple):
    name: str
    # Run in the row's folder. `mpc` is the tool, any other first word a program in the folder; $LOSS is a loss that fits the networks.
    command: str
    # All of them are in what it says.
    words: Sequence[str]
    # Makes the files that the command needs, in this folder.
    make: Optional[Callable[[str], object]] = None
