"""`tileir explain` answers for everything the dialect has, and only from what is declared."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from tests.tools.grammar_pattern import grammar_pattern

import tileir
from tileir.analyze.documentation.grammar import grammar, word_form
from tileir.analyze.documentation.meanings import ATTRIBUTES, ELEMENT_TYPES, ENUMERATIONS, KEYWORDS, TYPES, VERSIONS
from tileir.analyze.documentation.numbers import number_pages
from tileir.analyze.documentation.pages import Code, operation_page, operations, title_of
from tileir.analyze.documentation.plain_text import overview_text, page_text, styled
from tileir.analyze.documentation.vocabulary import all_entries, close_names, find
from tileir.dialect.enums import ENUM_KINDS
from tileir.dialect.types import ELEMENT_SINCE, number_palette
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.registry import REGISTRY
from tileir.ir.versions import NEWEST
from tileir.text.syntax.format import CUSTOM
from tileir.tools.programs import explain

DECLARATIONS = [d for d in REGISTRY.declarations() if not d.testing]


def shown(name: str) -> str:
    return "\n".join(page_text(page) for page in find(name))


# --- grammar lines ---


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("addf", "%result = addf %lhs, %rhs (rounding<ROUNDING_MODE>)? flush_to_zero? : type(%result)"),
        ("extract", "%result = extract %source[%indices, ...] : type(%source) -> type(%result)"),
        ("exti", "%to = exti %from (signed | unsigned) : type(%from) -> type(%to)"),
        ("maximumf", "%result = maximumf %lhs, %rhs (ordered | unordered)? : type(%result)"),
        ("break", "break (%operands, ... : type(%operands), ...)?"),
        ("get_global", "%result = get_global @NAME : type(%result)"),
        ("pow", "%result = fpowf %source, %exponent : type(%result)"),
        ("barrier", "%result_token = barrier SCOPE (token=%token)? -> type(%result_token)"),
        ("if", "(%results, ... =)? if %condition (-> (type(%results), ...))? { thenRegion } (else { elseRegion })?"),
    ],
)
def test_syntax_is_shown_as_a_readable_line(name: str, expected: str) -> None:
    assert grammar(REGISTRY.by_name[f"cuda_tile.{name}"]) == expected


def test_every_custom_directive_has_a_readable_form() -> None:
    words = {
        word: d for d in REGISTRY.declarations() for word in re.findall(r"[a-z][a-z-]*", d.syntax) if word in CUSTOM
    }
    assert set(words) == set(CUSTOM)
    silent = {word for word, declaration in words.items() if not word_form(declaration, word)}
    assert silent == {"atomic-mode", "load-operands", "shift-amount"}


#: Attributes that are not a piece of the text of their own: the reader finds them under another name, or not at all.
ELSEWHERE = {
    ("entry", "function_type"),  # the types of the arguments
    ("entry", "arg_attrs"),
    ("entry", "res_attrs"),
    ("for", "unsignedCmp"),  # the word `unsigned`
    ("global", "symbol_visibility"),  # the words `public` and `private`
    ("module", "sym_visibility"),
}


@pytest.mark.parametrize("declaration", DECLARATIONS, ids=lambda d: d.name)
def test_the_grammar_shows_every_operand_attribute_and_region(declaration: OperationDeclaration) -> None:
    line = grammar(declaration)
    for piece in (*declaration.operands, *declaration.results):
        assert f"%{piece.name}" in line
    for region in declaration.regions:
        assert f"{{ {region.name} }}" in line
    for attribute in declaration.attributes:
        if (declaration.mnemonic, attribute.name) in ELSEWHERE:
            continue
        keywords = next((k for k in KEYWORDS.values() if f"({' | '.join(sorted(k))})" in line), {})
        assert attribute.name in line or attribute.name.upper() in line or len(keywords) == 2, attribute.name


@pytest.mark.parametrize("declaration", DECLARATIONS, ids=lambda d: d.name)
def test_the_example_follows_the_grammar(declaration: OperationDeclaration) -> None:
    line = grammar(declaration)
    if declaration.newer_mnemonic is not None:
        line = line.replace(declaration.newer_mnemonic, declaration.mnemonic)
    assert re.fullmatch(grammar_pattern(line), declaration.example, re.DOTALL), line


def test_a_statement_against_the_grammar_is_noticed() -> None:
    pattern = grammar_pattern(grammar(REGISTRY.by_name["cuda_tile.addf"]))
    assert re.fullmatch(pattern, "%r = addf %a, %b flush_to_zero : tile<4xf32>")
    assert not re.fullmatch(pattern, "%r = addf %a, %b flush : tile<4xf32>")
    assert not re.fullmatch(pattern, "%r = addf %a : tile<4xf32>")
    assert not re.fullmatch(pattern, "%r = addf %a, %b : tile<4xf32> -> tile<4xf32>")


# --- pages of operations ---


def test_a_page_says_all_that_is_declared() -> None:
    page = shown("exp")
    assert page.startswith("exp: Element-wise exponential\n")
    for fact in ("chapter Floating point", "since 13.1", "opcode 0x17", "the operations draft section 8.7.11"):
        assert fact in page.split("\n")[1]
    assert "`approx` or `full`; default `full`" in page
    assert "full or approximate precision (since 13.3)" in page
    assert "tile of f16, bf16, f32 or f64" in page
    assert "all of {source, result} have same type" in page
    assert "pure: no memory effect" in page
    assert "%r = exp %x rounding<approx> : tile<4xf32>" in page


def test_element_types_of_later_versions_are_marked() -> None:
    page = " ".join(shown("ftof").split())
    assert "f8E8M0FNU (13.2), f4E2M1FN (13.3) or fnv8E5M3FNU (13.4)" in page


def test_an_operation_of_the_drafts_alone_says_so_and_how_it_is_made_public() -> None:
    page = shown("recipf")
    assert "draft only" in page.split("\n")[1]
    assert "opcode" not in page
    assert "`divf` of a constant 1 by the input" in page


@pytest.mark.parametrize("declaration", DECLARATIONS, ids=lambda d: d.name)
def test_every_operation_is_found_by_each_of_its_names(declaration: OperationDeclaration) -> None:
    page = operation_page(declaration)
    assert Code(declaration.example) in [block for section in page.sections for block in section.blocks]
    assert find(declaration.name) == [page]
    if declaration.name.startswith("cuda_tile."):
        for name in (declaration.mnemonic, declaration.newer_mnemonic, *declaration.aliases):
            if name is not None:
                assert page in find(name), name


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("mulhi", "mulhii"),
        ("powf", "fpowf"),
        ("pow", "fpowf"),
        ("print", "print_tko"),
        ("cuda_tile.addf", "addf"),
        ("!cuda_tile.tile", "tile"),
        ("#cuda_tile.div_by", "div_by"),
        ("builtin.module", "builtin.module"),
        ("rounding_mode", "rounding"),
        ("mode", "atomic_rmw_mode"),
        ("acquire", "memory_ordering_semantics"),
        ("gpu", "memory_scope"),
        ("num_cta_in_cga", "optimization_hints"),
        ("F8e4m3fn", "f8E4M3FN"),
        ("flush_to_zero", "flush_to_zero"),
    ],
)
def test_names_lead_to_the_page_that_tells_about_them(asked: str, answered: str) -> None:
    assert [page.name for page in find(asked)] == [answered]


@pytest.mark.parametrize(
    ("asked", "title", "facts"),
    [
        ("tile<4x8xf16>", "tile", ["4 x 8", "32", "512, 16 for each element"]),
        ("!cuda_tile.tile<f32>", "tile", ["none: a single element", "32, 32 for each element"]),
        ("tile<2xptr<i8>>", "tile", ["ptr<i8>", "128, 64 for each element"]),
        ("ptr<f32>", "ptr", ["points to"]),
        ("tensor_view<?x64xf32, strides=[64,1]>", "tensor_view", ["dynamic x 64", "64, 1"]),
        (
            "partition_view<tile=(4x2), padding_value = nan, tensor_view<10x?xf32, strides=[64,1]>>",
            "partition_view",
            ["tile<4x2xf32>", "3, of 4 along dimension 0", "known when the program runs", "reads `nan`"],
        ),
        (
            "strided_view<tile=(4), traversal_strides=[2], tensor_view<10xf32, strides=[1]>>",
            "strided_view",
            ["5, of 4 along dimension 0", "unspecified"],
        ),
        (
            "gather_scatter_view<tile=(4x4), tensor_view<8x8xf32, strides=[8,1]>, sparse_dim=1>",
            "gather_scatter_view",
            ["rows are picked along", "dimension 1"],
        ),
        ("tile<3xf32>", "tile", ["No type, at column 6:"]),
        ("tile<4xf32", "tile", ["No type"]),
    ],
)
def test_a_type_that_is_written_out_is_explained(asked: str, title: str, facts: list[str]) -> None:
    (page,) = find(asked)
    assert page.name == title
    section = page_text(page).split("\n\n")[1]
    for fact in facts:
        assert " ".join(fact.split()) in " ".join(section.split())


@pytest.mark.parametrize(
    ("asked", "title"),
    [("rounding<approx>", "rounding"), ("#cuda_tile.rounding<zero>", "rounding"), ("div_by<16>", "div_by")],
)
def test_an_attribute_that_is_written_out_is_explained(asked: str, title: str) -> None:
    assert [page.name for page in find(asked)] == [title]


@pytest.mark.parametrize("asked", ["<", "<4xf32>", "nonsense<4>", "tile nonsense"])
def test_brackets_alone_explain_nothing(asked: str) -> None:
    assert find(asked) == []


def test_a_name_of_two_things_shows_both() -> None:
    assert [page.group for page in find("constant")] == ["Core", "Attributes of operations"]


# --- types, attributes, versions ---


def test_every_element_type_is_documented() -> None:
    spelled = {type.spelling for type in number_palette(NEWEST)} | {type.spelling for type in ELEMENT_SINCE}
    assert set(ELEMENT_TYPES) == spelled


def test_every_keyword_of_every_enumeration_is_documented() -> None:
    assert set(ENUMERATIONS) == set(KEYWORDS) == set(ENUM_KINDS)
    for name, kind in ENUM_KINDS.items():
        assert set(KEYWORDS[name]) == set(kind.values), name


@pytest.mark.parametrize("entry", TYPES, ids=lambda entry: entry.name)
def test_the_examples_of_a_type_are_types(entry) -> None:
    for line in entry.example.split("\n"):
        text = f"cuda_tile.module @m {{ entry @e() {{ %x = unrealized_conversion_cast to {line} }} }}"
        assert line.replace("!cuda_tile.", "") in str(tileir.parse(text)).replace("!cuda_tile.", "")


@pytest.mark.parametrize("entry", ATTRIBUTES, ids=lambda entry: entry.name)
def test_the_examples_of_an_attribute_are_attributes(entry) -> None:
    for line in entry.example.split("\n"):
        if entry.group == "Constants":
            element = line[1:].partition(":")[0]
            shape = f"{line.count(',') + 1}x" if "[" in line else ""
            body = f"%x = constant {line} : tile<{shape}{element}>"
        elif entry.group == "Hints":
            body, line = "return", line.removeprefix("optimization_hints = ")
        elif entry.group == "Assumptions":
            kind = "tile<4x4xi32>" if "[" in line else "tile<4xi32>"
            body = f"%v = unrealized_conversion_cast to {kind} %x = assume {line}, %v : {kind}"
        else:
            body = f"return {{note.x = {line}}}"
        hints = f"optimization_hints={line}" if entry.group == "Hints" else ""
        module = tileir.parse(f"cuda_tile.module @m {{ entry @e() {hints} {{ {body} }} }}")
        tileir.verify(module)


def test_a_float_type_is_described_from_its_format() -> None:
    page = shown("bf16")
    for fact in ("16: 1 sign, 8 exponent, 7 mantissa", "3.38953e+38", "2^-133"):
        assert fact in page
    assert "8: 8 exponent, 0 mantissa" in shown("f8E8M0FNU")
    assert "57344" in shown("f8E5M2") and "448" in shown("f8E4M3FN")


def test_versions_are_those_of_the_dialect() -> None:
    assert max(VERSIONS) == NEWEST
    assert "92 operations" in shown("13.1")


def test_a_version_tells_what_it_brought() -> None:
    page = shown("13.4")
    for word in ("fpowi", "gdc_wait_tko", "attribute `saturating`", "`fnv8E5M3FNU`", "`nearest_away`", "`sm_107`"):
        assert word in page
    assert "`pow` is spelled `fpowf`" in page
    assert "make_strided_view" not in page and "make_strided_view" in shown("13.3")


# --- the command ---


def test_without_a_name_everything_is_listed() -> None:
    listing = overview_text()
    for entry in all_entries():
        assert re.search(rf"^  {re.escape(entry.name)} ", listing, re.MULTILINE), entry.name


def test_pages_fit_the_terminal() -> None:
    for width in (80, 100):
        for entry in all_entries():
            for line in page_text(entry.page(), width).split("\n"):
                # What cannot be broken may stick out: a title, a type without blanks.
                assert len(line) <= width or " " not in line.strip() or line.startswith(entry.name), line


def test_an_unknown_name_gets_suggestions_and_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain.run(["adff"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "nothing is known about 'adff'\nhelp: did you mean addf" in captured.err


def test_a_name_unlike_any_other_points_to_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain.run(["zzzzzzzz"]) == 1
    assert capsys.readouterr().err == (
        "error: nothing is known about 'zzzzzzzz'\nhelp: 'tileir explain' lists what there is\n"
    )


def test_part_of_a_name_is_enough_for_a_suggestion() -> None:
    assert "load_view_tko" in close_names("load_view")
    assert "memory_scope" in close_names("cuda_tile.memory_scop")


def test_known_names_are_shown_even_beside_an_unknown_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain.run(["absf", "nosuchthing"]) == 1
    captured = capsys.readouterr()
    assert captured.out.startswith("absf: ")
    assert "nosuchthing" in captured.err


def test_no_color_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain.run(["addf"]) == 0
    assert "\033" not in capsys.readouterr().out


def test_color_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain.run(["addf", "--color", "always"]) == 0
    assert "\033[1mSYNTAX" in capsys.readouterr().out


def test_color_changes_no_words() -> None:
    text = page_text(find("load_ptr_tko")[0])
    colored = styled(text, True)
    assert "\033[1mSYNTAX" in colored
    assert re.sub(r"\033\[\d+m", "", colored) == text.replace("`", "")


def test_names_that_are_known_load_no_difflib() -> None:
    code = (
        "import sys; from tileir.tools.programs import explain; explain.run(['addf']); print('difflib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("False\n")


# --- numbers ---


def test_opcode_leads_to_its_operation(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain.run(["mmaf"]) == 0
    page = capsys.readouterr().out
    for spelled in ("0x49", "0X49", "73"):
        assert explain.run([spelled]) == 0
        assert capsys.readouterr().out == page


def test_number_with_several_meanings_names_them_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain.run(["0x05"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("0x05: 5 in bytecode; where it stands decides which of these it is\n")
    rows = re.findall(r"^  ([a-z ]+?)  +(\S.*)$", printed.partition("MEANINGS\n")[2].partition("\n\n")[0], re.MULTILINE)
    assert [row[0] for row in rows] == ["opcode", "type tag", "attribute tag", "debug attribute tag", "section id"]
    assert [row[1] for row in rows[1:]] == ["`f16`", "`string`, in the public layout", "subprogram", "Type"]


@pytest.mark.parametrize(
    ("number", "meaning"),
    [
        ("0x82", "type tag    `fnv8E5M3FNU` (since 13.4)\n  section id  Func, with an alignment"),
        ("8", "section id     Attribute, in the documented layout"),
        ("110", "since 13.2, opcode 0x6E"),
    ],
)
def test_meaning_of_a_number(number: str, meaning: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain.run([number]) == 0
    assert meaning in capsys.readouterr().out


def test_every_opcode_is_explained() -> None:
    for declaration in operations():
        if declaration.opcode is not None:
            titles = [page.name for page in number_pages(f"{declaration.opcode:#x}")]
            assert title_of(declaration) in titles


@pytest.mark.parametrize("number", ["0xfff", "999999999999999999999", "0x", "1e5", "١", "-1"])
def test_number_without_a_meaning(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain.run(["--", number]) == 1
    assert capsys.readouterr().err.startswith(f"error: nothing is known about '{number}'")
