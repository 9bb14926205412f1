"""What a candidate tries in its own process beside computing: noticed when it begins, reported before it goes on.

Python's audit events name what code does: it looks at frames, searches memory, opens files, starts threads.  A hook for
them cannot be removed, and what it reports to the judging process cannot be taken back.  Functions that were replaced
are found by a comparison with the modules as they were before the candidate was read.

None of this decides whether results are right.  It names attempts that the order of processes defeats.
"""

from __future__ import annotations

import _thread
import atexit
import json
import os
import signal
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from operator import is_
from types import FunctionType, ModuleType
from typing import Any, Final, TypeAlias

from tileir.bridge.emulated.gpu_interface import streams_made
from tileir.bridge.hooks import Hook
from tileir.judging.cheats import CHEATS, cheat_cause
from tileir.judging.model import JudgeStage
from tileir.processes import child

STEP: Final = "tampering"
_LONGEST: Final = 500
"""Characters of a message: what is written at once stays together."""
_DIRECT: Final = "direct"
"""The candidate itself does it, not a library that it calls."""
_FRAMES: Final = "frames"
"""The candidate, or Python's own modules for looking at frames."""
_ANY: Final = "any"
"""The candidate, or the standard library for it."""

_THREADS: Final = "threads"
"""The candidate, through the standard library and the emulation, which hooks threads."""

_EVENTS: Final[dict[str, tuple[str, str]]] = {
    **dict.fromkeys(("sys._getframe", "sys._current_frames", "sys._current_exceptions"), ("reads-frames", _FRAMES)),
    **dict.fromkeys(("sys.settrace", "sys.setprofile"), ("traces-calls", _ANY)),
    **dict.fromkeys(("gc.get_objects", "gc.get_referrers", "gc.get_referents"), ("searches-memory", _ANY)),
    **dict.fromkeys(
        ("open", "os.listdir", "os.scandir", "os.link", "os.symlink", "os.rename", "os.remove", "os.truncate"),
        ("uses-files", _ANY),
    ),
    **dict.fromkeys(("os.mkdir", "os.chmod", "mmap.__new__"), ("uses-files", _ANY)),
    **dict.fromkeys(
        ("socket.__new__", "socket.connect", "socket.bind", "socket.getaddrinfo", "urllib.Request"),
        ("uses-the-network", _ANY),
    ),
    **dict.fromkeys(
        ("subprocess.Popen", "os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.spawn", "os.system"),
        ("starts-processes", _ANY),
    ),
    **dict.fromkeys(("os.kill", "os.killpg", "signal.pthread_kill"), ("sends-signals", _ANY)),
    **dict.fromkeys(("_thread.start_new_thread", "_thread.start_joinable_thread"), ("starts-threads", _THREADS)),
    **dict.fromkeys(
        ("ctypes.dlopen", "ctypes.dlsym", "ctypes.string_at", "ctypes.cdata", "ctypes.call_function"),
        ("native-code", _ANY),
    ),
    **dict.fromkeys(("ctypes.addressof", "ctypes.cdata/buffer", "ctypes.PyObj_FromPtr"), ("native-code", _ANY)),
    **dict.fromkeys(("marshal.loads", "code.__new__"), ("hides-code", _DIRECT)),
    "pickle.find_class": ("hides-code", _ANY),
    "time.sleep": ("waits", _ANY),
    "atexit.register": ("runs-at-exit", _ANY),
    "sys.addaudithook": ("patches-modules", _DIRECT),
    "resource.setrlimit": ("sends-signals", _ANY),
}  # fmt: skip
"""The cheat that an audit event is, and whose call of it counts."""
_FRAME_ATTRIBUTES: Final = ("tb_frame", "gi_frame", "cr_frame", "ag_frame")
_CODE_ATTRIBUTES: Final = ("__code__", "__defaults__", "__kwdefaults__", "__globals__", "__closure__")
_IMPORTING: Final = "<frozen importlib"
_INSPECTING: Final = ("inspect.py", "traceback.py")
_EMULATION: Final = os.path.join("tileir", "bridge") + os.sep
_READING_SOURCE: Final = ("linecache.py", "tokenize.py", "importlib")
"""Files of the standard library that open files for imports and messages."""
_ROOTS: Final = frozenset(("builtins", "cuda", "numpy", "tileir", "torch", "triton"))
"""Packages whose functions a candidate has no reason to replace."""
_MODULES: Final = frozenset(
    (
        "atexit", "builtins", "contextlib", "ctypes", "gc", "functools", "importlib", "inspect", "io", "json",
        "linecache", "math", "os", "os.path", "pathlib", "pickle", "posix", "random", "struct", "sys", "threading",
        "time", "timeit", "types",
        "cuda.tile", "cuda.tile._compile", "cuda.tile._execution", "cuda.tile.compilation",
        "numpy", "numpy._core.fromnumeric", "numpy._core.numeric", "numpy.linalg", "numpy.random", "numpy.testing",
        "tileir", "tileir.execute.array_difference",
        "torch", "torch._tensor", "torch.autograd", "torch.backends.cudnn", "torch.cuda", "torch.cuda.random",
        "torch.cuda.streams", "torch.linalg", "torch.nn", "torch.nn.functional", "torch.nn.modules.module",
        "torch.random", "torch.testing", "torch.testing._comparison", "torch.utils.benchmark",
    )
)  # fmt: skip
_PACKAGES: Final = (
    "tileir.bridge.",
    "tileir.judging.kernels.",
    "tileir.judging.verdicts.",
    "tileir.processes.",
    "triton.",
)
_EMULATED: Final = "tileir.bridge.emulated"
"""Of some thousand modules those that a judge could use, and packages of them: a look at a module has the system copy
its memory for this process."""
_WITH_CLASSES: Final = (
    "cuda.tile._execution", "tileir.", "torch._tensor", "torch.cuda", "torch.nn.modules.module", "triton.runtime",
)  # fmt: skip
"""Those whose classes are watched, too."""
_remembered: list[_Before] = []
"""What is watched, as it was before this process was forked; empty in the process of a candidate."""
_count: Final = [0]
"""Modules that there were then."""


