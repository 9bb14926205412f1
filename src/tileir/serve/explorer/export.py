"""A page that needs no server: it carries the answers to its questions.

What belongs to the whole launch is always there: summary, representations, findings, costs, accesses.  Values belong to
a tile block at a step, and all of a large launch would be gigabytes: those of as many blocks are carried as fit, and
the page lists them.

Answers are in bundles, each JSON that is compressed by gzip and written as base64: one for each question, and one for
each tile block, which `assets/data.js` looks answers up in.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tileir.browser import one_file
from tileir.browser.one_file import packed
from tileir.serve.explorer.questions import Answer, Answering, QuestionError

SIZE = 16 << 20
"""The default size of a page, in bytes, up to which it carries values."""

SHARED_TARGETS = ("h200", "a100", "h100", "b200", "rtx5090", "cpu")
"""The targets whose costs an exported page carries by default: compiling for each takes a while."""

_BLOCKS_AT_MOST = 64
_SPREAD = 16
# The most steps of one tile block: more are a long loop, whose values no user reads one by one.
_STEPS_AT_MOST = 4096
# The most values of blocks that the user has not chosen: each has a tile to be looked up and written.
_VALUES_AT_MOST = 20_000
_WRITES_AT_MOST = 32
_DIFFERENCES_AT_MOST = 32
_ROWS = 65_536
_MISSES = 3


@dataclass(slots=True)
class ExportedPage:
    """A page, and what it carries: the tile blocks whose values are in it, and what was left out, in sentences."""

    text: str
    blocks: list[int]
    notes: list[str]


def exported(explorer: Answering, *, blocks: Sequence[int] | None = None, size: int = SIZE) -> ExportedPage:
    """The page with its answers; `blocks` are the tile blocks whose values it carries, whatever they take."""
    return _Exporting(explorer, blocks, size).exported()


class _Exporting:
    def __init__(self, explorer: Answering, blocks: Sequence[int] | None, size: int) -> None:
        self._explorer = explorer
        self._chosen = None if blocks is None else list(dict.fromkeys(blocks))
        self._limit = size
        self._summary = dict(explorer.answer("summary", {}))
        self._bundles: dict[str, str] = {}
        self._notes: list[str] = []
        self._findings: list[Answer] = []
        self._first_accesses: Answer | None = None

    def exported(self) -> ExportedPage:
        # Compilers make some of the representations and costs, while this process reads the recording.
        with ThreadPoolExecutor(2) as others:
            forms = others.submit(self._carried_forms)
            costs = others.submit(self._carried_costs)
            self._add("numbers", {})
            self._findings = (self._add("findings", {}) or {"findings": []})["findings"]
            self._add_accesses()
            self._add_arrays()
            carried = self._add_blocks()
            self._summary["forms"] = forms.result()
            self._summary["targets"] = costs.result()
        self._summary["notes"] = [*self._summary["notes"], *self._notes]
        self._bundles["summary"] = packed(self._summary)
        title = f"{self._summary['kernel']}: tileir explorer"
        # Sorted, so that the same launch makes the same page.
        bundles = dict(sorted(self._bundles.items()))
        text = one_file.page("tileir.serve.explorer", title, {"bundles": bundles})
        return ExportedPage(text, carried, self._notes)

    # --- what belongs to the whole launch ---

    def _carried_forms(self) -> list[Answer]:
        """The representations of the summary, each with the reason if it cannot be made."""
        found: list[Answer] = []
        for form in self._summary["forms"]:
            chosen: dict[str, str | int] = {"id": form["id"]}
            try:
                if form["reason"] is None:
                    self._bundles[key_of("form", chosen)] = packed(self._explorer.answer("form", chosen))
                found.append(form)
            except QuestionError as error:
                found.append({**form, "reason": error.message})
        return found

    def _carried_costs(self) -> list[Answer]:
        """Costs on the most frequent targets, or on those that were chosen, which are few."""
        targets = self._summary["targets"]
        if len(targets) > len(SHARED_TARGETS):
            targets = [target for target in targets if target["id"] in SHARED_TARGETS]
        return [target for target in targets if self._add("cost", {"target": target["id"]}) is not None]

    def _add_accesses(self) -> None:
        total, kept, size = self._summary["recording"]["accesses"], 0, 0
        found: list[Answer] = []
        while kept < total or not found:
            try:
                answer = self._explorer.answer("accesses", {"first": kept, "count": _ROWS})
            except QuestionError:
                return
            size += len(packed(answer))
            if found and size > self._limit:
                self._notes.append(f"This page carries the first {kept} of {total} accesses.")
                break
            found.append(dict(answer))
            if not answer["count"]:
                break
            kept += answer["count"]
        self._first_accesses = found[0]
        for answer in found:
            answer["total"] = kept
            self._bundles[f"accesses&first={answer['first']}"] = packed(answer)
        self._summary["recording"] = {**self._summary["recording"], "accesses": kept}

    def _add_arrays(self) -> None:
        """Conflicts, and arrays that are the same at every step of the launch."""
        order = _numbers(self._summary["recording"]["order"])
        for array in self._summary["arrays"]:
            self._add("conflicts", {"array": array["id"]})
            if order and not array["written"]:
                chosen: dict[str, str | int] = {"array": array["id"], "block": order[0], "step": 0}
                self._add("array", chosen, key=f"array={array['id']}")

    def _add(self, question: str, parameters: Mapping[str, str | int], key: str = "") -> Answer | None:
        """Carry an answer, if there is one."""
        try:
            answer = self._explorer.answer(question, parameters)
        except QuestionError:
            return None
        self._bundles[key or key_of(question, parameters)] = packed(answer)
        return answer

    # --- values, block by block ---

    def _add_blocks(self) -> list[int]:
        order = _numbers(self._summary["recording"]["order"])
        if not order:
            return []
        blocks = self._chosen if self._chosen is not None else self._worthwhile(order)
        known = set(order)
        carried: list[int] = []
        left, misses, values, is_cut = self._limit, 0, 0, False
        for block in blocks:
            if block not in known:
                raise QuestionError(f"tile block {block} is not in the recording, which has {len(order)}")
            if self._chosen is None and values > _VALUES_AT_MOST:
                break
            answers = self._of_block(block)
            bundle = packed(answers)
            values += len(answers["values"])
            if self._chosen is None:
                if len(bundle) > left:
                    misses += 1
                    if misses == _MISSES:
                        break
                    continue
                left -= len(bundle)
            is_cut = is_cut or answers["last"] == _STEPS_AT_MOST
            self._bundles[f"block={block}"] = bundle
            carried.append(block)
        if is_cut:
            self._notes.append(f"This page carries the values of the first {_STEPS_AT_MOST} steps of a tile block.")
        if len(carried) < len(order):
            numbers = ", ".join([str(block) for block in sorted(carried)])
            has = f"the values of tile blocks {numbers}" if carried else "no values"
            limit = f"; more would make it larger than {self._limit >> 20} MiB, or slow" if self._chosen is None else ""
            self._notes.append(f"This page carries {has} of {len(order)}{limit}. What they access is all here.")
        return carried

    def _worthwhile(self, order: list[int]) -> list[int]:
        """Tile blocks in the order in which one would look at them: what is wrong, the corners, some of the rest."""
        places = [place for finding in self._findings for place in (finding["place"], finding["other"]) if place]
        wrong = [place["block"] for place in places]
        spread = [order[round(index * (len(order) - 1) / _SPREAD)] for index in range(_SPREAD + 1)]
        edges: list[int] = []
        if self._first_accesses is not None:
            blocks, masked = _numbers(self._first_accesses["block"]), _numbers(self._first_accesses["masked"])
            # With elements outside of a tensor, or masked off.
            edges = [block for block, count in zip(blocks, masked, strict=True) if count]
        found = [*wrong[:1], order[0], order[-1], *wrong, *edges[:1], *edges[-1:], *spread]
        if len(order) <= _BLOCKS_AT_MOST:
            found += order
        known = set(order)
        return [block for block in dict.fromkeys(found) if block in known][:_BLOCKS_AT_MOST]

    def _of_block(self, block: int) -> Answer:
        steps = self._explorer.answer("steps", {"block": block})
        executed = _numbers(steps["operation"])
        last = min(len(executed), _STEPS_AT_MOST)
        values = self._explorer.answer("history", {"block": block, "last": last})["values"]
        tiles = {}
        for entry in values:
            chosen = {"block": block, "step": entry["step"], "value": entry["value"]}
            tiles[f"{entry['value']}@{entry['step']}"] = self._explorer.answer("tile", chosen)
        arrays, arrays_last = self._written(block, executed[:last])
        return {
            "steps": steps,
            "last": last,
            "values": values,
            "variables": self._variables(block, executed[:last]),
            "tiles": tiles,
            "arrays": arrays,
            "arraysLast": arrays_last,
            "answers": self._comparisons(block),
        }

    def _variables(self, block: int, executed: list[int]) -> list[Answer]:
        """The variables of the script where they change: they are those before the statement of the next operation."""
        found: list[Answer] = []
        operations = self._summary["operations"]
        known = None
        for step in range(len(executed) + 1) if self._summary["script"] else ():
            if 0 < step < len(executed):
                before, after = executed[step - 1], executed[step]
                # A statement is a line; an operation that comes before the last one begins another iteration.
                if before < after and operations[before]["script"] == operations[after]["script"]:
                    continue
            answer = self._explorer.answer("variables", {"block": block, "step": step})
            if answer["functions"] != known:
                known = answer["functions"]
                found.append(answer)
        return found

    def _written(self, block: int, executed: list[int]) -> tuple[dict[str, Answer], int]:
        """What a block makes of the arrays that the launch writes, and the step up to which that is known."""
        found: dict[str, Answer] = {}
        newest: dict[int, Answer] = {}
        operations = self._summary["operations"]
        writing = [step for step, number in enumerate(executed, 1) if operations[number]["writes"]]
        arrays = [array["id"] for array in self._summary["arrays"] if array["written"]]
        for step in [0, *writing[:_WRITES_AT_MOST]]:
            for number in arrays:
                try:
                    answer = self._explorer.answer("array", {"array": number, "block": block, "step": step})
                except QuestionError:
                    continue
                if newest.get(number) != answer:
                    found[f"{number}@{step}"] = newest[number] = answer
        return found, len(executed) if len(writing) <= _WRITES_AT_MOST else writing[_WRITES_AT_MOST] - 1

    def _comparisons(self, block: int) -> dict[str, Answer]:
        found: dict[str, Answer] = {}
        for comparison in self._summary["comparisons"]:
            if comparison["reason"] is not None:
                continue
            chosen: dict[str, str | int] = {"id": comparison["id"], "block": block}
            try:
                answer = self._explorer.answer("comparison", chosen)
                found[key_of("comparison", chosen)] = answer
                for difference in answer["differences"][:_DIFFERENCES_AT_MOST]:
                    at_step = {**chosen, "step": difference["step"], "value": difference["value"]}
                    found[key_of("compared", at_step)] = self._explorer.answer("compared", at_step)
            except QuestionError:
                continue
        return found


def key_of(question: str, parameters: Mapping[str, str | int]) -> str:
    """The name of a question in a page: as `keyOf` of `assets/data.js` has it."""
    return "&".join([question, *[f"{name}={parameters[name]}" for name in sorted(parameters)]])


def _numbers(column: Answer) -> list[int]:
    # Imported here: the names of the package are there without it.
    import numpy

    # "u32" is "<u4" for NumPy.
    kind = numpy.dtype(f"<{column['type'][0]}{int(column['type'][1:]) // 8}")
    found: list[int] = numpy.frombuffer(base64.b64decode(column["data"]), kind).tolist()
    return found
