"""Random histories of loads, stores and atomics: the sanitizer says what one with whole sets of events says."""

from __future__ import annotations

import random

import numpy
import pytest
from tests.execute.full_clocks import FullClocks

import tileir

WORDS = 4
MOST_BLOCKS = 7
LOADS = ("weak", "relaxed device", "relaxed tl_blk", "acquire device", "acquire sys", "acquire tl_blk")
STORES = ("weak", "relaxed device", "release device", "release sys", "release tl_blk")
UPDATES = ("relaxed device", "acquire device", "release device", "acq_rel device", "acq_rel sys", "acq_rel tl_blk")
ONE, MANY = "tile<ptr<i32>>", f"tile<{WORDS}xptr<i32>>"


class History:
    """The text of a kernel that goes through a few words of memory, each tile block along a path of its own."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.tokens = []
        self.number = 0
        # Most histories synchronize often, on few words; some hardly.
        self.strength = self.random.choice((0.3, 0.6, 0.9))

    def new(self):
        self.number += 1
        return f"%{self.number}v"

    def line(self, text):
        self.lines.append(f"    {text}")

    def semantics(self, kinds):
        chosen = self.random.choice(kinds)
        return chosen if self.random.random() < self.strength else kinds[0]

    def pointers(self):
        """One word, words in steps that meet, or a block of them; sometimes one that depends on the tile block."""
        kind = self.random.choice(("fixed", "fixed", "own", "many", "same"))
        array = self.random.choice(("%p", "%q"))
        if kind in ("fixed", "own"):
            place = self.constant(self.random.randrange(WORDS)) if kind == "fixed" else "%x"
            pointer = self.new()
            self.line(f"{pointer} = offset {array}, {place} : {ONE}, tile<i32> -> {ONE}")
            return pointer, ONE, "tile<i32>", "%x"
        spread, row, base, pointer, places = (self.new() for _ in range(5))
        numbers = [self.random.randrange(WORDS) for _ in range(WORDS)] if kind == "same" else range(WORDS)
        self.line(f"{places} = constant <i32: [{', '.join(map(str, numbers))}]> : tile<{WORDS}xi32>")
        self.line(f"{row} = reshape {array} : {ONE} -> tile<1xptr<i32>>")
        self.line(f"{base} = broadcast {row} : tile<1xptr<i32>> -> {MANY}")
        self.line(f"{pointer} = offset {base}, {places} : {MANY}, tile<{WORDS}xi32> -> {MANY}")
        self.line(f"{spread} = iota : tile<{WORDS}xi32>")
        return pointer, MANY, f"tile<{WORDS}xi32>", spread

    def constant(self, value):
        name = self.new()
        self.line(f"{name} = constant <i32: {value}> : tile<i32>")
        return name

    def token(self):
        """A token of the last few, several joined, or none."""
        if not self.tokens or self.random.random() < 0.25:
            return ""
        if len(self.tokens) > 1 and self.random.random() < 0.3:
            joined = self.new()
            left, right = self.random.sample(self.tokens[-6:], 2)
            self.line(f"{joined} = join_tokens {left}, {right} : token")
            return f" token={joined}"
        return f" token={self.random.choice(self.tokens[-3:])}"

    def access(self):
        pointer, pointers, values, value = self.pointers()
        token, given = self.token(), self.new()
        kind = self.random.choice(("load", "store", "update", "update"))
        if kind == "load":
            semantics = self.semantics(LOADS)
            self.line(
                f"{self.new()}, {given} = load_ptr_tko {semantics} {pointer}{token} : {pointers} -> {values}, token"
            )
        elif kind == "store":
            semantics = self.semantics(STORES)
            self.line(f"{given} = store_ptr_tko {semantics} {pointer}, {value}{token} : {pointers}, {values} -> token")
        else:
            semantics = self.random.choice(UPDATES)
            old = self.new()
            self.line(
                f"{old}, {given} = atomic_rmw_tko {semantics} {pointer}, add, {value}{token} : "
                f"{pointers}, {values} -> {values}, token"
            )
        self.tokens.append(given)

    def text(self):
        for _ in range(self.random.randrange(2, 7)):
            # The tile blocks part ways: this part is for some of them only.
            wanted, condition = self.constant(self.random.randrange(4)), self.new()
            how = self.random.choice(("equal", "not_equal", "less_than", "greater_than"))
            self.line(f"{condition} = cmpi {how} %x, {wanted}, signed : tile<i32> -> tile<i1>")
            self.line(f"if {condition} {{")
            outside = list(self.tokens)
            for _ in range(self.random.randrange(1, 4)):
                self.access()
            self.tokens = outside
            self.line("}")
            if self.random.random() < 0.6:
                self.access()
        body = "\n".join(self.lines)
        return (
            f"cuda_tile.module @m {{\n  entry @k(%p: {ONE}, %q: {ONE}) {{\n"
            f"    %x, %y, %z = get_tile_block_id : tile<i32>\n{body}\n    return\n  }}\n}}\n"
        )


def reports(seed):
    kernel = tileir.compile(tileir.parse(History(seed).text()), backend="interpreter")
    chosen = random.Random(seed)
    blocks = chosen.randrange(2, MOST_BLOCKS + 1)
    schedule = chosen.choice(("forward", "reverse", f"random:{seed}", "interleaved"))
    found = []
    for kind in (tileir.sanitizer.Sanitizer, FullClocks):
        observer = kind()
        arrays = [numpy.zeros(MOST_BLOCKS, "i4") for _ in range(2)]
        kernel.launch(blocks, arrays, observer=observer, schedule=schedule)
        found.append(str(observer.report))
    return found


def check(seeds):
    clean = 0
    for seed in seeds:
        ours, oracle = reports(seed)
        assert ours == oracle, f"history {seed}:\n{History(seed).text()}"
        clean += "nothing" in ours.partition("\n")[0]
    assert 0 < clean < len(seeds)


def test_random_histories_have_the_findings_of_whole_sets():
    check(range(60))


@pytest.mark.long
def test_many_random_histories_have_the_findings_of_whole_sets():
    check(range(1000, 6000))
