"""Programs that grow along one dimension: for each a function from a number to a text.

Each is a whole module.  What a program has most of is its dimension; all else stays the same.
"""

from __future__ import annotations

from tests.growth.memory_programs import MEMORY
from tests.growth.writing import Maker, each, kept, kernel, module

# --- symbols ---


def globals_(n: int) -> str:
    variables = "".join(each(n, lambda i: f"  global @g{i} <i32: {i}> : tile<1xi32>\n"))
    uses = each(n, lambda i: f"%u{i} = get_global @g{i} : tile<ptr<i32>>")
    return module("entry @k() {\n    " + "\n    ".join([*uses, "return"]) + "\n  }", variables)


def entries(n: int) -> str:
    return module("\n  ".join(each(n, lambda i: f"entry @e{i}(%a: tile<i32>) {{ return }}")))


def scoped_entries(n: int) -> str:
    """Kernels each with debug scopes of its own."""
    scopes = "".join(
        each(
            n,
            lambda i: (
                f'#sub{i} = #cuda_tile.di_subprogram<file = #file, line = {i + 1}, name = "e{i}", '
                f'linkageName = "e{i}", compileUnit = #unit, scopeLine = {i + 1}>\n'
                f'#at{i} = loc("f.py":{i + 1}:1)\n#loc{i} = #cuda_tile.di_loc<#at{i} in #sub{i}>\n'
            ),
        )
    )
    head = '#file = #cuda_tile.di_file<"f.py" in "/d">\n#unit = #cuda_tile.di_compile_unit<file = #file>\n'
    body = "\n  ".join(each(n, lambda i: f"entry @e{i}() {{ return loc(#loc{i}) }} loc(#loc{i})"))
    return head + scopes + module(body)


# --- the pieces of an operation ---


def arguments(n: int) -> str:
    parameters = ", ".join(each(n, lambda i: f"%a{i}: tile<i32>"))
    return kernel(each(n, lambda i: f"%s{i} = addi %a{i}, %one : tile<i32>"), parameters)


def results(n: int) -> str:
    types = ", ".join(["tile<i32>"] * n)
    values = ", ".join(["%one"] * n)
    return kernel(
        [
            f"%r:{n} = if %true -> ({types}) {{",
            f"  yield {values} : {types}",
            "} else {",
            f"  yield {', '.join(['%zero'] * n)} : {types}",
            "}",
            *each(n, lambda i: f"%s{i} = addi %r#{i}, %one : tile<i32>"),
        ]
    )


def carried(n: int) -> str:
    """A loop with many values."""
    types = ", ".join(["tile<i32>"] * n)
    initial = ", ".join(each(n, lambda i: f"%c{i} = %zero"))
    return kernel(
        [
            f"%r:{n} = for %i in (%zero to %n, step %one) : tile<i32> iter_values({initial}) -> ({types}) {{",
            *each(n, lambda i: f"  %s{i} = addi %c{i}, %i : tile<i32>"),
            f"  continue {', '.join(each(n, lambda i: f'%s{i}'))} : {types}",
            "}",
        ]
    )


def operands(n: int) -> str:
    """One operation with many operands."""
    tokens = each(n + 2, lambda i: f"%t{i} = make_token : token")
    return kernel([*tokens, f"%t = join_tokens {', '.join(each(n + 2, lambda i: f'%t{i}'))} : token"])


def same_operands(n: int) -> str:
    """One operation with one operand many times."""
    return kernel(["%t = make_token : token", f"%u = join_tokens {', '.join(['%t'] * (n + 2))} : token"])


def discardable_attributes(n: int) -> str:
    attributes = ", ".join(each(n, lambda i: f"x.a{i} = {i} : i64"))
    return kernel([f"%a = addi %one, %one {{{attributes}}} : tile<i32>"])


def array_attribute(n: int) -> str:
    return kernel([f"%a = addi %one, %one {{x.a = [{', '.join(each(n, lambda i: f'{i} : i64'))}]}} : tile<i32>"])


