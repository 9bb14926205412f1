"""One name at a time: what a value's name means, and the values in sight, without a look at all names of the text.

The rules are those of `names`; a question costs as much as the text is long, at the speed of a search through a list.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileir.ir.traits import SYMBOL, SYMBOL_TABLE
from tileir.serve.language.definitions import SYMBOL_KIND, VALUE, arguments_of, defined_by, labelled, plain_name
from tileir.serve.language.names import Name
from tileir.serve.language.structure import Structure, WrittenOperation, WrittenRegion

# Of values that are defined together, `%x:4`, the uses of each are searched for.
_MOST_NUMBERS = 64
_LOW_NUMBERS = 3

# The region that a name is written in, the operation, and whether it is defined by it there: in which scope.
_Occurrence = tuple[int, WrittenRegion, WrittenOperation | None, WrittenRegion | None]


def value_at(structure: Structure, token: int) -> Name | None:
    """The value that a token names; None if that takes a look at all names."""
    text = plain_name(VALUE, structure.tokens[token])
    occurrences = _occurrences(structure, token, text)
    if occurrences is None:
        return None
    defined: dict[WrittenRegion, _Occurrence] = {}
    for each in occurrences:
        if each[3] is not None:
            defined.setdefault(each[3], each)
    wanted = _meant(next(each for each in occurrences if each[0] == token), defined)
    if isinstance(wanted, WrittenRegion):
        name = Name(VALUE, text, wanted)
    else:
        name = Name(VALUE, text, wanted[3])
        name.definition = wanted[0]
        name.operation = wanted[2]
    name.uses = [each[0] for each in occurrences if each[0] != name.definition and _meant(each, defined) is wanted]
    return name


def _meant(occurrence: _Occurrence, defined: dict[WrittenRegion, _Occurrence]) -> _Occurrence | WrittenRegion:
    """The definition that an occurrence of a name refers to, or the outermost region in which it could be."""
    region = occurrence[3] if occurrence[3] is not None else occurrence[1]
    while True:
        found = defined.get(region)
        if found is not None:
            return found
        owner = region.owner
        if owner is None or owner.is_isolated:
            return region
        region = owner.region


def _occurrences(structure: Structure, token: int, text: str) -> list[_Occurrence] | None:
    """All places of a name in the isolated operation around a token, in the order of the text."""
    tokens = structure.tokens
    region = _root(_place_of(structure, token)[0])
    owner = region.owner
    start = 0 if owner is None else max(owner.name, owner.first)
    end = region.closing if owner is not None else structure.count
    places = _positions(tokens, text, start, end)
    if not places:
        return None
    numbers = [
        int(tokens[place + 2])
        for place in places
        if tokens[place + 1] == ":" and tokens[place + 2].isdigit() and len(tokens[place + 2]) < 6
    ]
    if "#" in tokens[token]:
        numbers.append(int(tokens[token].partition("#")[2][:6] or 0) + 1)
    # A number that no result has is a mistake; low ones are found all the same.
    count = max([_LOW_NUMBERS, *numbers])
    if count > _MOST_NUMBERS:
        return None
    for number in range(count):
        places.extend(_positions(tokens, f"{text}#{number}", start, end))
    places.sort()
    found: list[_Occurrence] = []
    for place in places:
        inside, operation, scope = _place_of(structure, place)
        if _root(scope if scope is not None else inside) is region:
            found.append((place, inside, operation, scope))
    return found if any(each[0] == token for each in found) else None


def _root(region: WrittenRegion) -> WrittenRegion:
    """The outermost region whose values can be seen from one."""
    while region.owner is not None and not region.owner.is_isolated:
        region = region.owner.region
    return region


def _positions(tokens: list[str], text: str, start: int, end: int) -> list[int]:
    found: list[int] = []
    try:
        while True:
            start = tokens.index(text, start, end)
            found.append(start)
            start += 1
    except ValueError:
        return found


def _place_of(structure: Structure, token: int) -> tuple[WrittenRegion, WrittenOperation | None, WrittenRegion | None]:
    """The region that a token is directly in, what defines it if something does, and the scope it is then in."""
    operation = structure.operation_of_token(token)
    region = structure.top if operation is None else operation.region
    if operation is not None:
        for inner in operation.regions:
            if inner.opening < token < inner.closing:
                region = inner
        if region is operation.region:
            for _, place, scope in defined_by(structure.tokens, operation):
                if place == token:
                    return region, operation, scope
    if region.labels:
        for _, place in labelled(structure.tokens, region):
            if place == token:
                return region, region.owner, region
    return region, None, None


def symbols(structure: Structure) -> Iterator[Name]:
    """The kernels, globals and modules of a text, in its order; where they are used is not looked for."""
    pending = list(reversed(structure.top.operations))
    while pending:
        operation = pending.pop()
        if operation.declaration is None or not operation.declaration.traits & (SYMBOL | SYMBOL_TABLE):
            continue
        for kind, token, scope in defined_by(structure.tokens, operation):
            if kind == SYMBOL_KIND:
                name = Name(kind, plain_name(kind, structure.tokens[token]), scope)
                name.definition = token
                name.operation = operation
                yield name
        if operation.is_symbol_table:
            pending.extend(reversed(operation.children))


def nearest(structure: Structure, token: int) -> Iterator[Name]:
    """The values that are defined before a token in the regions around it, from the innermost region to the outermost,
    in each the last one first.  Their uses are not looked for."""
    tokens = structure.tokens
    for region, operation in _around(structure, token):
        seen: set[str] = set()
        own = operation.results if operation is not None else []
        for place, definer in _definitions(structure, region, token):
            text = tokens[place]
            if place >= token or place in own or text in seen:
                continue
            seen.add(text)
            name = Name(VALUE, text, region)
            name.definition = place
            name.operation = definer
            yield name


def _definitions(
    structure: Structure, region: WrittenRegion, token: int
) -> Iterator[tuple[int, WrittenOperation | None]]:
    """What is defined in a region by the operations that begin before a token, the last one first."""
    operations = region.operations
    for index in range(structure.operations_before(region, token) - 1, -1, -1):
        for result in reversed(operations[index].results):
            yield result, operations[index]
    arguments = [place for kind, place in labelled(structure.tokens, region) if kind == VALUE]
    for place in reversed(arguments):
        yield place, region.owner
    owner = region.owner
    if owner is not None and owner.name >= 0 and owner.regions[0] is region:
        if structure.tokens[owner.name][:1] != '"':
            for place in reversed(list(arguments_of(structure.tokens, owner))):
                yield place, owner


def visible(structure: Structure, text: str, token: int) -> Name | None:
    """The value of a name at a token."""
    tokens = structure.tokens
    around = [region for region, _ in _around(structure, token)]
    owner = around[-1].owner
    start = 0 if owner is None else max(owner.name, owner.first)
    found: dict[WrittenRegion, tuple[int, WrittenOperation | None]] = {}
    for place in _positions(tokens, text, start, token):
        _, operation, scope = _place_of(structure, place)
        if scope is not None:
            found.setdefault(scope, (place, operation))
    for region in around:
        if region in found:
            name = Name(VALUE, text, region)
            name.definition, name.operation = found[region]
            return name
    return None


def _around(structure: Structure, token: int) -> Iterator[tuple[WrittenRegion, WrittenOperation | None]]:
    """The regions whose values can be used at a token, each with the operation of it that the token is in."""
    operation = structure.operation_of_token(token)
    region = structure.region_at(structure.starts[token]) if operation is None else operation.region
    if operation is not None:
        for inner in operation.regions:
            if inner.opening < token <= inner.closing:
                region = inner
    while True:
        yield region, operation
        owner = region.owner
        if owner is None or owner.is_isolated:
            return
        operation, region = owner, owner.region
