"""Assembly formats: the `syntax` string of a declaration into directives, once per operation, on first use.

The language:

    $name              a declared operand or attribute
    'text'             a literal
    ~   _              no blank here; one blank here
    ( ... )?           optional; present when its first `$name` is
    type($name)        the type(s) of an operand or result; full-type($name) prints the dialect's name with it
    attr-dict          the attributes not shown otherwise
    word  word(args)   a directive of `text/directive.py` or one of the custom ones registered below

Blanks follow MLIR's rules (a blank in front of everything except some punctuation), because that is what NVIDIA's
printers do, double blanks included.
"""

from __future__ import annotations

import tileir.dialect.ops  # noqa: F401  (registers the declarations)
from tileir.annotations import Final
from tileir.dialect.enums import enum_kind_of
from tileir.ir.declaration import ONE, VARIADIC, OperationDeclaration
from tileir.text.attribute_syntax import AttributeDictionary, AttributeValue, Flag, Hints, TrailingType
from tileir.text.directive import (
    Blank,
    CustomClass,
    Directive,
    Doubtful,
    FullTypeOf,
    Group,
    Literal,
    OperandGroup,
    OperandRow,
    SingleOperand,
    TypeOf,
)
from tileir.text.enum_syntax import Enclosed, Keyword, Rounding
from tileir.text.state import TypeSlots

# What an element of a format is.
LITERAL: Final = 0
VARIABLE: Final = 1
CALLED: Final = 2  # a word with arguments
WORD: Final = 3
MARK: Final = 4

_STRUCTURE: Final = "structure"
_CONTROL_FLOW: Final = "control flow"
_AGGREGATES: Final = "aggregates"
_VIEWS: Final = "views"
_ACCESSES: Final = "accesses"

# The words of the custom directives, by the module that has them.
CUSTOM: Final[dict[str, str]] = {
    "dense-constant": _STRUCTURE,
    "global": _STRUCTURE,
    "module": _STRUCTURE,
    "module-wrapper": _STRUCTURE,
    "function": _STRUCTURE,
    "if": _CONTROL_FLOW,
    "for": _CONTROL_FLOW,
    "loop": _CONTROL_FLOW,
    "combine": _AGGREGATES,
    "assume": _AGGREGATES,
    "atomic-operands": _AGGREGATES,
    "atomic-mode": _AGGREGATES,
    "shift-amount": _AGGREGATES,
    "print-arguments": _AGGREGATES,
    "cast-types": _AGGREGATES,
    "comparison-types": _AGGREGATES,
    "grid-type": _AGGREGATES,
    "tensor-view": _VIEWS,
    "make-view": _VIEWS,
    "shape-query": _VIEWS,
    "view-access": _ACCESSES,
    "load-operands": _ACCESSES,
}


class Element:
    """One element of a format: what it is, its text, and of a word the arguments."""

    __slots__ = ("arguments", "kind", "text")

    def __init__(self, kind: int, text: str, arguments: str = "") -> None:
        self.kind: int = kind
        self.text: str = text
        self.arguments: str = arguments


def elements_of(syntax: str) -> list[Element]:
    """The elements of a format.  Found by hand: importing `re` takes half as long as starting Python."""
    found: list[Element] = []
    position = 0
    while position < len(syntax):
        start = position
        character = syntax[start]
        position += 1
        if character == "'":
            position = syntax.index("'", position) + 1
            found.append(Element(LITERAL, syntax[start + 1 : position - 1]))
        elif character == "$":
            position = _word_end(syntax, position, "_")
            found.append(Element(VARIABLE, syntax[start + 1 : position]))
        elif "a" <= character <= "z":
            position = _word_end(syntax, position, "_-")
            word = syntax[start:position]
            if syntax[position : position + 1] == "(":
                end = syntax.index(")", position)
                found.append(Element(CALLED, word, syntax[position + 1 : end]))
                position = end + 1
            else:
                found.append(Element(WORD, word))
        elif character == ")":
            position = syntax.index("?", start) + 1
            found.append(Element(MARK, ")?"))
        elif not character.isspace():
            if character not in "(~_":
                raise ValueError(f"'{character}' has no meaning in the format '{syntax}'")
            found.append(Element(MARK, character))
    return found


def _word_end(syntax: str, position: int, more: str) -> int:
    while position < len(syntax) and (syntax[position].isalnum() or syntax[position] in more):
        position += 1
    return position


