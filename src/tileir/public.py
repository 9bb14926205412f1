"""Public modules as tables: a name is imported from its home when it is first used.

The command line passes through `tileir/__init__.py` on its way to what it needs, and checks a small program in the time
that a few imports take.  Type checkers read the names in stubs, which `make docs` writes from the tables.
"""

from __future__ import annotations

import sys

# The names of each public module, with the module that defines each; and the public modules in a package.
TABLES: dict[str, dict[str, str]] = {}
MODULES: dict[str, tuple[str, ...]] = {}


def publish(module: str, homes: dict[str, str], running: dict[str, str] | None = None, modules: str = "") -> None:
    """Give a module the names of a table, which has the names by the module that defines them.

    What is in `running` needs NumPy and ml_dtypes: without them it is a placeholder that says so when it is called.
    `modules` are those that are found without an import.
    """
    running = running or {}
    table = TABLES[module] = {name: home for home, names in {**homes, **running}.items() for name in names.split()}
    inside = MODULES[module] = tuple(modules.split())
    target = vars(sys.modules[module])

    def find(name: str) -> object:
        if name in inside:
            return __import__(f"{module}.{name}", fromlist=[name])
        if name not in table:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        # Operations get their text from here, whichever name was asked for first.
        __import__("tileir.interface")
        home = table[name]
        if home in running:
            from tileir.execute.errors import MissingDependencyError, placeholder

            try:
                # The one that says what to install.
                __import__("tileir.execute.launching.kernel")
            except MissingDependencyError as missing:
                # Not kept: the package may be installed while this process goes on.
                return placeholder(module, name, missing)
        value: object = getattr(__import__(home, fromlist=[name]), name)
        target[name] = value
        return value

    target["__all__"] = sorted(table)
    target["__getattr__"] = find
    target["__dir__"] = lambda: sorted({*target, *table, *inside})
