"""What was printed, to be used again: `$1`, `$` the last, `$$` the one before, `$$3` the third before it."""

from __future__ import annotations

import re
from typing import Any, Final

from tileir.serve.debugger.evaluation import ExpressionMistake, Opaque
from tileir.serve.debugger.variables import Result

_MOST_BYTES: Final = 1 << 28
"""Of arrays that are kept: older ones are forgotten."""
_NAME: Final = re.compile(r"(\$\$?)(\d{0,9})$")


class ValueHistory:
    """The values that `print` has shown, numbered from 1."""

    def __init__(self) -> None:
        self._values: dict[int, Any] = {}
        self._bytes: int = 0
        self.last: int = 0

    def add(self, result: Result) -> int:
        """Keep a value, and give its number."""
        self.last += 1
        value = result.value if result.value is not None else Opaque(result.type_text, result.shown)
        self._values[self.last] = value
        self._bytes += _size(value)
        while self._bytes > _MOST_BYTES and len(self._values) > 1:
            self._bytes -= _size(self._values.pop(next(iter(self._values))))
        return self.last

    def find(self, name: str) -> Any:
        """The value that `$1` or the like means; None for any other name."""
        read = _NAME.match(name)
        if read is None:
            return None
        back, digits = read[1] == "$$", read[2]
        number = self.last - int(digits or 1) if back else int(digits) if digits else self.last
        if number not in self._values:
            raise ExpressionMistake(f"the history of values has no {name}: its last is ${self.last}")
        return self._values[number]


def _size(value: Any) -> int:
    return int(getattr(value, "nbytes", 0))