def custom_directive(word: str) -> CustomClass:
    """The directive of a word; its module is imported for the first operation that needs it."""
    home = CUSTOM[word]
    if home is _STRUCTURE:
        from tileir.text import structure_syntax

        return structure_syntax.DIRECTIVES[word]
    if home is _CONTROL_FLOW:
        from tileir.text import control_flow_syntax

        return control_flow_syntax.DIRECTIVES[word]
    if home is _VIEWS:
        from tileir.text import view_syntax

        return view_syntax.DIRECTIVES[word]
    if home is _ACCESSES:
        from tileir.text import access_syntax

        return access_syntax.DIRECTIVES[word]
    from tileir.text import aggregate_syntax

    return aggregate_syntax.DIRECTIVES[word]


class Assembly(TypeSlots):
    """A compiled format: the directives, and where each type comes from."""

    __slots__ = ("directives", "doubtful", "plain_form", "plain_middle")

    def __init__(self, declaration: OperationDeclaration) -> None:
        compiler = _Compiler(declaration)
        self.directives: list[Directive] = compiler.compile()
        super().__init__(
            declaration,
            len(compiler.slots),
            [compiler.slot_of(operand.name) for operand in declaration.operands],
            [compiler.slot_of(result.name) for result in declaration.results],
        )
        self.doubtful: Doubtful | None = next((d for d in self.directives if isinstance(d, Doubtful)), None)
        self.plain_middle: str | None = _plain_middle(self.directives)
        self.plain_form: object | None = None
        """What `text/statement_form.py` compiles from it, for the parser, when it is first wanted."""


