"""What an operation or the label of a block defines: the tokens, and the scope that each name belongs to."""

from __future__ import annotations

from collections.abc import Iterator

from tileir.dialect.ops import FOR
from tileir.ir.traits import SYMBOL, SYMBOL_TABLE
from tileir.serve.language.structure import WrittenOperation, WrittenRegion

VALUE = "value"
SYMBOL_KIND = "symbol"
BLOCK = "block"
ALIAS = "alias"


def labelled(tokens: list[str], region: WrittenRegion) -> Iterator[tuple[str, int]]:
    """The labels of the blocks of a region and the arguments of each: kinds and tokens."""
    for label in region.labels:
        yield BLOCK, label
        place = label + 1
        if tokens[place] == "(":
            place += 1
            while tokens[place] not in (")", "", "{", "}"):
                if tokens[place][:1] == "%" and tokens[place + 1] == ":":
                    yield VALUE, place
                place += 1


def defined_by(tokens: list[str], operation: WrittenOperation) -> Iterator[tuple[str, int, WrittenRegion | None]]:
    """What an operation defines, but for what is in its regions: kinds, tokens and scopes."""
    for result in operation.results:
        yield VALUE, result, operation.region
    if operation.name < 0:
        if tokens[operation.first][:1] in ("#", "!") and tokens[operation.first + 1] == "=":
            yield ALIAS, operation.first, None
        return
    declaration = operation.declaration
    generic = tokens[operation.name][:1] == '"'
    end = operation.regions[0].opening if operation.regions else operation.last + 1
    if declaration is not None and declaration.traits & (SYMBOL | SYMBOL_TABLE):
        symbol = _symbol_of(tokens, operation, operation.last + 1 if generic else end)
        if symbol is not None:
            yield SYMBOL_KIND, symbol, symbol_table(operation.region)
    if operation.regions and not generic:
        for argument in arguments_of(tokens, operation):
            yield VALUE, argument, operation.regions[0]


def arguments_of(tokens: list[str], operation: WrittenOperation) -> Iterator[int]:
    """The arguments that stand before the first region: `(%a: type`, `for %i in`, `iter_values(%a = %b`."""
    depth = 0
    for place in range(operation.name + 1, operation.regions[0].opening):
        token = tokens[place]
        if token == "(":
            depth += 1
        elif token == ")":
            depth -= 1
        elif token[:1] == "%":
            following = tokens[place + 1]
            variable = operation.declaration is FOR and following == "in"
            if variable or (depth and following in (":", "=")):
                yield place


def _symbol_of(tokens: list[str], operation: WrittenOperation, end: int) -> int | None:
    """The first `@name` of the custom form, or `sym_name = "name"` outside of the regions of the generic one."""
    place = operation.name + 1
    regions = iter(operation.regions)
    region = next(regions, None)
    while place < end:
        if region is not None and place == region.opening:
            place = region.closing
            region = next(regions, None)
        token = tokens[place]
        if token[:1] == "@" or (token[:1] == '"' and tokens[place - 2 : place] == ["sym_name", "="]):
            return place
        place += 1
    return None


def symbol_table(region: WrittenRegion) -> WrittenRegion:
    """Where the symbols of a region are looked for."""
    while region.owner is not None and not region.owner.is_symbol_table:
        region = region.owner.region
    return region


def plain_name(kind: str, token: str) -> str:
    """The name that a token stands for."""
    if kind == VALUE:
        return token.partition("#")[0]
    if kind == SYMBOL_KIND:
        return "@" + token.lstrip("@").strip('"')
    return token