def dictionary_attribute(n: int) -> str:
    inner = ", ".join(each(n, lambda i: f"k{i} = {i} : i64"))
    return kernel([f"%a = addi %one, %one {{x.d = {{{inner}}}}} : tile<i32>"])


def nested_attribute(n: int) -> str:
    return kernel([f"%a = addi %one, %one {{x.d = {'[' * n}1 : i64{']' * n}}} : tile<i32>"])


def constant_size(n: int) -> str:
    size = 1 << max(n - 1, 1).bit_length()
    return kernel([f"%c = constant <i32: [{', '.join(map(str, range(size)))}]> : tile<{size}xi32>"])


def constants(n: int) -> str:
    return kernel(each(n, lambda i: f"%c{i} = constant <i32: {i}> : tile<i32>"))


def long_string(n: int) -> str:
    return kernel([f'print_tko "{"abc " * n}" -> token'])


def long_names(n: int) -> str:
    name = "v" * n
    return kernel([f"%{name} = addi %one, %one : tile<i32>", f"%w = addi %{name}, %one : tile<i32>"])


def escaped_string(n: int) -> str:
    return kernel(['%a = addi %one, %one {x.s = "' + r"\0A\22é" * n + '"} : tile<i32>'])


# --- many operations ---


def chain(n: int) -> str:
    return kernel(each(n, lambda i: f"%s{i} = addi {f'%s{i - 1}' if i else '%x'}, %n : tile<i32>"))


def users(n: int) -> str:
    """One value that many operations take."""
    return kernel(each(n, lambda i: f"%s{i} = muli %x, %n : tile<i32>"))


def distinct_users(n: int) -> str:
    return kernel(
        each(n, lambda i: f"%c{i} = constant <i32: {i + 2}> : tile<i32>\n    %s{i} = muli %x, %c{i} : tile<i32>")
    )


def dead(n: int) -> str:
    """A chain nobody uses, to be taken away from its end."""
    return kernel(each(n, lambda i: f"%s{i} = addf {f'%s{i - 1}' if i else '%f'}, %f : tile<f32>"))


def live_chain(n: int) -> str:
    lines = [
        "%q0 = itof %x signed : tile<i32> -> tile<f32>",
        *each(n, lambda i: f"%q{i + 1} = mulf %q{i}, %q{i} : tile<f32>"),
    ]
    return kept(lines, f"%q{n}")


def products_and_sums(n: int) -> str:
    """What fuse-fma fuses."""
    lines = ["%q0 = itof %x signed : tile<i32> -> tile<f32>"]
    for i in range(n):
        lines.append(f"%m{i} = mulf %q{i}, %f : tile<f32>")
        lines.append(f"%q{i + 1} = addf %m{i}, %f : tile<f32>")
    return kept(lines, f"%q{n}")


def common_subexpressions(n: int) -> str:
    lines = ["%w = itof %x signed : tile<i32> -> tile<f32>", "%q0 = addf %w, %f : tile<f32>"]
    for i in range(n):
        lines.append(f"%m{i} = mulf %w, %f : tile<f32>")
        lines.append(f"%q{i + 1} = addf %q{i}, %m{i} : tile<f32>")
    return kept(lines, f"%q{n}")


def foldable(n: int) -> str:
    return kernel(
        [
            *each(n, lambda i: f"%s{i} = addi {f'%s{i - 1}' if i else '%one'}, %one : tile<i32>"),
            f"%end = itof %s{n - 1} signed : tile<i32> -> tile<f32>",
            "%t = store_ptr_tko weak %p, %end : tile<ptr<f32>>, tile<f32> -> token",
        ]
    )


def simplifiable(n: int) -> str:
    lines = []
    for i in range(n):
        before = f"%s{i - 1}" if i else "%x"
        lines.append(f"%a{i} = addi {before}, %n : tile<i32>")
        lines.append(f"%s{i} = subi %a{i}, %n : tile<i32>")
    lines.append(f"%end = itof %s{n - 1} signed : tile<i32> -> tile<f32>")
    lines.append("%t = store_ptr_tko weak %p, %end : tile<ptr<f32>>, tile<f32> -> token")
    return kernel(lines)


