"""Assembly formats: the `syntax` string of a declaration into directives, once per operation, on first use.

The language:

    $name              a declared operand or attribute
    'text'             a literal
    ~   _              no blank here; one blank here
    ( ... )?           optional; present when its first `$name` is
    type($name)        the type(s) of an operand or result; full-type($name) prints the dialect's name with it
    attr-dict          the attributes not shown otherwise
    word  word(args)   another directive, or one of the custom ones named below

Blanks follow MLIR's rules (a blank in front of everything except some punctuation), because that is what NVIDIA's
printers do, double blanks included.
"""

from __future__ import annotations

import tileir.dialect.ops  # noqa: F401  (registers the declarations)
from tileir.annotations import Final
from tileir.dialect.enums import enum_kind_of
from tileir.ir.declaration import ONE, VARIADIC, OperationDeclaration
from tileir.text.state import TypeSlots
from tileir.text.syntax import attribute_directives as attributes
from tileir.text.syntax.directive import (
    Blank,
    CustomClass,
    Directive,
    Doubtful,
    FullTypeOf,
    Group,
    Literal,
    OperandGroup,
    OperandRow,
    TypeOf,
)

# What an element of a format is.
LITERAL: Final = 0
VARIABLE: Final = 1
CALLED: Final = 2  # a word with arguments
WORD: Final = 3
MARK: Final = 4

# The custom directives, by the module that implements them.
_HOMES: Final[dict[str, str]] = {
    "structure": "dense-constant global module module-wrapper function if for loop",
    "aggregates": "combine assume atomic-operands atomic-mode shift-amount print-arguments cast-types comparison-types"
    " grid-type load-operands",
    "views": "tensor-view make-view shape-query view-access",
}
CUSTOM: Final[dict[str, str]] = {word: home for home, words in _HOMES.items() for word in words.split()}


class Element:
    """One element of a format: what it is, its text, and of a word the arguments."""

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
    if home == "structure":
        from tileir.text.syntax import structure

        return structure.DIRECTIVES[word]
    if home == "views":
        from tileir.text.syntax import views

        return views.DIRECTIVES[word]
    from tileir.text.syntax import aggregates

    return aggregates.DIRECTIVES[word]


class Assembly(TypeSlots):
    """A compiled format: the directives, and where each type comes from."""

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
        self.plain_form: object | None = None
        """What `text/statement_form.py` compiles from it, for the parser, on first use."""


class _Compiler:
    """Compiles the text of a format into directives."""

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
        dictionaries: list[attributes.AttributeDictionary] = []
        for element in elements_of(self.declaration.syntax):
            mark = element.text if element.kind == MARK else ""
            if mark == "(":
                stack.append([])
            elif mark == ")?":
                group = stack.pop()
                anchor = next((each for each in group if not isinstance(each, Literal)), group[0])
                stack[-1].append(Group(group, anchor))
            elif mark == "~":
                self.emit_blank, self.after_punctuation = False, True
            elif mark == "_":
                stack[-1].append(Blank())
                self.emit_blank, self.after_punctuation = False, False
            else:
                directive = self._element(element)
                if isinstance(directive, attributes.AttributeDictionary):
                    dictionaries.append(directive)
                stack[-1].append(directive)
        shown = frozenset(self.shown)
        for dictionary in dictionaries:
            dictionary.elided = shown
        return self._joined(stack[0])

    def _joined(self, directives: list[Directive]) -> list[Directive]:
        """Join all operands with commas between them, which most operations begin with, to one directive."""
        count = len(self.declaration.operands)
        length = 2 * count - 1
        if not count or not self.declaration.plain_operands or len(directives) < length:
            return directives
        for position, directive in enumerate(directives[:length]):
            if isinstance(directive, OperandGroup):
                if 2 * directive.index != position:
                    return directives
            elif not isinstance(directive, Literal) or directive.text != "," or position % 2 == 0:
                return directives
        return [OperandRow(count), *directives[length:]]

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
            return attributes.AttributeDictionary(frozenset())
        if word == "hints":
            self.shown.append("optimization_hints")
            return attributes.Hints()
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
                return OperandGroup(index, name, declared.count == VARIADIC)
        self.shown.append(name)
        attribute = declaration.inherent[name]
        return attributes.AttributeValue(attribute, enum_kind_of(attribute))

    def _type(self, name: str, full: bool) -> Directive:
        declaration = self.declaration
        self.slots.setdefault(name, len(self.slots))
        for index, declared in enumerate(declaration.operands):
            if declared.name == name:
                grouped = full or not declaration.plain_operands
                make = FullTypeOf if full else TypeOf
                return make(self.slots[name], name, False, index, declared.count == VARIADIC, grouped)
        for index, declared in enumerate(declaration.results):
            if declared.name == name:
                several = declared.count != ONE
                return TypeOf(self.slots[name], name, True, index, several, several)
        raise ValueError(f"'{declaration.name}' has no operand or result '{name}'")

    def _called(self, word: str, arguments: str) -> Directive:
        names = [name for name in arguments.replace(",", " ").split() if name]
        if word in ("flag", "flags"):
            self.shown.extend(names)
            return self._placed(attributes.Flag(names))
        if word in ("enclosed", "rounding", "open-rounding", "keyword"):
            self.shown.append(names[0])
            if word in ("rounding", "open-rounding"):
                return self._placed(attributes.Rounding(names[0], names[1:], word == "open-rounding"))
            kind = enum_kind_of(self.declaration.inherent[names[0]])
            if kind is None:
                raise ValueError(f"'{self.declaration.name}' attribute '{names[0]}' is no enumeration")
            is_enclosed = word == "enclosed"
            return self._placed((attributes.Enclosed if is_enclosed else attributes.Keyword)(names[0], kind))
        return self._custom(word, arguments)

    def _custom(self, word: str, arguments: str) -> Directive:
        """A custom directive shows every inherent attribute of its operation and fills slots of its own."""
        self.shown.extend(self.declaration.inherent)
        for declared in (*self.declaration.operands, *self.declaration.results):
            if self.slot_of(declared.name) < 0 and declared.name not in self.declaration.fixed_types:
                self.slots[declared.name] = len(self.slots)
        directive = custom_directive(word)(self.declaration, arguments)
        directive.slots = self.slots
        return self._placed(directive)


def assembly_of(declaration: OperationDeclaration) -> Assembly:
    """The compiled format of an operation."""
    found = declaration.assembly
    if not isinstance(found, Assembly):
        found = declaration.assembly = Assembly(declaration)
    return found
