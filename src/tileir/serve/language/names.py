"""What is named in a text: values, symbols, blocks and aliases, with where each is defined and used.

The rules are MLIR's: a value is visible in its region behind its definition, and in the regions inside it, up to an
operation that is isolated from above; regions beside each other may use a name again.  A symbol belongs to the nearest
symbol table, a block to its region, an alias to the file.
"""

from __future__ import annotations

from tileir.serve.language.definitions import (
    ALIAS,
    BLOCK,
    SYMBOL_KIND,
    VALUE,
    defined_by,
    labelled,
    plain_name,
    symbol_table,
)
from tileir.serve.language.structure import Structure, WrittenOperation, WrittenRegion


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
        for kind, token in labelled(self.tokens, region):
            self._define(kind, token, region, region.owner)

    def _define_operation(self, operation: WrittenOperation) -> None:
        for kind, token, scope in defined_by(self.tokens, operation):
            self._define(kind, token, scope, operation)

    def _define(self, kind: str, token: int, scope: WrittenRegion | None, operation: WrittenOperation | None) -> None:
        text = plain_name(kind, self.tokens[token])
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
        text = plain_name(kind, self.tokens[token])
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
        table = symbol_table(region)
        return self.others.get((SYMBOL_KIND, table, text)) or self._undefined(SYMBOL_KIND, text, table)

    def _use_alias(self, token: int) -> None:
        text = self.tokens[token]
        if "." in text or "<" in text or len(text) < 2:
            return
        name = self.others.get((ALIAS, None, text)) or self._undefined(ALIAS, text, None)
        name.uses.append(token)
        self.by_token[token] = name
