"""What the installed `cuda.tile` has, and the operations of Tile IR that its functions become."""

from __future__ import annotations

import ast
import enum
import inspect
import re
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, Final

from tileir.ir.registry import REGISTRY

_ROLE = re.compile(r":\w+:`([^`<]+?)(?:\s*<[^`>]+>)?`")
_REFERENCE = re.compile(r"\|([^|\n]+)\|")


@dataclass(frozen=True)
class Member:
    """A name of `cuda.tile`."""

    name: str
    kind: str
    """"function", "type", "enum", "dtype", "module" or "value"."""
    signature: inspect.Signature | None
    documentation: str
    """In Markdown."""
    choices: tuple[str, ...] = ()
    """The values of an enumeration."""

    @property
    def head(self) -> str:
        """As it is called."""
        shown = "" if self.signature is None or self.kind in ("enum", "dtype", "value") else _shown(self.signature)
        return f"{self.name}{shown}"

    @property
    def parameters(self) -> list[inspect.Parameter]:
        return [] if self.signature is None else list(self.signature.parameters.values())

    @property
    def keywords(self) -> list[str]:
        """The names of parameters that a call may write."""
        return [each.name for each in self.parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]


@dataclass(frozen=True)
class Library:
    """What an installed `cuda.tile` has."""

    members: dict[str, Member]
    accepted: frozenset[type[ast.AST]]
    """The statements and expressions that kernels may have; empty if this version does not list them."""


@cache
def library() -> Library | None:
    """The package that is installed; None if there is none that can be imported."""
    try:
        import cuda.tile as tile
    except Exception:  # It loads libraries of the system, which may fail in any way.
        return None
    members = {name: _member(name, getattr(tile, name)) for name in dir(tile) if not name.startswith("_")}
    try:
        # The statements and expressions with a handler in the front end.
        from cuda.tile._passes import ast2hir

        accepted = frozenset([*ast2hir._stmt_handlers, *ast2hir._expr_handlers, ast.Starred])
    except Exception:  # Another version, which keeps them elsewhere.
        accepted = frozenset()
    return Library(members, accepted)


def _member(name: str, value: Any) -> Member:
    choices: tuple[str, ...] = ()
    if isinstance(value, ModuleType):
        kind = "module"
    elif isinstance(value, type) and issubclass(value, enum.Enum):
        kind, choices = "enum", tuple(value.__members__)
    elif isinstance(value, type):
        kind = "type"
    elif inspect.isroutine(value):
        kind = "function"
    else:
        kind = "dtype" if type(value).__name__ == "DType" else "value"
    try:
        signature = inspect.signature(value) if kind in ("function", "type") else None
    except (TypeError, ValueError):
        signature = None
    return Member(name, kind, signature, markdown(inspect.getdoc(value) or ""), choices)


def _shown(signature: inspect.Signature) -> str:
    """A signature without quotes around annotations, and with the names of enumerations for their values."""
    text = re.sub(r"<(\w+\.\w+): [^<>]*>", r"\1", str(signature))
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)


def markdown(text: str) -> str:
    """Documentation in reStructuredText, for who shows Markdown: examples as code, references as words."""
    lines: list[str] = []
    in_code = False
    for line in text.splitlines():
        is_start = line.strip() in ("Examples:", "Example:") or line.strip().startswith(
            (".. testcode", ".. code-block")
        )
        if line.strip().startswith(".. ") and (in_code or not is_start):
            continue
        indented = line.startswith("    ") or not line.strip()
        if in_code and not indented:
            lines.append("```")
            in_code = False
        if is_start and not in_code:
            lines += ["**Example**", "", "```python"] if not line.startswith(" ") else ["```python"]
            in_code = True
            continue
        lines.append(line if in_code else _REFERENCE.sub(r"\1", _ROLE.sub(r"`\1`", line)).replace("``", "`"))
    if in_code:
        lines.append("```")
    return "\n".join(lines).strip()


# Operations, and the functions that become them; other functions become the operations of their own name.
_FUNCTIONS: Final = {
    "iota": "arange",
    "reduce": "argmax argmin max min prod sum",
    "assume": "assume_divisible_by",
    "ftof ftoi itof exti trunci": "astype",
    "atomic_rmw_tko": "atomic_add atomic_and atomic_max atomic_min atomic_or atomic_xchg atomic_xor",
    "get_tile_block_id": "bid",
    "andi": "bitwise_and",
    "shli": "bitwise_lshift",
    "xori": "bitwise_not bitwise_xor",
    "ori": "bitwise_or",
    "shri": "bitwise_rshift",
    "reshape broadcast": "broadcast_to",
    "divi": "cdiv floordiv",
    "scan": "cumprod cumsum",
    "cmpf cmpi": "equal greater greater_equal less less_equal not_equal",
    "reshape": "expand_dims",
    "constant broadcast": "full",
    "offset load_ptr_tko": "gather",
    "cmpf": "isnan",
    "entry": "kernel",
    "make_partition_view load_view_tko": "load",
    "make_gather_scatter_view load_view_tko": "load_advanced_indexing",
    "mmaf mmai": "matmul",
    "maxf maxi": "maximum",
    "minf mini": "minimum",
    "mmaf_scaled": "mma_scaled",
    "remf remi": "mod",
    "negf negi": "negative",
    "get_num_tile_blocks": "num_blocks",
    "get_index_space_shape": "num_tiles",
    "constant": "ones zeros",
    "pack": "pack_to_bytes",
    "pow": "pow",
    "print_tko": "print printf",
    "offset store_ptr_tko": "scatter",
    "make_partition_view store_view_tko": "store",
    "make_gather_scatter_view store_view_tko": "store_advanced_indexing",
    "tanh": "tanh",
    "permute": "transpose",
    "divf": "truediv",
    "unpack": "unpack_from_bytes",
    "select": "where",
}
_OPERATIONS: Final = {name: tuple(found.split()) for found, names in _FUNCTIONS.items() for name in names.split()}


def operations_of(function: str) -> tuple[str, ...]:
    """The operations that a function of `cuda.tile` becomes: `addf` and `addi` for `add`."""
    if function in _OPERATIONS:
        return _OPERATIONS[function]
    name = function.rstrip("_")
    declared = [REGISTRY.by_name.get(f"cuda_tile.{name}{suffix}") for suffix in ("", "f", "i", "_tko")]
    return tuple([each.mnemonic for each in declared if each is not None and not (each.testing or each.draft_only)])
