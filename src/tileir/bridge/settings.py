"""How scripts are emulated: the options of `tileir emulate`, of TILEIR_EMULATE and of the pytest plugin, read once.

Nothing is imported here: a process that TILEIR_EMULATE is set for may never launch a kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tileir.execute.sanitizer.report import Names

VARIABLE = "TILEIR_EMULATE"
BlockId = tuple[int, int, int]

# Each option and what it takes; those that take nothing are switches.
OPTIONS = {
    "backend": "NAME",
    "target": "NAME",
    "sanitize": "errors|all",
    "watch-nan": "",
    "trace": "[KERNEL:]X[,Y[,Z]]",
    "names": "script|tile",
    "pdb": "",
    "exact": "",
    "fast": "",
}
NO = ("", "0", "no", "off", "false")
_YES = ("1", "yes", "on", "true")


class InvalidSettings(ValueError):
    """Options that make no sense; the message explains why."""


class Settings:
    """What a script is run with.

    `target` is "" for the default one, `sanitize` False, True or "all", `trace` the name of a kernel, or "" for
    all, and a tile block.
    """

    backend: str = "auto"
    target: str = ""
    sanitize: bool | str = False
    watch_nan: bool = False
    trace: tuple[str, BlockId] | None = None
    names: Names = "script"
    pdb: bool = False
    exact: bool = False
    fast: bool = False

    @property
    def watches(self) -> bool:
        """Whether launches are checked, so that there is a summary at the end."""
        return bool(self.sanitize) or self.watch_nan

    @property
    def observes(self) -> bool:
        """Whether launches are observed."""
        return self.watches or self.trace is not None or self.pdb or self.names == "tile"

    def words(self) -> str:
        """The value of TILEIR_EMULATE for the processes that a script starts."""
        found = []
        for name in OPTIONS:
            attribute = _attribute(name)
            value = getattr(self, attribute)
            # Not `pdb`: a process without a terminal of its own cannot be talked to.
            if value == getattr(Settings, attribute) or name == "pdb":
                continue
            if name == "trace":
                kernel, block = value
                value = f"{f'{kernel}:' if kernel else ''}{','.join([str(number) for number in block])}"
            found.append(name if value is True else f"{name}={value}")
        return " ".join(found) or "1"


def _attribute(name: str) -> str:
    """The attribute of `Settings` that has an option."""
    return name.replace("-", "_")


def settings_of(options: list[tuple[str, str | None]]) -> Settings:
    """Settings from options by name, with what was given for each."""
    found = Settings()
    for name, value in options:
        if name not in OPTIONS:
            raise InvalidSettings(f"there is no option '{name}': use {', '.join(OPTIONS)}")
        takes = OPTIONS[name]
        if value is not None and not takes:
            raise InvalidSettings(f"{name} takes no value, but '{value}' was given")
        if not value and takes and name != "sanitize":
            raise InvalidSettings(f"{name} needs a value: {name}={takes}")
        setattr(found, _attribute(name), _READERS.get(name, str)(value or "") if takes else True)
    if found.exact and found.fast:
        raise InvalidSettings("exact and fast contradict each other: use one of them")
    return found


def settings_of_variable(text: str) -> Settings | None:
    """The settings of a value of TILEIR_EMULATE: none, `1`, or options as in `sanitize target=b200`."""
    text = text.strip()
    if text.lower() in NO:
        return None
    if text.lower() in _YES:
        return Settings()
    options: list[tuple[str, str | None]] = []
    for word in text.split():
        name, equals, value = word.partition("=")
        options.append((name.removeprefix("--"), value if equals else None))
    return settings_of(options)


def names_of(text: str) -> Names:
    """Parse the option for names in traces and reports: those of the script or of the tile program."""
    if text == "script":
        return "script"
    if text == "tile":
        return "tile"
    raise InvalidSettings(f"there are no names of '{text}': use script or tile")


def trace_block_of(text: str) -> tuple[str, BlockId]:
    """A tile block, of one kernel or of all: `2`, `0,1`, `matmul:0,1,0`."""
    kernel, _, block = text.rpartition(":")
    numbers = block.split(",")
    if not 1 <= len(numbers) <= 3 or not all(number.strip().isdecimal() for number in numbers):
        raise InvalidSettings(f"'{text}' is no tile block: give one to three numbers, as in 0 or 2,1 or matmul:0,3")
    x, y, z = [*[int(number) for number in numbers], 0, 0][:3]
    return kernel, (x, y, z)


def _sanitize_of(text: str) -> bool | str:
    if text not in ("", "errors", "all"):
        raise InvalidSettings(f"'{text}' is not a value of sanitize: use sanitize or sanitize=all")
    return "all" if text == "all" else True


# What reads the values of these options; those of the others are kept as they are.
_READERS: dict[str, Callable[[str], object]] = {
    "names": names_of,
    "sanitize": _sanitize_of,
    "trace": trace_block_of,
}