def assumptions(n: int) -> str:
    lines = each(n, lambda i: f"%s{i} = assume div_by<{1 << i % 6}>, {f'%s{i - 1}' if i else '%n'} : tile<i32>")
    return kernel([*lines, f"%d = divi %s{n - 1}, %one signed : tile<i32>"])


def invariants(n: int) -> str:
    """What licm moves out of a loop."""
    lines = each(n, lambda i: f"  %s{i} = mulf {f'%s{i - 1}' if i else '%w'}, %w : tile<f32>")
    return kernel(
        [
            "%w = itof %x signed : tile<i32> -> tile<f32>",
            "for %i in (%zero to %n, step %one) : tile<i32> {",
            *lines,
            f"  %t = store_ptr_tko weak %p, %s{n - 1} : tile<ptr<f32>>, tile<f32> -> token",
            "  continue",
            "}",
        ]
    )


def split_loops(n: int) -> str:
    """Loops that loop-split cuts in two."""
    lines = ["%c = constant <i32: 7> : tile<i32>"]
    for i in range(n):
        lines += [
            f"for %i{i} in (%zero to %n, step %one) : tile<i32> {{",
            f"  %b{i} = cmpi less_than %i{i}, %c, signed : tile<i32> -> tile<i1>",
            f"  if %b{i} {{",
            f"    %t{i} = store_ptr_tko weak %p, %f : tile<ptr<f32>>, tile<f32> -> token",
            "  }",
            "  continue",
            "}",
        ]
    return kernel(lines)


def names(n: int) -> str:
    """Names that collide when they are printed."""
    return kernel(
        each(
            n,
            lambda i: (
                f"if %true {{\n      %a = addi %one, %one : tile<i32>\n      %b{i} = addi %a, %a : tile<i32>\n    }}"
            ),
        )
    )


def types(n: int) -> str:
    """Distinct types."""
    lines = []
    for i in range(n):
        view = f"tensor_view<{i + 1}xf32, strides=[1]>"
        lines.append(f"%v{i} = make_tensor_view %p, shape = [{i + 1}], strides = [1] : {view}")
    return kernel(lines)


# --- nesting ---


def nested_ifs(n: int) -> str:
    opening = each(n, lambda i: f"{'  ' * (i % 8)}if %true {{")
    return kernel([*opening, "%a = addi %one, %one : tile<i32>", *["}"] * n])


def nested_loops(n: int) -> str:
    opening = each(n, lambda i: f"for %i{i} in (%zero to %one, step %one) : tile<i32> {{")
    return kernel([*opening, "%a = addi %one, %one : tile<i32>", *["continue\n    }"] * n])


def nested_invariants(n: int) -> str:
    """Each loop of a nest with an operation that all of them leave."""
    lines = ["%w = itof %x signed : tile<i32> -> tile<f32>"]
    for i in range(n):
        lines.append(f"for %i{i} in (%zero to %one, step %one) : tile<i32> {{")
        lines.append(f"%m{i} = mulf %w, %w : tile<f32>")
        lines.append(f"%t{i} = store_ptr_tko weak %p, %m{i} : tile<ptr<f32>>, tile<f32> -> token")
    return kernel([*lines, *["continue\n    }"] * n])


def ifs(n: int) -> str:
    lines = ["%c = cmpi less_than %x, %n, signed : tile<i32> -> tile<i1>"]
    for i in range(n):
        lines.append(f"%r{i} = if %c -> (tile<i32>) {{ yield %one : tile<i32> }} else {{ yield %zero : tile<i32> }}")
    return kernel(lines)


