"""Where results come from: whether a kernel was given their memory, and what torch was asked to compute.

Notes for whoever reads the verdict.  A module may well add up what its kernels left, or have torch do a part of the
work; one that launches a kernel for show and lets torch compute says so here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from tileir.execute.arguments.binding import Pointer, buffer_of, is_array
from tileir.execute.errors import LaunchError
from tileir.judge.kernels.protocol import results_of

# Operators that compute nothing: they make tensors, move them, or look at them in another way.
_NOTHING: Final = frozenset(
    (
        "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "zeros", "zeros_like", "new_zeros",
        "ones", "ones_like", "new_ones", "full", "full_like", "new_full", "fill_", "zero_", "arange", "scalar_tensor",
        "view", "_unsafe_view", "reshape", "_reshape_alias", "t", "transpose", "permute", "expand", "as_strided",
        "slice", "select", "narrow", "unsqueeze", "squeeze", "detach", "alias", "unbind", "split", "chunk", "flatten",
        "copy_", "clone", "contiguous", "_to_copy", "to", "lift_fresh", "_local_scalar_dense", "item", "resize_",
        "randn", "rand", "random_", "normal_", "uniform_",
    )
)  # fmt: skip


class Origins:
    """What is noted during one run."""

    def __init__(self) -> None:
        self.ranges: list[tuple[int, int]] = []
        """The memory of arrays that kernels were given."""
        self.operators: dict[str, int] = {}
        """Operators of torch that compute something, and how often each was called."""
        self.elsewhere: list[int] = []
        """Results that are in none of that memory."""

    def note_launch(self, values: list[object]) -> None:
        """That a kernel is given these arguments."""
        for value in values:
            if isinstance(value, Pointer):
                buffer = buffer_of(value.array, value.name)
                self.ranges.append((buffer.low, buffer.high))

    def watch(self, function: Callable[[Any], Any], inputs: Any) -> Any:
        """Call a function, and note what it does beside launches."""
        torch: Any = sys.modules.get("torch")
        if torch is None:
            found = function(inputs)
        else:
            with _counting(self.operators):
                found = function(inputs)
        for number, value in enumerate(results_of(found)):
            if is_array(value) and not self._is_known(value):
                self.elsewhere.append(number)
        return found

    def _is_known(self, value: object) -> bool:
        try:
            buffer = buffer_of(value, "a result")
        except LaunchError:
            return True
        return buffer.low == buffer.high or any(low < buffer.high and buffer.low < high for low, high in self.ranges)

    @property
    def notes(self) -> dict[str, Any]:
        """For the table; nothing if all results are in memory that kernels were given, and torch computed nothing."""
        found: dict[str, Any] = {}
        if self.elsewhere:
            found["not_from_kernels"] = self.elsewhere
        if self.operators:
            found["torch"] = dict(sorted(self.operators.items()))
        return found


def _counting(operators: dict[str, int]) -> Any:
    """A context in which torch's operators are counted."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counting(TorchDispatchMode):  # type: ignore[misc]
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            """Else torch imports its compiler at the first operator, in each child anew, which takes seconds."""
            return False

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            name = str(func.overloadpacket.__name__)
            if name not in _NOTHING:
                operators[name] = operators.get(name, 0) + 1
            return func(*args, **(kwargs or {}))

    return Counting()
