"""The rules of the expression simplifier, one per line: a name, what is looked for, what takes its place.

x, y and z stand for any integer expressions of one type T, k and l for constants of that type, c and d for i1
expressions.  A colon names the type where a conversion changes it; both sides always have the same one.  `-1` has all
bits set (true, for i1), `max` and `min` are the ends of the signed range.  What stands in brackets are the keywords of
the operation: a word asks for itself, a letter takes any and gives it back, none take any; a new operation without
them makes no promise about wrapping.  What stands in braces is computed from constants.  Operands of commutative
operations may come in either order.

Every line is proved for all widths and keywords by tests/rewrite/test_simplifier_proofs.py, from this table: where the
left side is defined, so is the right one, and they are equal.  That rules out more than one would think: `select(c, d,
false)` is no `and`, because it is defined where c is false and d is not.
"""

from __future__ import annotations

from tileir.annotations import Final

# What the whole expression becomes.
RULES: Final[tuple[tuple[str, str, str], ...]] = (
    # --- constants go to the right, and together ---
    ("compare-constant-first", "cmpi[p,s](k, x)", "cmpi[swapped(p),s](x, k)"),
    ("add-add-constant", "addi(addi(x, k), l)", "addi(x, {addi(k, l)})"),
    ("add-subtract-constant", "addi(subi(x, k), l)", "addi(x, {subi(l, k)})"),
    ("subtract-add-constant", "subi(addi(x, k), l)", "addi(x, {subi(k, l)})"),
    ("multiply-multiply-constant", "muli(muli(x, k), l)", "muli(x, {muli(k, l)})"),
    ("and-and-constant", "andi(andi(x, k), l)", "andi(x, {andi(k, l)})"),
    ("or-or-constant", "ori(ori(x, k), l)", "ori(x, {ori(k, l)})"),
    ("xor-xor-constant", "xori(xori(x, k), l)", "xori(x, {xori(k, l)})"),
    # --- arithmetic ---
    ("add-zero", "addi(x, 0)", "x"),
    ("subtract-zero", "subi(x, 0)", "x"),
    ("subtract-itself", "subi(x, x)", "0"),
    ("multiply-zero", "muli(x, 0)", "0"),
    ("multiply-one", "muli(x, 1)", "x"),
    ("add-subtract", "addi(subi(x, y), y)", "x"),
    ("subtract-added", "subi(addi(x, y), y)", "x"),
    ("subtract-subtracted", "subi(x, subi(x, y))", "y"),
    ("add-negation", "addi(x, negi(x))", "0"),
    ("negate-negation", "negi(negi(x))", "x"),
    ("shift-left-zero", "shli(x, 0)", "x"),
    ("shift-right-zero", "shri(x, 0)", "x"),
    ("zero-shifted-left", "shli(0, x)", "0"),
    ("zero-shifted-right", "shri(0, x)", "0"),
    ("ones-shifted-right", "shri[signed](-1, x)", "-1"),
    # --- bits ---
    ("and-zero", "andi(x, 0)", "0"),
    ("and-ones", "andi(x, -1)", "x"),
    ("and-itself", "andi(x, x)", "x"),
    ("and-complement", "andi(x, xori(x, -1))", "0"),
    ("and-again", "andi(x, andi(x, y))", "andi(x, y)"),
    ("and-absorbs", "andi(x, ori(x, y))", "x"),
    ("or-zero", "ori(x, 0)", "x"),
    ("or-ones", "ori(x, -1)", "-1"),
    ("or-itself", "ori(x, x)", "x"),
    ("or-complement", "ori(x, xori(x, -1))", "-1"),
    ("or-again", "ori(x, ori(x, y))", "ori(x, y)"),
    ("or-absorbs", "ori(x, andi(x, y))", "x"),
    ("xor-zero", "xori(x, 0)", "x"),
    ("xor-itself", "xori(x, x)", "0"),
    ("xor-again", "xori(x, xori(x, y))", "y"),
    # --- the smaller and the larger one ---
    ("minimum-itself", "mini(x, x)", "x"),
    ("maximum-itself", "maxi(x, x)", "x"),
    ("minimum-zero", "mini[unsigned](x, 0)", "0"),
    ("maximum-zero", "maxi[unsigned](x, 0)", "x"),
    ("minimum-ones", "mini[unsigned](x, -1)", "x"),
    ("maximum-ones", "maxi[unsigned](x, -1)", "-1"),
    ("minimum-least", "mini[signed](x, min)", "min"),
    ("maximum-least", "maxi[signed](x, min)", "x"),
    ("minimum-greatest", "mini[signed](x, max)", "x"),
    ("maximum-greatest", "maxi[signed](x, max)", "max"),
    ("minimum-again", "mini[s](x, mini[s](x, y))", "mini[s](x, y)"),
    ("maximum-again", "maxi[s](x, maxi[s](x, y))", "maxi[s](x, y)"),
    ("minimum-of-maximum", "mini[s](x, maxi[s](x, y))", "x"),
    ("maximum-of-minimum", "maxi[s](x, mini[s](x, y))", "x"),
    # --- comparisons ---
    ("equal-itself", "cmpi[equal,s](x, x)", "-1"),
    ("not-equal-itself", "cmpi[not_equal,s](x, x)", "0"),
    ("less-than-itself", "cmpi[less_than,s](x, x)", "0"),
    ("at-most-itself", "cmpi[less_than_or_equal,s](x, x)", "-1"),
    ("greater-than-itself", "cmpi[greater_than,s](x, x)", "0"),
    ("at-least-itself", "cmpi[greater_than_or_equal,s](x, x)", "-1"),
    ("less-than-zero", "cmpi[less_than,unsigned](x, 0)", "0"),
    ("at-least-zero", "cmpi[greater_than_or_equal,unsigned](x, 0)", "-1"),
    ("greater-than-ones", "cmpi[greater_than,unsigned](x, -1)", "0"),
    ("at-most-ones", "cmpi[less_than_or_equal,unsigned](x, -1)", "-1"),
    ("less-than-least", "cmpi[less_than,signed](x, min)", "0"),
    ("at-least-least", "cmpi[greater_than_or_equal,signed](x, min)", "-1"),
    ("greater-than-greatest", "cmpi[greater_than,signed](x, max)", "0"),
    ("at-most-greatest", "cmpi[less_than_or_equal,signed](x, max)", "-1"),
    ("equal-true", "cmpi[equal,s](c, -1)", "c"),
    ("not-equal-false", "cmpi[not_equal,s](c, 0)", "c"),
    ("equal-false", "cmpi[equal,s](c, 0)", "xori(c, -1)"),
    ("not-equal-true", "cmpi[not_equal,s](c, -1)", "xori(c, -1)"),
    ("equal-shifted", "cmpi[equal,s](addi(x, k), l)", "cmpi[equal,s](x, {subi(l, k)})"),
    ("not-equal-shifted", "cmpi[not_equal,s](addi(x, k), l)", "cmpi[not_equal,s](x, {subi(l, k)})"),
    # --- choices ---
    ("select-same", "select(c, x, x)", "x"),
    ("select-true", "select(-1, x, y)", "x"),
    ("select-false", "select(0, x, y)", "y"),
    ("select-true-false", "select(c, -1, 0)", "c"),
    ("select-false-true", "select(c, 0, -1)", "xori(c, -1)"),
    ("select-negated", "select(xori(c, -1), x, y)", "select(c, y, x)"),
    ("select-select-true", "select(c, select(c, x, y), z)", "select(c, x, z)"),
    ("select-select-false", "select(c, x, select(c, y, z))", "select(c, x, z)"),
    ("select-equal", "select(cmpi[equal,s](x, y), x, y)", "y"),
    ("select-not-equal", "select(cmpi[not_equal,s](x, y), x, y)", "x"),
    # --- conversions ---
    ("truncate-extended", "trunci:T(exti:U(x))", "x"),
    ("truncate-truncated", "trunci:V(trunci:U(x))", "trunci:V(x)"),
    ("extend-extended", "exti:V[s](exti:U[s](x))", "exti:V[s](x)"),
    ("extend-extended-unsigned", "exti:V[s](exti:U[unsigned](x))", "exti:V[unsigned](x)"),
    ("extended-not-zero", "cmpi[not_equal,s](exti:U(c), 0)", "c"),
    ("extended-zero", "cmpi[equal,s](exti:U(c), 0)", "xori(c, -1)"),
    ("extended-lowest-bit", "andi(exti:U[unsigned](c), 1)", "exti:U[unsigned](c)"),
)

# What the complement of an expression is, where that costs no operation more: tried on the x of `xori(x, -1)`.
COMPLEMENTS: Final[tuple[tuple[str, str, str], ...]] = (
    ("complement-complement", "xori(x, -1)", "x"),
    ("complement-compare", "cmpi[p,s](x, y)", "cmpi[inverse(p),s](x, y)"),
    ("complement-xor-constant", "xori(x, k)", "xori(x, {xori(k, -1)})"),
)

SWAPPED: Final[dict[str, str]] = {
    "equal": "equal",
    "not_equal": "not_equal",
    "less_than": "greater_than",
    "less_than_or_equal": "greater_than_or_equal",
    "greater_than": "less_than",
    "greater_than_or_equal": "less_than_or_equal",
}
INVERSE: Final[dict[str, str]] = {
    "equal": "not_equal",
    "not_equal": "equal",
    "less_than": "greater_than_or_equal",
    "less_than_or_equal": "greater_than",
    "greater_than": "less_than_or_equal",
    "greater_than_or_equal": "less_than",
}
