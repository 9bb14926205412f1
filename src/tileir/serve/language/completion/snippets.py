"""Snippets: the statement of an operation with everything that must be written filled in.

Values are the nearest visible ones that fit, types follow from them, optional parts are left out.  The statement is
what the printer writes for such an operation.  Values, types and attributes are placeholders, which the editor lets the
user type over.
"""

from __future__ import annotations

import re
from typing import Final

from tileir.analyze.documentation.grammar import legal_keywords, spelled
from tileir.dialect import ops
from tileir.dialect.inference import Call
from tileir.dialect.signature import made_operation
from tileir.dialect.types import TensorViewType, TileType, TileViewType, scalar_tile
from tileir.ir.core import Block
from tileir.ir.declaration import VARIADIC, OperationDeclaration
from tileir.ir.location import UNKNOWN
from tileir.ir.symbols import Symbols
from tileir.ir.types import F32, I32, FloatType, IntegerType, Type
from tileir.ir.values import Value
from tileir.ir.versions import NEWEST, Version
from tileir.serve.language.completion.operands import (
    Chosen,
    Expectation,
    Placeholder,
    Pool,
    SnippetPart,
    choose_operands,
    element_tile,
    usual_attributes,
    usual_type,
)
from tileir.serve.language.document.statement import ATTRIBUTE, REGION, TYPE, VALUE, WORD, Part, Statement, format_of
from tileir.text.lexer import TOKEN
from tileir.text.printer import Printer

# Statements with a region or a literal, after their names.  `[name]` is a placeholder.
_BODY: Final = "([element]: [scalar], [accumulator]: [scalar]) {\n  []yield element : scalar\n}"
_BOUNDS: Final = " [index] in ([lowerBound] to [upperBound], step [step]) : [step_type]"
_TEMPLATES: Final = {
    ops.BUILTIN_MODULE: " {\n  []\n}",
    ops.MODULE: " [@name] {\n  []\n}",
    ops.ENTRY: " [@kernel]([%argument]: [tile<ptr<f32>>]) {\n  []\n  return\n}",
    ops.GLOBAL: " [@name] <[f32]: [0.0]> : [tile<1xf32>]",
    ops.GET_GLOBAL: " [symbol] : [tile<ptr<f32>>]",
    ops.CONSTANT: " <[number]: [zero]> : [result]",
    ops.IF: " [condition] {\n  []\n}",
    ops.LOOP: " {\n  []\n  break\n}",
    ops.FOR: f"{_BOUNDS} {{\n  []\n}}",
    ops.REDUCE: f" [operands] dim=[0] identities=[identities] : [source] -> [result] {_BODY}",
    ops.SCAN: f" [operands] dim=[0] reverse=[false] identities=[identities] : [source] -> [result] {_BODY}",
}
# Control flow whose result the text names already: it goes through the body.
_WITH_RESULT: Final = {
    ops.IF: " [condition] -> ([type]) {\n  []yield [value] : type\n} else {\n  []yield [value] : type\n}",
    ops.LOOP: " iter_values([carried] = [value]) : [type] -> type {\n  []break carried : type\n}",
    ops.FOR: f"{_BOUNDS} iter_values([carried] = [value]) -> ([type]) {{\n  []continue carried : type\n}}",
}


def plain_text(pieces: list[SnippetPart]) -> str:
    """The statement with the texts of its placeholders."""
    return "".join([piece if isinstance(piece, str) else piece.text for piece in pieces])


def snippet_text(pieces: list[SnippetPart]) -> str:
    """The statement in the protocol's language of snippets."""
    written: list[str] = []
    number = 0
    for piece in pieces:
        if isinstance(piece, str):
            written.append(piece.replace("\\", "\\\\").replace("$", "\\$"))
        elif not piece.text:
            written.append("$0")
        else:
            number += 1
            escaped = piece.text.replace("\\", "\\\\").replace("$", "\\$").replace("}", "\\}")
            written.append(f"${{{number}|{','.join(piece.choices)}|}}" if piece.choices else f"${{{number}:{escaped}}}")
    return "".join(written)


