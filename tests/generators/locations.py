"""Random locations, with debug information that obeys the scope rules (docs/reference/conflicts.md F)."""

from __future__ import annotations

from random import Random

from tileir.dialect.debug_info import (
    DISubprogram,
    LocalScope,
    di_compile_unit,
    di_file,
    di_lexical_block,
    di_location,
    di_subprogram,
)
from tileir.ir.attributes import Attribute, string_attribute
from tileir.ir.location import (
    UNKNOWN,
    Location,
    call_site_location,
    file_location,
    fused_location,
    name_location,
)

_FILES = ("k.py", "a b.py", "größe.py", 'q"uote.py', "")


class LocationSource:
    """Draws locations for one function, or for what stands outside functions when it has no `subprogram`."""

    def __init__(self, rng: Random, enabled: bool, subprogram: DISubprogram | None = None) -> None:
        self.rng = rng
        self.enabled = enabled
        self.subprogram = subprogram
        self._scopes: list[LocalScope] = [] if subprogram is None else [subprogram]

    def for_function(self, name: str) -> LocationSource:
        """Locations for a function: with debug information as often as not."""
        rng = self.rng
        if not self.enabled or rng.random() < 0.5:
            return LocationSource(rng, self.enabled)
        return LocationSource(rng, self.enabled, subprogram_named(rng, name))

    def function_location(self) -> Location:
        """Never a call site; with a scope it is the subprogram itself."""
        if not self.enabled:
            return UNKNOWN
        if self.subprogram is None:
            return self._plain()
        location: Location = di_location(self._file(), self.subprogram)
        return self.rng.choice((location, location, name_location("f", location), fused_location((location,))))

    def location(self) -> Location:
        """A location an operation of the function may have."""
        if not self.enabled:
            return UNKNOWN
        rng = self.rng
        choice = rng.random()
        if choice < 0.3:
            return self._file()
        if choice < 0.4:
            return UNKNOWN
        if choice < 0.7 and self.subprogram is not None:
            return di_location(self._file(), self._scope())
        if choice < 0.8:
            callee = rng.choice((UNKNOWN, self._file(), self._foreign()))
            return call_site_location(callee, self._inner())
        if choice < 0.9:
            return name_location(rng.choice(("x", "größe", 'q"', "")), rng.choice((UNKNOWN, self._inner())))
        metadata: Attribute | None = rng.choice((None, None, string_attribute("fused by hand"), UNKNOWN))
        return fused_location(tuple([self._inner() for _ in range(rng.randrange(1, 4))]), metadata)

    def _inner(self) -> Location:
        """A location without a scope, or with one of this function."""
        rng = self.rng
        if self.subprogram is not None and rng.random() < 0.5:
            return di_location(self._file(), self._scope())
        return self._plain()

    def _plain(self) -> Location:
        rng = self.rng
        return rng.choice((UNKNOWN, self._file(), name_location("n", self._file()), fused_location((self._file(),))))

    def _file(self) -> Location:
        rng = self.rng
        return file_location(rng.choice(_FILES), rng.choice((0, 1, 7, (1 << 32) - 1)), rng.randrange(4))

    def _scope(self) -> LocalScope:
        """The subprogram or a block in it, new ones nested in old ones."""
        rng = self.rng
        scope = rng.choice(self._scopes)
        if rng.random() < 0.3:
            scope = di_lexical_block(scope, di_file("k.py", "/src"), rng.randrange(9), rng.choice((0, 3)))
            self._scopes.append(scope)
        return scope

    def _foreign(self) -> Location:
        """A callee may belong to any subprogram."""
        return di_location(self._file(), subprogram_named(self.rng, "helper"))


def subprogram_named(rng: Random, name: str) -> DISubprogram:
    file = di_file(rng.choice(_FILES), rng.choice(("/src", "")))
    unit = di_compile_unit(di_file("main.py", "/src"))
    return di_subprogram(file, rng.randrange(100), f"python {name}", name, unit, rng.choice((0, 5)))
