"""Mistakes in the arguments of a launch, of the classes that cuTile raises: a script may catch those.

Each may come with what cuTile says of the same mistake, which whoever knows cuTile recognizes.
"""

from __future__ import annotations

from tileir.execute.errors import LaunchError


class _WrongType(LaunchError, TypeError):
    pass


class _WrongValue(LaunchError, ValueError):
    pass


class _TooLarge(LaunchError, OverflowError):
    pass


def wrong_type(message: str, cutile: str = "") -> LaunchError:
    """An argument of a kind that the kernel does not take."""
    return _WrongType(_with_cutiles_words(message, cutile))


def wrong_value(message: str, cutile: str = "") -> LaunchError:
    """An argument, or a grid, that does not suit."""
    return _WrongValue(_with_cutiles_words(message, cutile))


def too_large(message: str, cutile: str = "") -> LaunchError:
    """A number that does not fit."""
    return _TooLarge(_with_cutiles_words(message, cutile))


def _with_cutiles_words(message: str, cutile: str) -> str:
    return f"{message} (cuTile: {cutile})" if cutile else message