def statement_pieces(
    declaration: OperationDeclaration, pool: Pool, with_results: bool, version: Version = NEWEST
) -> list[SnippetPart]:
    """The statement of an operation; its results are named only if they are not in the text."""
    key = (declaration, with_results, version)
    if key not in pool.made:
        chosen = choose_operands(declaration, pool)
        pieces: list[SnippetPart] = []
        for name in _result_names(declaration, pool, chosen) if with_results else []:
            pieces += [", " if pieces else "", Placeholder(name)]
        pieces += [" = " if pieces else "", spelled(declaration, version)]
        template = None if with_results else _WITH_RESULT.get(declaration)
        template = template or _TEMPLATES.get(declaration)
        rest = _printed(declaration, pool, chosen, version) if template is None else None
        pool.made[key] = pieces + (rest or _filled(template or "", declaration, pool, chosen))
    return pool.made[key]


def missing_results(declaration: OperationDeclaration, pool: Pool, count: int) -> list[str]:
    """Names for the results of an operation after the first `count`."""
    if declaration.is_control_flow:
        return []
    return _result_names(declaration, pool, choose_operands(declaration, pool))[count:]


def _filled(template: str, declaration: OperationDeclaration, pool: Pool, chosen: Chosen) -> list[SnippetPart]:
    first = {name: types[0] for name, types in chosen.types.items() if types}
    expectation = Expectation(declaration, chosen.types, usual_attributes(declaration, chosen.types), in_use=pool.types)
    found = [type for each in declaration.results for type in expectation.of_result(each.name, most=1)]
    result = next((type for type in found if isinstance(type, TileType)), scalar_tile(F32))
    carried = next((type for type in pool.by_type if isinstance(type, TileType)), scalar_tile(F32))
    texts = {
        "": "",
        "type": carried.spelling,
        "value": pool.by_type[carried][0] if carried in pool.by_type else "%value",
        **{name: pool.new_name(f"%{name}") for name in ("carried", "index", "element", "accumulator")},
        "step_type": first.get("step", scalar_tile(I32)).spelling,
        "symbol": (pool.symbols or ["@name"])[0],
        "result": result.spelling,
        "number": result.element.spelling,
        "zero": _zero(result.element),
        "source": first.get("operands", scalar_tile(F32)).spelling,
        "scalar": element_tile(chosen.types).spelling,
        **{name: names[0] for name, names in chosen.names.items() if names},
        **{name: attribute.bare_text for name, attribute in expectation.attributes.items()},
    }
    pieces: list[SnippetPart] = []
    for number, text in enumerate(re.split(r"\[([^\]]*)\]", template)):
        plain = re.sub(r"\b(?:type|carried|element|scalar)\b", lambda match: texts[match[0]], text)
        pieces.append(Placeholder(texts.get(text, text)) if number % 2 else plain)
    return pieces


def _zero(element: Type) -> str:
    if isinstance(element, FloatType):
        return "0.0"
    return "false" if isinstance(element, IntegerType) and element.width == 1 else "0"


def _printed(declaration: OperationDeclaration, pool: Pool, chosen: Chosen, version: Version) -> list[SnippetPart]:
    """What the printer writes after the name of an operation, with placeholders."""
    declared = {each.name: each for each in declaration.operands}
    types = {
        name: chosen.types[name] if name in chosen.types else [usual_type(declared[name])] for name in chosen.names
    }
    call = Call(declaration, Block(), Symbols())
    call.operands = {name: [Value(type) for type in types.get(name, ())] for name in declared}
    call.attributes = usual_attributes(declaration, types)
    expectation = Expectation(declaration, types, call.attributes, in_use=pool.types)
    results = next(expectation.all_results(), None) or [usual_type(each) for each in declaration.results]
    printer = Printer(version=version)
    printer.elide = True
    for name, names in chosen.names.items():
        printer.names.update(zip(call.operands[name], names, strict=False))
    printer.print_rest(made_operation(call, results, UNKNOWN))
    first, *tokens = [match for match in TOKEN.finditer(printer.text()) if match[1]]
    statement = Statement(declaration, [match[1] for match in tokens])
    pieces: list[SnippetPart] = []
    end, before = first.end(), None
    for number, match in enumerate(tokens):
        part, gap = statement.part(number), " " if match.start(1) > end else ""
        end = match.end()
        last = pieces[-1] if pieces else ""
        if part is not None and part is before and part.kind == ATTRIBUTE and isinstance(last, Placeholder):
            # One literal of several tokens.
            pieces[-1] = Placeholder(last.text + gap + match[1])
            continue
        before = part
        is_plain = part is None or (part.kind == WORD and part.enumeration is None)
        pieces += [gap, match[1] if part is None or is_plain else _placeholder(declaration, part, match[1], version)]
    return pieces