def watch_tampering(directory: str, send: Callable[[Any], None]) -> Callable[[], None]:
    """Watch this process from now on; return a function that looks at what has changed.

    No name of a module leads to what is used for it: all is in cells of the hook and of that function."""
    report = _reporter(send)
    hook = _hook(os.path.join(os.path.realpath(directory), ""), report)
    sys.addaudithook(hook)
    # Python has no event for this one, and older versions have none for the others.
    atexit.register = _noted(atexit.register, "atexit.register", hook)
    if sys.version_info < (3, 13):
        time.sleep = _noted(time.sleep, "time.sleep", hook)
    if sys.version_info < (3, 12):
        for module, name in ((_thread, "start_new_thread"), (threading, "_start_new_thread")):
            setattr(module, name, _noted(getattr(module, name), "_thread.start_new_thread", hook))
    return _comparison(report)


def _noted(original: Callable[..., Any], event: str, hook: Callable[[str, Any], None]) -> Callable[..., Any]:
    def noted(*arguments: Any, **keywords: Any) -> Any:
        hook(event, arguments)
        return original(*arguments, **keywords)

    return noted


def _reporter(send: Callable[[Any], None]) -> Callable[[str, str], None]:
    """A function that reports a cheat, each kind once; in a child that is confined, by nothing that can be replaced."""
    known: set[str] = set()
    messages = {name: asdict(JudgeStage(STEP, "failed", "", cheat_cause(name))) for name in CHEATS}
    encode, write, descriptor = json.encoder.encode_basestring_ascii, os.write, child.REPORT
    is_child = send is child.report
    heads = {}
    for name, message in messages.items():
        del message["message"]
        heads[name] = b'{"step":' + json.dumps(message).encode()[:-1] + b',"message":'

    def report(name: str, what: str) -> None:
        if name in known:
            return
        known.add(name)
        if is_child:
            text = heads[name] + encode(what[:_LONGEST]).encode() + b"}}"
            write(descriptor, len(text).to_bytes(4, "little") + text)
        else:
            send({"step": {**messages[name], "message": what[:_LONGEST]}})

    return report


