"""Lists in order: which elements keep it, and which of two lists go together.

All take time that grows as n log n, whatever the lists are.
"""

from __future__ import annotations

from collections.abc import Sequence


def in_order(left: Sequence[object], right: Sequence[object]) -> list[tuple[int, int]]:
    """Places of equal elements of two lists that go together and keep the order of both.

    What both begin and end with goes together; in between, the first of its kind with the first, the second with the
    second, as far as these pairs do not cross.
    """
    first = 0
    shorter = min(len(left), len(right))
    while first < shorter and left[first] == right[first]:
        first += 1
    behind = 0
    while behind < shorter - first and left[len(left) - 1 - behind] == right[len(right) - 1 - behind]:
        behind += 1
    waiting: dict[object, list[int]] = {}
    for place in range(len(right) - behind - 1, first - 1, -1):
        waiting.setdefault(right[place], []).append(place)
    middle: list[tuple[int, int]] = []
    for place in range(first, len(left) - behind):
        candidates = waiting.get(left[place])
        if candidates:
            middle.append((place, candidates.pop()))
    kept = [middle[index] for index in heaviest_run([place for _, place in middle])]
    ends = [(len(left) - back, len(right) - back) for back in range(behind, 0, -1)]
    return [*[(place, place) for place in range(first)], *kept, *ends]


def heaviest_run(places: Sequence[int], weights: Sequence[int] | None = None) -> list[int]:
    """The indices of a part of a list that grows and has the largest weight, or is the longest without weights.

    The elements of the list are different numbers.
    """
    ranks = {place: rank for rank, place in enumerate(sorted(places), 1)}
    # A tree of maxima: the heaviest run that ends at a rank no higher, and its last element.
    best: list[tuple[int, int]] = [(0, -1)] * (len(places) + 1)
    previous: list[int] = []
    for index, place in enumerate(places):
        rank = ranks[place]
        found, cursor = (0, -1), rank - 1
        while cursor > 0:
            found = max(found, best[cursor])
            cursor &= cursor - 1
        previous.append(found[1])
        candidate = (found[0] + (weights[index] if weights is not None else 1), index)
        while rank < len(best):
            best[rank] = max(best[rank], candidate)
            rank += rank & -rank
    last = max(best)[1]
    run: list[int] = []
    while last >= 0:
        run.append(last)
        last = previous[last]
    run.reverse()
    return run
