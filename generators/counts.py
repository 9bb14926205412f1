"""Print how large the documentation and the interface are: `python -m generators.counts`, or `make counts`."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from types import ModuleType

from generators import ROOT, is_generated
from tileir.tools.commands import COMMANDS
from tileir.tools.more.completion import usage_of


def words() -> dict[str, int]:
    """The words of the pages that people write, by the folder in docs/."""
    found: dict[str, int] = {}
    for path in sorted((ROOT / "docs").rglob("*.md")):
        if not is_generated(path):
            folder = path.relative_to(ROOT).parent.as_posix()
            found[folder] = found.get(folder, 0) + len(path.read_text(encoding="utf-8").split())
    return found


def public_modules() -> Iterator[ModuleType]:
    """`tileir` and the modules directly in it that list what they make public."""
    package = ROOT / "src" / "tileir"
    for path in sorted([*package.glob("*.py"), *package.glob("*/__init__.py")]):
        # `annotations` stands for `typing` in tileir itself, and `public` has the lists of the others.
        lists = re.search(r"^(?:__all__ = |(?:\w+\.)?publish\()", path.read_text(encoding="utf-8"), re.MULTILINE)
        if lists and path.stem not in ("annotations", "public"):
            name = ".".join(["tileir", *path.relative_to(package).with_suffix("").parts])
            yield importlib.import_module(name.removesuffix(".__init__"))


def main() -> None:
    written = words()
    for folder, count in written.items():
        print(f"{count:8,}  words in {folder}")
    print(f"{sum(written.values()):8,}  words in all, without generated pages")
    for module in public_modules():
        print(f"{len(module.__all__):8,}  names in {module.__name__}")
    print(f"{len(COMMANDS):8,}  commands")
    print(f"{sum([len(usage_of(name).options) for name in COMMANDS]):8,}  options of commands")


if __name__ == "__main__":
    main()
