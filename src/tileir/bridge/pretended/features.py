"""Changes to another library, feature by feature: what does not fit its version is left out with one warning."""

from __future__ import annotations

import importlib
from collections.abc import Iterable

from tileir.execute.errors import warn_caller


def install(library: str, version: object, features: Iterable[tuple[str, str]], *arguments: object) -> None:
    """Call the function of each feature (`"module.function"` of this package); without the first there is no other.

    Importing the module may fail as well as the call.  Warnings come last, since they may be errors.
    """
    left_out: dict[str, str] = {}
    needed = None
    for feature, name in features:
        needed = needed or feature
        module, _, function = name.partition(".")
        try:
            getattr(importlib.import_module(f"tileir.bridge.pretended.{module}"), function)(*arguments)
        except Exception as error:
            left_out[feature] = f"{type(error).__name__}: {error}"
            if feature == needed:
                break
    for feature, reason in left_out.items():
        warn_caller(f"tileir: {library} {version}: {feature} is not emulated ({reason})", RuntimeWarning)
