"""The words of type annotations, without the cost of the `typing` module.

Importing `typing` takes a fifth of the time `tileir check` takes on a small file, and everything here is only ever
looked at by a type checker.  Type checkers treat a variable named TYPE_CHECKING as true.
"""

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Final, NoReturn, cast
else:
    Final = NoReturn = None

    def cast(type, value):
        """The value, which is known to be of the type."""
        return value


__all__ = ["TYPE_CHECKING", "Final", "NoReturn", "cast"]