class _Compiler:
    """Turns the text of a format into directives."""

    def __init__(self, declaration: OperationDeclaration) -> None:
        self.declaration: OperationDeclaration = declaration
        self.slots: dict[str, int] = {}
        self.shown: list[str] = []
        self.emit_blank: bool = True
        self.after_punctuation: bool = False

    def slot_of(self, name: str) -> int:
        """The slot of a name, or of one that shares its type; -1 if the text shows none."""
        found = self.slots.get(name)
        if found is not None:
            return found
        for group in self.declaration.same_types:
            if name in group:
                for other in group:
                    if other in self.slots:
                        return self.slots[other]
        return -1

    def compile(self) -> list[Directive]:
        stack: list[list[Directive]] = [[]]
        dictionaries: list[AttributeDictionary] = []
        for element in elements_of(self.declaration.syntax):
            mark = element.text if element.kind == MARK else ""
            if mark == "(":
                stack.append([])
            elif mark == ")?":
                pieces = stack.pop()
                anchor = next((p for p in pieces if not isinstance(p, Literal)), pieces[0])
                stack[-1].append(Group(pieces, anchor))
            elif mark == "~":
                self.emit_blank, self.after_punctuation = False, True
            elif mark == "_":
                stack[-1].append(Blank())
                self.emit_blank, self.after_punctuation = False, False
            else:
                directive = self._element(element)
                if isinstance(directive, AttributeDictionary):
                    dictionaries.append(directive)
                stack[-1].append(directive)
        shown = frozenset(self.shown)
        for dictionary in dictionaries:
            dictionary.elided = shown
        return self._fused(stack[0])

    def _fused(self, pieces: list[Directive]) -> list[Directive]:
        """Join the two sequences that most operations have; the text is the same, with fewer steps."""
        fused: list[Directive] = []
        count = len(self.declaration.operands)
        row: list[Directive] = []
        for index in range(count):
            row.extend([SingleOperand(index)] if index == 0 else [Literal(","), SingleOperand(index)])
        if count > 1 and self.declaration.plain_operands and _same_pieces(pieces[: len(row)], row):
            fused.append(OperandRow(list(range(count))))
            pieces = pieces[len(row) :]
        while pieces:
            head = pieces[0]
            if len(pieces) == 3 and isinstance(head, AttributeDictionary) and _is_colon(pieces[1]):
                type = pieces[2]
                if isinstance(type, TypeOf) and type.index >= 0:
                    fused.append(TrailingType(head, type))
                    break
            fused.append(head)
            pieces = pieces[1:]
        return fused

    def _element(self, element: Element) -> Directive:
        word = element.text
        if element.kind == LITERAL:
            return self._literal(word)
        if element.kind == VARIABLE:
            return self._placed(self._variable(word))
        if element.kind == CALLED:
            if word in ("type", "full-type"):
                return self._placed(self._type(element.arguments[1:], word == "full-type"))
            return self._called(word, element.arguments)
        if word == "attr-dict":
            return AttributeDictionary(frozenset())
        if word == "hints":
            self.shown.append("optimization_hints")
            return Hints()
        return self._custom(word, "")

    def _placed(self, directive: Directive) -> Directive:
        """Give a directive that is not a literal its blank."""
        directive.lead = " " if self.emit_blank or not self.after_punctuation else ""
        self.emit_blank, self.after_punctuation = True, False
        return directive

    def _literal(self, text: str) -> Directive:
        directive = Literal(text)
        blank = self.emit_blank
        if blank and len(text) == 1:
            blank = text not in (">)}]," if self.after_punctuation else "<>(){}[],")
        directive.lead = " " if blank else ""
        self.emit_blank = len(text) != 1 or text not in "<({["
        self.after_punctuation = not (text[0] == "_" or text[0].isalpha())
        return directive

    def _variable(self, name: str) -> Directive:
        declaration = self.declaration
        for index, declared in enumerate(declaration.operands):
            if declared.name == name:
                if declaration.plain_operands:
                    return SingleOperand(index)
                return OperandGroup(index, name, declared.count == VARIADIC)
        self.shown.append(name)
        attribute = declaration.inherent[name]
        return AttributeValue(attribute, enum_kind_of(attribute))

    def _type(self, name: str, full: bool) -> Directive:
        declaration = self.declaration
        self.slots.setdefault(name, len(self.slots))
        for index, declared in enumerate(declaration.operands):
            if declared.name == name:
                grouped = not declaration.plain_operands
                if full:
                    return FullTypeOf(self.slots[name], name, False, index, declared.count == VARIADIC, True)
                return TypeOf(self.slots[name], name, False, index, declared.count == VARIADIC, grouped)
        for index, declared in enumerate(declaration.results):
            if declared.name == name:
                several = declared.count != ONE
                return TypeOf(self.slots[name], name, True, index, several, several)
        raise ValueError(f"'{declaration.name}' has no operand or result '{name}'")

    def _called(self, word: str, arguments: str) -> Directive:
        names = [name for name in arguments.replace(",", " ").split() if name]
        if word in ("flag", "flags"):
            self.shown.extend(names)
            return self._placed(Flag(names))
        if word in ("enclosed", "rounding", "open-rounding", "keyword"):
            self.shown.append(names[0])
            if word in ("rounding", "open-rounding"):
                return self._placed(Rounding(names[0], names[1:], word == "open-rounding"))
            kind = enum_kind_of(self.declaration.inherent[names[0]])
            if kind is None:
                raise ValueError(f"'{self.declaration.name}' attribute '{names[0]}' is no enumeration")
            return self._placed(Enclosed(names[0], kind) if word == "enclosed" else Keyword(names[0], kind))
        return self._custom(word, arguments)

    def _custom(self, word: str, arguments: str) -> Directive:
        """A custom directive shows every inherent attribute of its operation and fills slots of its own."""
        self.shown.extend(self.declaration.inherent)
        for declared in (*self.declaration.operands, *self.declaration.results):
            if self.slot_of(declared.name) < 0 and declared.name not in self.declaration.fixed_types:
                self.slots[declared.name] = len(self.slots)
        directive = custom_directive(word)(self.declaration, arguments)
        directive.bind(self.slots)
        return self._placed(directive)


def _plain_middle(directives: list[Directive]) -> str | None:
    """What stands between the operands and the colon when an operation has no attributes.

    None unless the format is operands, optional attributes, type: then the printer has to ask each directive.
    """
    last = directives[-1] if len(directives) > 1 else None
    if not isinstance(last, TrailingType) or not last.type.is_result:
        return None
    if not isinstance(directives[0], (OperandRow, SingleOperand)):
        return None
    middle = ""
    for directive in directives[1:-1]:
        if isinstance(directive, Rounding):
            middle += directive.lead
        elif not isinstance(directive, (Flag, Enclosed)):
            return None
    return middle


def _is_colon(piece: Directive) -> bool:
    return isinstance(piece, Literal) and piece.text == ":"


def _same_pieces(found: list[Directive], wanted: list[Directive]) -> bool:
    if len(found) != len(wanted):
        return False
    for have, want in zip(found, wanted, strict=True):
        if isinstance(want, SingleOperand):
            if not isinstance(have, SingleOperand) or have.index != want.index:
                return False
        elif not isinstance(have, Literal) or have.text != ",":
            return False
    return True


def assembly_of(declaration: OperationDeclaration) -> Assembly:
    """The compiled format of an operation."""
    found = declaration.assembly
    if not isinstance(found, Assembly):
        found = declaration.assembly = Assembly(declaration)
    return found
