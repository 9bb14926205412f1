"""Mistakes in the arguments of a launch, of the classes that cuTile raises: a script may catch those.

Each may come with what cuTile says of the same mistake, which whoever knows cuTile recognizes.
"""

from __future__ import annotations

from tileir.execute.errors import LaunchError


class _Mistake(LaunchError):
    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Pickled as what it is to users."""
        return LaunchError, (self.message,)


class _WrongType(_Mistake, TypeError):
    pass


class _WrongValue(_Mistake, ValueError):
    pass


class _TooLarge(_Mistake, OverflowError):
    pass


for _kind in (_WrongType, _WrongValue, _TooLarge):
    # Shown as what they are to users.
    _kind.__name__ = _kind.__qualname__ = LaunchError.__name__
    _kind.__module__ = LaunchError.__module__


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
