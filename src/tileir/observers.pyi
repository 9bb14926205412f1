# Written by `make docs` from `tileir/public.py`.
# ruff: noqa
# fmt: off
from tileir.execute.memory import Memory as Memory
from tileir.execute.observing.observer import Access as Access, Observer as Observer, ObserverCallback as ObserverCallback, TileBlock as TileBlock
from tileir.execute.observing.trace import Trace as Trace

__all__ = ["Access", "Memory", "Observer", "ObserverCallback", "TileBlock", "Trace"]