def _placeholder(declaration: OperationDeclaration, part: Part, text: str, version: Version) -> Placeholder:
    """A text of a part; of a keyword with the other legal ones."""
    if part.enumeration is None or part.attribute is None:
        return Placeholder(text)
    words = legal_keywords(declaration, part.attribute, version)
    return Placeholder(text, (text, *[word for word in words if word != text]))


def clause_pieces(
    declaration: OperationDeclaration, first: Part, pool: Pool, types: dict[str, list[Type]], version: Version
) -> list[SnippetPart]:
    """An optional clause from its first word on, `rounding<zero>`, `token=%t`; or just the word."""
    format = format_of(declaration)
    pieces: list[SnippetPart] = []
    end = first.start
    for part in format.clause(first):
        if " " in format.line[end : part.start].replace(", ...", ""):
            pieces.append(" ")
        end = part.end
        if part.kind == WORD and part.enumeration is None:
            pieces.append(part.name)
        elif part.kind == REGION:
            pieces += ["{\n  ", Placeholder(""), "\n}"]
        else:
            text = _clause_text(declaration, part, pool, types, version)
            pieces.append(_placeholder(declaration, part, text, version))
    return pieces


def _clause_text(
    declaration: OperationDeclaration, part: Part, pool: Pool, types: dict[str, list[Type]], version: Version
) -> str:
    expectation = Expectation(declaration, types, in_use=pool.types)
    declared, attribute = part.operand, part.attribute
    if declared is None and part.kind == VALUE:
        # A name that the statement defines.
        return pool.new_name(f"%{part.name}")
    if declared is not None and part.kind == VALUE:
        fitting = expectation.of_operand(declared)
        return next((pool.by_type[type][0] for type in fitting if type in pool.by_type), f"%{part.name}")
    if declared is not None and part.kind == TYPE:
        found = (
            types.get(part.name, []) if declared in declaration.operands else expectation.of_result(part.name, most=1)
        )
        return ", ".join([type.spelling for type in dict.fromkeys(found or [usual_type(declared)])])
    if attribute is not None and part.enumeration is not None:
        return legal_keywords(declaration, attribute, version)[0]
    kind = attribute.constraint.kind if attribute is not None else ""
    if kind == "hints":
        return f"sm_100 = {{{'occupancy' if declaration is ops.ENTRY else 'latency'} = 2}}"
    if kind == "bool_array":
        view = next((type for known in types.values() for type in known if isinstance(type, TileViewType)), None)
        return f"[{', '.join(['true'] * (view.index_rank if view is not None else 1))}]"
    return "1"


def _result_names(declaration: OperationDeclaration, pool: Pool, chosen: Chosen) -> list[str]:
    """Names for the results of an operation; none for those of control flow, which need no names."""
    names: list[str] = []
    taken = [name for names in chosen.names.values() for name in names]
    for declared in declaration.results:
        count = 0 if declared.count == VARIADIC and declaration.is_control_flow else 1
        if declaration in (ops.GET_INDEX_SPACE_SHAPE, ops.GET_TENSOR_SHAPE):
            source = chosen.types["src"][0] if chosen.types.get("src") else None
            count = source.rank if isinstance(source, TensorViewType) else count
            count = source.index_rank if isinstance(source, TileViewType) else count
        name = "token" if declared.name == "result_token" else declared.name.removesuffix("s")
        for _ in range(count):
            names.append(pool.new_name(f"%{name}", [*names, *taken]))
    return names