def _hook(scratch: str, report: Callable[[str, str], None]) -> Callable[[str, Any], None]:
    events, frame_of, is_standard, is_installed = _EVENTS, sys._getframe, _is_standard, _is_installed
    # The hook itself reads frames, which raises such an event.
    is_busy, own = [False], __file__

    def caller(frame: Any, whose: str) -> str:
        """Where in the candidate the call comes from; empty if it is not the candidate's."""
        while frame is not None:
            path = frame.f_code.co_filename
            if path.startswith(_IMPORTING):
                return ""
            if path.startswith("<") or (whose == _THREADS and _EMULATION in path):
                # Code that was made by whoever called it.
                frame = frame.f_back
                continue
            if not is_installed(path, scratch):
                return f"{path}:{frame.f_lineno} in {frame.f_code.co_name}"
            if whose == _DIRECT or not is_standard(path) or any(each in path for each in _READING_SOURCE):
                return ""
            if whose == _FRAMES and not path.endswith(_INSPECTING):
                return ""
            frame = frame.f_back
        return ""

    def outside(frame: Any) -> Any:
        return frame.f_back if frame.f_code.co_filename == own else frame

    def hook(event: str, arguments: Any) -> None:
        rule = events.get(event)
        if rule is None and event not in ("object.__getattr__", "object.__setattr__", "compile"):
            return
        if is_busy[0]:
            return
        is_busy[0] = True
        try:
            what = ""
            if rule is None:
                rule, what = _rule_of(event, arguments)
            where = caller(outside(frame_of(1)), rule[1]) if rule is not None else ""
            if rule is not None and where:
                report(rule[0], f"{where} calls {what or event}")
        finally:
            is_busy[0] = False

    return hook


def _rule_of(event: str, arguments: Any) -> tuple[tuple[str, str] | None, str]:
    """The rule for an event whose arguments decide."""
    if event == "compile":
        name = arguments[1] if len(arguments) > 1 else None
        pretends = isinstance(name, str) and os.path.isabs(name)
        return (("hides-code", _DIRECT) if pretends else None), f"compile(.., {name!r})"
    if len(arguments) < 2 or not isinstance(arguments[1], str):
        return None, ""
    name = arguments[1]
    if event == "object.__getattr__" and name in _FRAME_ATTRIBUTES:
        return ("reads-frames", _FRAMES), f"the attribute {name}"
    if name in _CODE_ATTRIBUTES:
        holder = getattr(arguments[0], "__module__", None)
        if holder != "candidate":
            return ("patches-modules", _DIRECT), f"the attribute {name} of a function of {holder}"
    return None, ""


def _is_installed(path: str, scratch: str) -> bool:
    """Whether code is of a library: that of a candidate has no path, and what it writes lies in its directory."""
    return os.path.isabs(path) and not path.startswith(scratch)


_STANDARD: Final = tuple({sysconfig.get_path("stdlib") + os.sep, sysconfig.get_path("platstdlib") + os.sep})


def _is_standard(path: str) -> bool:
    return path.startswith(_STANDARD) and "site-packages" not in path


def remember() -> None:
    """Remember what is watched as it is now, for processes that are forked from this one."""
    _remembered[:] = _snapshot()
    _count[0] = len(sys.modules)


def _snapshot() -> list[_Before]:
    found: list[_Before] = [(name, module, vars(module), dict(vars(module))) for name, module in _watched()]
    return found + [(f"{name}.{key}", None, vars(each), dict(vars(each))) for name, key, each in _classes(found)]


def _before_candidate() -> list[_Before]:
    """What is watched, as it is now: what was remembered, but for what has changed since."""
    found, _remembered[:] = [*_remembered] or _snapshot(), []
    known = {name for name, *_ in found}
    new: list[_Before] = []
    for place, (name, module, now, names) in enumerate(found):
        if not _is_same(names, now):
            found[place] = name, module, now, dict(now)
            new += [found[place]] if module is not None else []
    if len(sys.modules) != _count[0]:
        new += [(name, module, vars(module), dict(vars(module))) for name, module in _watched() if name not in known]
    new += [(f"{name}.{key}", None, vars(each), dict(vars(each))) for name, key, each in _classes(new)]
    return found + [each for each in new if each[0] not in known]