def loops(n: int) -> str:
    lines = []
    for i in range(n):
        before = f"%r{i - 1}" if i else "%f"
        lines += [
            f"%r{i} = for %i{i} in (%zero to %n, step %one) : tile<i32> iter_values(%a{i} = {before}) -> (tile<f32>) {{",
            f"  %s{i} = addf %a{i}, %f : tile<f32>",
            f"  continue %s{i} : tile<f32>",
            "}",
        ]
    return kept(lines, f"%r{n - 1}")


# --- locations ---


def locations(n: int) -> str:
    return kernel(each(n, lambda i: f'%s{i} = addi %x, %n : tile<i32> loc("f.py":{i + 1}:{i % 70 + 1})'))


def fused_locations(n: int) -> str:
    parts = ", ".join(each(n, lambda i: f'"f.py":{i + 1}:1'))
    return kernel([f"%s = addi %x, %n : tile<i32> loc(fused[{parts}])"])


def call_sites(n: int) -> str:
    """A chain of call sites, one alias on the other, and an operation at each."""
    aliases = ['#c0 = loc("f.py":1:1)'] + each(n, lambda i: f'#c{i + 1} = loc(callsite(#c{i} at "g.py":{i + 1}:2))')
    lines = each(n, lambda i: f"%s{i} = addi %x, %n : tile<i32> loc(#c{i + 1})")
    return "\n".join(aliases) + "\n" + kernel(lines)


def scoped_call_sites(n: int) -> str:
    """The same with debug scopes, without which bytecode has no place for them."""
    head = (
        '#file = #cuda_tile.di_file<"f.py" in "/d">\n#unit = #cuda_tile.di_compile_unit<file = #file>\n'
        '#sub = #cuda_tile.di_subprogram<file = #file, line = 1, name = "k", linkageName = "k", compileUnit = #unit>\n'
        '#at = loc("f.py":1:1)\n#c0 = #cuda_tile.di_loc<#at in #sub>\n'
    )
    chain = each(n, lambda i: f"#c{i + 1} = loc(callsite(#c{i} at #c0))\n")
    lines = each(n, lambda i: f"%s{i} = addi %n, %n : tile<i32> loc(#c{i + 1})")
    body = "\n    ".join([*lines, "return loc(#c0)"])
    return head + "".join(chain) + module(f"entry @k(%n: tile<i32>) {{\n    {body}\n  }} loc(#c0)")


def aliases(n: int) -> str:
    head = "".join(each(n, lambda i: f'#l{i} = loc("f.py":{i + 1}:1)\n'))
    return head + kernel(each(n, lambda i: f"%s{i} = addi %x, %n : tile<i32> loc(#l{i})"))


SOUND: dict[str, Maker] = {
    "globals": globals_,
    "entries": entries,
    "entries with scopes": scoped_entries,
    "arguments": arguments,
    "results": results,
    "carried values": carried,
    "operands": operands,
    "one operand many times": same_operands,
    "discardable attributes": discardable_attributes,
    "array attribute": array_attribute,
    "dictionary attribute": dictionary_attribute,
    "nested attribute": nested_attribute,
    "elements of a constant": constant_size,
    "constants": constants,
    "length of a string": long_string,
    "length of a name": long_names,
    "escapes in a string": escaped_string,
    "chain": chain,
    "users of a value": users,
    "distinct users of a value": distinct_users,
    "dead chain": dead,
    "live chain": live_chain,
    "products and sums": products_and_sums,
    "common subexpressions": common_subexpressions,
    "foldable chain": foldable,
    "simplifiable chain": simplifiable,
    "assumptions": assumptions,
    "loop invariants": invariants,
    "loops to split": split_loops,
    "colliding names": names,
    "types": types,
    "nested ifs": nested_ifs,
    "nested loops": nested_loops,
    "nested invariants": nested_invariants,
    "ifs": ifs,
    "loops": loops,
    **MEMORY,
    "locations": locations,
    "fused locations": fused_locations,
    "call sites": call_sites,
    "call sites with scopes": scoped_call_sites,
    "aliases": aliases,
}
