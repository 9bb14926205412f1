"""The names of type annotations, without the cost of the modules that define them.

Importing `typing` or `collections.abc` takes a good part of the time that `tileir dis` takes on a small file, and only
a type checker needs these names.  Type checkers treat a variable named TYPE_CHECKING as true.
"""

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, ClassVar, Final, Generic, NoReturn, Protocol, TypeVar, cast

    # For mypyc: an integer of four bytes, and attributes of classes.
    from mypy_extensions import i32, mypyc_attr

    Part = TypeVar("Part")
else:
    # Loaded with Python itself, unlike `collections.abc`, which comes with all of `collections`.
    from _collections_abc import Callable, Iterable, Iterator, Sequence

    Any = ClassVar = Final = NoReturn = Part = None
    Protocol = object
    i32 = int

    class Generic:
        """Base of classes with a type parameter."""

        __slots__ = ()

        def __class_getitem__(cls, parameter):
            return cls

    def cast(type, value):
        """The value, which is known to be of the type."""
        return value

    def mypyc_attr(**arguments):
        """The class as it is."""
        return lambda made: made


__all__ = [
    "TYPE_CHECKING", "Any", "Callable", "ClassVar", "Final", "Generic", "Iterable", "Iterator", "NoReturn", "Part",
    "Protocol", "Sequence", "cast", "i32", "mypyc_attr",
]  # fmt: skip
