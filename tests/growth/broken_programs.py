"""Programs with more and more mistakes."""

from __future__ import annotations

from tests.growth.writing import Maker, each, kernel, module


def unknown_names(n: int) -> str:
    return kernel(each(n, lambda i: f"%s{i} = addi %u{i}, %u{i} : tile<i32>"))


def wrong_types(n: int) -> str:
    return kernel(each(n, lambda i: f"%s{i} = addi %f, %f : tile<f32>"))


def duplicates(n: int) -> str:
    return module("\n  ".join(["entry @e() { return }"] * (n + 1)))


def missing_globals(n: int) -> str:
    variables = "".join(each(n, lambda i: f"  global @g{i} <i32: {i}> : tile<1xi32>\n"))
    uses = each(n, lambda i: f"%u{i} = get_global @no{i} : tile<ptr<i32>>")
    return module("entry @k() {\n    " + "\n    ".join([*uses, "return"]) + "\n  }", variables)


def unknown_operations(n: int) -> str:
    return kernel(each(n, lambda i: f"%s{i} = nothing{i} %x : tile<i32>"))


def syntax_errors(n: int) -> str:
    return kernel(each(n, lambda i: f"%s{i} = addi %x %n : : tile<i32>"))


def undominated(n: int) -> str:
    """Uses before the definition."""
    lines = each(n, lambda i: f"%s{i} = addi %late, %late : tile<i32>")
    return kernel([*lines, "%late = addi %one, %one : tile<i32>"])


BROKEN: dict[str, Maker] = {
    "unknown names": unknown_names,
    "wrong types": wrong_types,
    "duplicate symbols": duplicates,
    "missing globals": missing_globals,
    "unknown operations": unknown_operations,
    "syntax errors": syntax_errors,
    "uses before definitions": undominated,
}
