"""`judge_chunk`: the unit of work that is given to a thread, a process or another machine."""

from __future__ import annotations

from tileir.judge.causes import cause_of
from tileir.judge.items import Item
from tileir.judge.nursery import ServerDied, close_server, server_of_this_thread
from tileir.judge.plans import Plan
from tileir.judge.verdicts import Step, Verdict, verdict_of


def judge_chunk(items: list[Item], plan: Plan) -> list[Verdict]:
    """The verdict on each item, in order; nothing that an item does is raised.

    The server process that judges is kept for the next chunk of the same thread.
    """
    return [_judged(item, plan) for item in items]


def _judged(item: Item, plan: Plan) -> Verdict:
    words = ""
    # Once more with a new one: somebody may have ended the server, which is no fault of the item.
    for _ in range(2):
        try:
            return server_of_this_thread().judge(item, plan)
        except ServerDied as died:
            words = str(died)
            close_server()
    message = f"the process that starts children died twice{': ' if words else ''}{words}"
    return verdict_of(item, [Step("start", "crashed", message, cause_of(message))])
