"""The process that starts children: it has everything imported and warm, so that a child costs no more than a fork.

It is started by `nursery`, is told on standard input what to judge, tells verdicts on standard output, and ends when
its owner does.  It has one thread.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import pickle
import shutil
import sys

from tileir.judge.causes import cause_of
from tileir.judge.child_processes import OwnerGone
from tileir.judge.children import Children
from tileir.judge.confinement.descendants import adopt_descendants
from tileir.judge.items import MODULES
from tileir.judge.kernel_children import judge_kernels_in_children
from tileir.judge.messages import VERDICT, encoded, frame, read_frame, write_whole
from tileir.judge.requests import Request
from tileir.judge.spawning import CAN_FORK
from tileir.judge.verdicts import Step, verdict_of
from tileir.judge.warming import Warmth


def main(root: str) -> None:
    """Serve until the owner is gone; scratch directories are made below `root`."""
    requests, verdicts = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    # Nothing that is printed here by mistake goes among the verdicts.
    os.dup2(2, 1)
    os.close(nothing)
    adopt_descendants()
    # What a child was in the middle of when it crashed is a part of its output.
    faulthandler.enable(all_threads=False)
    warmth = Warmth()
    children = Children(root, requests)
    try:
        while True:
            found = read_frame(requests)
            if found is None:
                return
            request = _request(found[1])
            item, plan = request.item, request.plan
            if CAN_FORK and warmth.warm(request):
                # Children that collect garbage would write to, and so copy, what they share with this process.
                gc.collect()
                gc.freeze()
            try:
                if item.kind in MODULES:
                    children.end()
                    verdict = judge_kernels_in_children(request, root, requests)
                else:
                    verdict = children.judge(item, plan)
            except (OwnerGone, BrokenPipeError):
                raise
            except Exception as error:
                # A full disk, or a defect: of this item, and not of those that come after it.
                message = f"it cannot be judged: {type(error).__name__}: {error}"
                verdict = verdict_of(item, [Step("start", "crashed", message, cause_of(message))])
            write_whole(verdicts, frame(VERDICT, encoded(verdict)))
    except (OwnerGone, BrokenPipeError, KeyboardInterrupt):
        return
    finally:
        children.end()
        # Also if the owner was killed, and cannot do it.
        shutil.rmtree(root, ignore_errors=True)


def _request(content: bytes) -> Request:
    found = pickle.loads(content)
    assert isinstance(found, Request)
    return found


if __name__ == "__main__":
    main(sys.argv[1])