def _is_same(names: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    return len(names) == len(now) and all(map(is_, names.values(), now.values()))


def _comparison(report: Callable[[str, str], None]) -> Callable[[], None]:
    """A function that reports what has changed since now: functions of modules and classes, handlers of signals, ..

    It calls nothing by a name that can be given to something else."""
    before = _before_candidate()
    known = {name for name, *_ in before}
    handler_of, signals = signal.getsignal, [int(each) for each in signal.valid_signals()]
    handlers = [handler_of(each) for each in signals]
    streams, finders = streams_made, list(sys.meta_path)
    made, modules, path, number = streams[0], sys.modules, sys.meta_path, len(sys.modules)
    is_replaced, is_foreign, is_watched, is_function = _replaced, _is_foreign, _is_watched, FunctionType
    count, every, sequence, is_kind, are_all, apply, same = len, zip, list, isinstance, all, map, is_

    def changed(names: Mapping[str, Any], now: Any) -> str:
        """The first name that stands for another function."""
        if count(names) == count(now) and are_all(apply(same, names.values(), now.values())):
            return ""
        for key, value in names.items():
            if key in now and is_replaced(value, now[key]):
                return key
        return ""

    def look() -> None:
        for name, module, now, names in before:
            if module is not None and modules.get(name) is not module:
                report("patches-modules", f"it replaces the module {name}")
            if key := changed(names, now):
                report("patches-modules", f"it replaces {name}.{key}")
        for name, module in sequence(modules.items()) if count(modules) != number else ():
            # What was imported since has functions of its own files.
            if name not in known and is_watched(name):
                known.add(name)
                for key, value in sequence(module.__dict__.items()):
                    if is_kind(value, is_function) and is_foreign(value):
                        report("patches-modules", f"it replaces {name}.{key}")
        for each, handler in every(signals, handlers):
            if handler_of(each) is not handler and handler_of(each) != handler:
                report("sends-signals", "it installs a handler for a signal")
        if count(path) != count(finders) or modules is not sys.modules:
            report("patches-modules", "it changes how modules are imported")
        if streams[0] != made:
            report("side-stream", "it makes a stream of its own, which a clock on the current one does not see")

    return look


def _replaced(before: object, now: object) -> bool:
    if now is before or now is None or not callable(before):
        return False
    # The emulation hooks some functions when they are first needed, and so do libraries over cuTile.
    if isinstance(now, Hook):
        return now.original is not before or _is_foreign(now.replacement)
    return not _is_of_other_library(now)


def _is_of_other_library(function: Any) -> bool:
    path = function.__code__.co_filename if isinstance(function, FunctionType) else ""
    root = str(getattr(function, "__globals__", {}).get("__name__", "")).partition(".")[0]
    return os.path.isabs(path) and not _is_standard(path) and root not in _ROOTS


def _is_foreign(function: Any) -> bool:
    """Whether a function is not of installed code."""
    function = getattr(function, "func", function)
    if not isinstance(function, FunctionType):
        return True
    path = function.__code__.co_filename
    return not os.path.isabs(path) and not path.startswith("<")


def _is_watched(name: str) -> bool:
    return name in _MODULES or (name.startswith(_PACKAGES) and not name.startswith(_EMULATED))


def _watched() -> Iterator[tuple[str, ModuleType]]:
    for name, module in list(sys.modules.items()):
        if _is_watched(name) and isinstance(module, ModuleType):
            yield name, module


_Before: TypeAlias = "tuple[str, ModuleType | None, Mapping[str, Any], dict[str, Any]]"
"""A module or a class: its name, itself if it is a module, its names now, and as they were."""


def _classes(modules: list[_Before]) -> Iterator[tuple[str, str, type]]:
    seen: set[int] = set()
    for name, _, _, names in list(modules):
        if not name.startswith(_WITH_CLASSES):
            continue
        for key, value in names.items():
            own = isinstance(value, type) and getattr(value, "__module__", "").partition(".")[0] in _ROOTS
            if own and id(value) not in seen and value.__flags__ & _HEAP_TYPE:
                seen.add(id(value))
                yield name, key, value


_HEAP_TYPE: Final = 1 << 9
"""The flag of classes that can be changed."""
