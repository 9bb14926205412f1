"""Words that no page, help text or message has, each with what to write instead.

The words of compilers, of POSIX and of Python's documentation are used; no other. Where a word of the list is also
ordinary English or a term of the field, the pattern has only the use that a reader stumbles on, and the comment says
which uses stay.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Word(NamedTuple):
    """A word to avoid: a regular expression, what to write instead, uses that it finds, and uses that stay."""

    pattern: str
    instead: str
    found: tuple[str, ...]
    stays: tuple[str, ...] = ()


WORDS = (
    Word(r"mistak(e|es|en)", "error or finding", ("three mistakes",)),
    Word(r"told|tells?", "reported, shown, or name the subject", ("it tells about", "errors are told")),
    # `say so` of a person stays nowhere: a machine prints, reports, states or returns.
    Word(r"say|says|said", "prints, reports or states", ("the device says so",)),
    # `give` as an order stays: "give a number".  `given` stays.
    Word(r"gives|gave", "returns, is, or makes", ("it gives NaN",), ("give a number", "a given array")),
    Word(r"(?<!you )wants?|wanted|wanting", "expected, needs", ("nobody wants it",), ("if you want",)),
    Word(r"asks?|asked|asking", "requests, requested", ("what was asked for",), ("a task", "mask")),
    # Machine words and words of a shell stay.
    Word(r"in (\w+'s? |the |its |their )?(other |own )?words|words (that|of (a|the|its)) ", "message, text, names", ("in the words of a page", "in NVIDIA's words"), ("two words",)),
    # A chain of additions, of operations or of calls stays; so does a chain of tokens, which order memory.
    Word(r"chains? of (products|matmuls|iterations)|(product|k) chains?", "k-loop", ("a chain of products",)),
    # A switch is turned on and off.
    Word(r"(?<!in )turn(s|ed|ing)?(?! ([\w' ]{1,40} )?o(n|ff)\b)", "convert, transpose, iteration", ("Turn x into y", "the next turn"), ("turn checks off", "turns off", "in turn", "Return")),
    Word(r"stretch\w*", "expand, range", ("the tile to stretch",)),
    # The product of two numbers, the product of a reduction and an outer product stay.
    Word(r"matrix products?|products? of (\{|floats|matrices|tiles|f\d\w*|products)|products and sums|(a|the|these|smaller) products|products by default", "matmul, multiplication", ("a matrix product", "fuse products and sums"), ("the product of both counts",)),
    # A scale factor, the factor of a loop that is unrolled, and "by a factor of two" stay.
    Word(r"(?<!scale )(?<!by a )(?<!unroll )(?<!form )factors?(?! of (\d|two|ten))", "operand", ("both factors",), ("a scale factor", "by a factor of 2")),
    Word(r"(?<!packed )panels?", "packed panel; section of a page", ("the panel of A",), ("a packed panel",)),
    Word(r"memos?", "pack cache", ("a memo",)),
    Word(r"brought|brings", "packed; added", ("13.3 brought it",)),
    Word(r"staged(?! in scratch)", "staged in scratch", ("a staged tile",), ("staged in scratch",)),
    # An odd number stays.
    Word(r"odd (names?|files?|arguments?|shapes?|tiles?|cases?|words?|values?)", "unusual, needs fallback", ("odd names",), ("odd numbers", "ties to odd")),
    Word(r"fresh(ly)?", "new, zero-initialized", ("a fresh process",), ("refresh",)),
    # A program is cut off, and a cut in a graph stays.
    Word(r"cuts?(?! off)|cutting", "split, truncated, k tail", ("cuts the tile",), ("cut off", "shortcut")),
    Word(r"(?<!loop )nests?(?= (of|over|in the code)\b)|a nest\b", "loop nest", ("a nest of loops",), ("loop nest of", "contexts nest")),
    Word(r"sinks?", "store", ("a sink",)),
    Word(r"look(s|ed|ing)? ahead|looked (at|for|up at)", "speculates; read, searched, examined", ("what is looked for",), ("looked up",)),
    Word(r"alike|likeness(es)?", "equal, the same way; structural key", ("treated alike",)),
    Word(r"postings?|mailbox(es)?", "dispatch, slot", ("a mailbox",)),
    Word(r"nursery|crews?|deaths?|pace", "server pool, executor, exit status, chunk size", ("a death",), ("space",)),
    Word(r"pretend(s|ed|ing)?", "emulated", ("a pretended GPU",)),
    Word(r"rosters?", "table", ("the roster",)),
    # Heads of attention stay.
    Word(r"(?<!attention )(?<!\d )heads(?! of attention)", "record prefix", ("the heads",), ("attention heads", "8 heads")),
    Word(r"pieces?", "part", ("a piece of memory",)),
    Word(r"moments?", "step", ("at this moment",), ("momentum",)),
    # "In place", "take place" and "in place of" stay, as does the verb.
    Word(r"(the|a|same|another|own|this|that|such a|its|their|no|certain|every|each|two|other|right|wrong|earlier) places?(?! (of|where) \{)", "location, address, slot, position", ("to the same place", "has no place in bytecode"), ("in place", "takes place", "placed")),
    # The generic form, the canonical form, and a form on a page stay.
    Word(r"forms? of (a|the|this|one|its) (program|kernel|module|launch)|the forms\b", "representation", ("the forms of a program",), ("the generic form",)),
    # One word for what runs programs.
    Word(r"engines?", "backend", ("another engine",)),
)  # fmt: skip

_IZE = (
    "author|canonical|categor|character|custom|emphas|final|general|initial|linear|local|material|maxim|memor|minim"
    "|modular|normal|optim|organ|parallel|penal|prior|priorit|quant|real|recogn|serial|special|stabil|standard|summar"
    "|symbol|synchron|token|util|vector|visual|item"
)
BRITISH = (
    Word(rf"(un|re|de|pre)?({_IZE})is(e|es|ed|ing|er|ers|ation|ations|able)", "-ize", ("optimise", "serialisation"), ("promise", "likewise")),
    Word(r"analys(e|ed|ing|er)", "analyze", ("analyse",), ("analyses of memory", "analysis")),
    Word(r"(col|behavi|fav|neighb|hon|flav|lab|hum|rum|vap)our(s|ed|ing|able|ite|ites|less|al|hood)?", "-or", ("colour", "behaviour"), ("four hours",)),
    Word(r"(cent|fib|lit|met|theat|calib|spect)re(s|d)?", "-er", ("centre",), ("metric",)),
    Word(r"gr(ey)(ed|ish|s)?", "gray", ("grey",)),
    Word(r"(cancel|label|model|travel|signal|level|fuel|total|channel|tunnel|marshal)l(ed|ing|er|ers)", "one l", ("labelled", "cancelled"), ("called", "cancellation")),
    Word(r"catalogue[sd]?|dialogue box|licence[sd]?|defence|offence|artefacts?|judgement|learnt|spelt|whilst|programmes?|ageing|acknowledgement|tyre|sceptical|cheque|enrol|fulfil|skilful|amongst|towards", "the American spelling", ("catalogue", "artefact"), ("programmer",)),
)  # fmt: skip


def pattern_of(word: Word) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{word.pattern})\b", re.IGNORECASE)


PATTERNS = [(pattern_of(word), word.instead) for word in (*WORDS, *BRITISH)]
