"""Print how large the documentation and the interface are: `python -m generators.counts`, or `make counts`."""

from __future__ import annotations

import importlib
from types import ModuleType

from generators import ROOT, is_generated
from tileir.public import MODULES
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


def public_modules() -> list[ModuleType]:
    """`tileir` and its public modules."""
    return [importlib.import_module(name) for name in ("tileir", *[f"tileir.{name}" for name in sorted(MODULES)])]


def main() -> None:
    written = words()
    for folder, count in written.items():
        print(f"{count:8,}  words in {folder}")
    print(f"{sum(written.values()):8,}  words in all, without generated pages")
    names = {module.__name__: len(module.__all__) for module in public_modules()}
    for module, count in names.items():
        print(f"{count:8,}  names in {module}")
    print(f"{sum(names.values()):8,}  public names in all")
    print(f"{len(COMMANDS):8,}  commands")
    print(f"{sum([len(usage_of(name).options) for name in COMMANDS]):8,}  options of commands")


if __name__ == "__main__":
    main()
