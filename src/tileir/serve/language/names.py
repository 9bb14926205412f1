"""What is named in a text: values, symbols, blocks and aliases, with where each is defined and used.

The rules are MLIR's: a value is visible in its region behind its definition, and in the regions inside it, up to an
operation that is isolated from above; regions beside each other may use a name again.  A symbol belongs to the nearest
symbol table, a block to its region, an alias to the file.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileir.dialect.ops import FOR
from tileir.ir.declaration import SYMBOL, SYMBOL_TABLE
from tileir.serve.language.structure import Structure, WrittenOperation, WrittenRegion

VALUE = "value"
SYMBOL_KIND = "symbol"
BLOCK = "block"
ALIAS = "alias"


class Name:
    """Something that has a name.

    `definition` is the token that defines it, None where nothing does; `uses` are the other tokens that mean it, which
    may have a result's number behind it (`%x#1`).  A definition again of what is defined, which is a mistake, is a use
    too.  `scope` is the region it belongs to, None for the file.  `operation` is the operation that defines it: as a
    result, as an argument of a region, or as a symbol.
    """

    __slots__ = ("definition", "kind", "operation", "scope", "text", "uses")

    def __init__(self, kind: str, text: str, scope: WrittenRegion | None) -> None:
        self.kind = kind
        self.text = text
        self.scope = scope
        self.definition: int | None = None
        self.uses: list[int] = []
        self.operation: WrittenOperation | None = None

    @property
    def tokens(self) -> list[int]:
        """All tokens that mean it, in the order of the text."""
        return sorted([*self.uses, *([] if self.definition is None else [self.definition])])

    def __repr__(self) -> str:
        return f"<{self.kind} {self.text} defined at {self.definition}, used at {self.uses}>"


class Names:
    """All names of a text."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self.tokens = structure.tokens
        self.all: list[Name] = []
        self.by_token: dict[int, Name] = {}
        # What each region defines, and what is used in an isolated one and defined nowhere.
        self.values: dict[WrittenRegion, dict[str, Name]] = {}
        self.others: dict[tuple[str, WrittenRegion | None, str], Name] = {}
        self._define_region(structure.top)
        pending = list(reversed(structure.top.operations))
        while pending:
            operation = pending.pop()
            self._define_operation(operation)
            for region in operation.regions:
                self._define_region(region)
            for region in reversed(operation.regions):
                pending.extend(reversed(region.operations))
        self._use_all()
        for name in self.all:
            # Those of a region were noted before those of the regions in it.
            name.uses.sort()
        self.all.sort(key=lambda name: name.definition if name.definition is not None else name.uses[0])

    # --- definitions ---

    def _define_region(self, region: WrittenRegion) -> None:
        for label in region.labels:
            self._define(BLOCK, label, region, region.owner)
            place = label + 1
            if self.tokens[place] == "(":
                place += 1
                while self.tokens[place] not in (")", "", "{", "}"):
                    if self.tokens[place][:1] == "%" and self.tokens[place + 1] == ":":
                        self._define(VALUE, place, region, region.owner)
                    place += 1

    def _define_operation(self, operation: WrittenOperation) -> None:
        tokens = self.tokens
        region = operation.region
        for result in operation.results:
            self._define(VALUE, result, region, operation)
        if operation.name < 0:
            first = tokens[operation.first]
            if first[:1] in ("#", "!") and tokens[operation.first + 1] == "=":
                self._define(ALIAS, operation.first, None, operation)
            return
        declaration = operation.declaration
        generic = tokens[operation.name][:1] == '"'
        end = operation.regions[0].opening if operation.regions else operation.last + 1
        if declaration is not None and declaration.traits & (SYMBOL | SYMBOL_TABLE):
            self._define_symbol(operation, operation.last + 1 if generic else end)
        if operation.regions and not generic:
            self._define_arguments(operation, end)

    def _define_symbol(self, operation: WrittenOperation, end: int) -> None:
        """The first `@name` of the custom form, or `sym_name = "name"` outside of the regions of the generic one."""
        table = self._symbol_table(operation.region)
        place = operation.name + 1
        regions = iter(operation.regions)
        region = next(regions, None)
        while place < end:
            if region is not None and place == region.opening:
                place = region.closing
                region = next(regions, None)
            token = self.tokens[place]
            if token[:1] == "@" or (token[:1] == '"' and self.tokens[place - 2 : place] == ["sym_name", "="]):
                self._define(SYMBOL_KIND, place, table, operation)
                return
            place += 1

    def _define_arguments(self, operation: WrittenOperation, end: int) -> None:
        """The arguments that stand before a region: `(%a: type`, `for %i in`, `iter_values(%a = %b`."""
        tokens = self.tokens
        region = operation.regions[0]
        depth = 0
        for place in range(operation.name + 1, end):
            token = tokens[place]
            if token == "(":
                depth += 1
            elif token == ")":
                depth -= 1
            elif token[:1] == "%":
                following = tokens[place + 1]
                variable = operation.declaration is FOR and following == "in"
                if variable or (depth and following in (":", "=")):
                    self._define(VALUE, place, region, operation)

    def _define(self, kind: str, token: int, scope: WrittenRegion | None, operation: WrittenOperation | None) -> None:
        text = _text(kind, self.tokens[token])
        known = self._known(kind, scope, text)
        if known is None:
            known = Name(kind, text, scope)
            known.definition = token
            known.operation = operation
            self.all.append(known)
            if kind == VALUE and scope is not None:
                self.values.setdefault(scope, {})[text] = known
            else:
                self.others[kind, scope, text] = known
        else:
            known.uses.append(token)
        self.by_token[token] = known

    def _known(self, kind: str, scope: WrittenRegion | None, text: str) -> Name | None:
        if kind == VALUE and scope is not None:
            return self.values.get(scope, {}).get(text)
        return self.others.get((kind, scope, text))

    # --- uses ---

    def _use_all(self) -> None:
        structure = self.structure
        tokens = self.tokens
        self._use_in(structure.top, 0, structure.count)
        pending = [operation for operation in reversed(structure.top.operations) if operation.regions]
        while pending:
            operation = pending.pop()
            for region in operation.regions:
                self._use_in(region, region.opening + 1, region.closing)
            for region in reversed(operation.regions):
                pending.extend([each for each in reversed(region.operations) if each.regions])
        for token in range(structure.count):
            if tokens[token][:1] in ("#", "!") and token not in self.by_token:
                self._use_alias(token)

    def _use_in(self, region: WrittenRegion, start: int, end: int) -> None:
        """The uses directly in a region: not those in the regions of its operations."""
        inner = iter([each for operation in region.operations for each in operation.regions])
        following = next(inner, None)
        place = start
        tokens = self.tokens
        while place < end:
            if following is not None and place == following.opening:
                place = following.closing
                following = next(inner, None)
                continue
            first = tokens[place][:1]
            if first == "%":
                self._use(VALUE, place, region)
            elif first == "@":
                self._use(SYMBOL_KIND, place, region)
            elif first == "^":
                self._use(BLOCK, place, region)
            place += 1

    def _use(self, kind: str, token: int, region: WrittenRegion) -> None:
        if token in self.by_token:
            return
        text = _text(kind, self.tokens[token])
        name: Name | None
        if kind == VALUE:
            name = self._visible(text, region)
        elif kind == BLOCK:
            name = self.others.get((BLOCK, region, text)) or self._undefined(BLOCK, text, region)
        else:
            name = self._symbol(token, text, region)
        if name is not None:
            name.uses.append(token)
            self.by_token[token] = name

    def _visible(self, text: str, region: WrittenRegion) -> Name:
        scope = region
        while True:
            found = self.values.get(scope, {}).get(text)
            if found is not None:
                return found
            owner = scope.owner
            if owner is None or owner.is_isolated:
                return self._undefined(VALUE, text, scope)
            scope = owner.region

    def _undefined(self, kind: str, text: str, scope: WrittenRegion | None) -> Name:
        name = Name(kind, text, scope)
        self.all.append(name)
        if kind == VALUE and scope is not None:
            self.values.setdefault(scope, {})[text] = name
        else:
            self.others[kind, scope, text] = name
        return name

    def _symbol(self, token: int, text: str, region: WrittenRegion) -> Name | None:
        """What `@name` refers to; behind `::` it is looked for inside what stands before it."""
        if self.tokens[token - 1] == "::" and token >= 2:
            outer = self.by_token.get(token - 2)
            if outer is None or outer.operation is None:
                return None
            for inner in outer.operation.regions:
                found = self.others.get((SYMBOL_KIND, inner, text))
                if found is not None:
                    return found
            return None
        table = self._symbol_table(region)
        return self.others.get((SYMBOL_KIND, table, text)) or self._undefined(SYMBOL_KIND, text, table)

    def _symbol_table(self, region: WrittenRegion) -> WrittenRegion:
        while region.owner is not None and not region.owner.is_symbol_table:
            region = region.owner.region
        return region

    def _use_alias(self, token: int) -> None:
        text = self.tokens[token]
        if "." in text or "<" in text or len(text) < 2:
            return
        name = self.others.get((ALIAS, None, text)) or self._undefined(ALIAS, text, None)
        name.uses.append(token)
        self.by_token[token] = name

    # --- questions ---

    @property
    def symbols(self) -> list[Name]:
        """Few, compared with all names."""
        return [name for (kind, _, _), name in self.others.items() if kind == SYMBOL_KIND]

    def in_sight(self, token: int) -> list[Name]:
        """The values that are defined before a token in the regions around it."""
        return list(self.nearest(token))

    def nearest(self, token: int) -> Iterator[Name]:
        """The same, from the innermost region to the outermost, in each the last one first."""
        for region, operation in self._around(token):
            for name in reversed(self.values.get(region, {}).values()):
                if name.definition is None or name.definition >= token:
                    continue
                if operation is not None and name.definition in operation.results:
                    continue
                yield name

    def visible(self, text: str, token: int) -> Name | None:
        """The value of a name at a token."""
        for region, _ in self._around(token):
            found = self.values.get(region, {}).get(text)
            if found is not None and found.definition is not None and found.definition < token:
                return found
        return None

    def _around(self, token: int) -> Iterator[tuple[WrittenRegion, WrittenOperation | None]]:
        """The regions whose values can be used at a token, each with the operation of it that the token is in."""
        operation = self.structure.operation_of_token(token)
        region = self.structure.region_at(self.structure.starts[token]) if operation is None else operation.region
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


def _text(kind: str, token: str) -> str:
    if kind == VALUE:
        return token.partition("#")[0]
    if kind == SYMBOL_KIND:
        return "@" + token.lstrip("@").strip('"')
    return token
