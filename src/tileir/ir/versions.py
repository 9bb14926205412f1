"""The versions of the dialect."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.ir.diagnostics import VersionError

Version = tuple[int, int]

V13_1: Final[Version] = (13, 1)
V13_2: Final[Version] = (13, 2)
V13_3: Final[Version] = (13, 3)
V13_4: Final[Version] = (13, 4)
V13_5: Final[Version] = (13, 5)
RELEASED: Final[Version] = V13_4
"""The newest version that NVIDIA's assembler reads, and the default for writing."""
NEWEST: Final[Version] = V13_5
"""The newest version that is read and checked."""
PREVIEW: Final = "tileir.preview"
"""The attribute of a module whose file has the preview bit in its header.  It is written back as this bit."""
VERSIONS: Final[tuple[Version, ...]] = (V13_1, V13_2, V13_3, V13_4, V13_5)


def version_text(version: Version) -> str:
    return f"{version[0]}.{version[1]}"


VERSION_NAMES: Final[tuple[str, ...]] = tuple([version_text(version) for version in VERSIONS])
NEWEST_NAME: Final[str] = version_text(NEWEST)
RELEASED_NAME: Final[str] = version_text(RELEASED)


def version_named(name: object) -> Version:
    """The version that a text such as "13.2" names."""
    if not isinstance(name, str):
        raise TypeError(f"a version is a text, such as '{RELEASED_NAME}', not {name!r}")
    for version in VERSIONS:
        if name == version_text(version):
            return version
    raise VersionError(f"'{name}' is not a version of the dialect: {', '.join(VERSION_NAMES)}")
