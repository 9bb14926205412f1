"""What a candidate tries in its own process beside computing: noticed when it begins, reported before it goes on.

Python's audit events name what code does: it looks at frames, searches memory, opens files, starts threads.  A hook for
them cannot be removed, and what it reports to the judging process cannot be taken back.  Functions that were replaced
are found by a comparison with the modules as they were before the candidate was read.

None of this decides whether results are right.  It gives a name to attempts that the order of processes makes vain.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final

import tileir
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
    **dict.fromkeys(("_thread.start_new_thread", "_thread.start_joinable_thread"), ("starts-threads", _ANY)),
    **dict.fromkeys(
        ("ctypes.dlopen", "ctypes.dlsym", "ctypes.string_at", "ctypes.cdata", "ctypes.call_function"),
        ("native-code", _ANY),
    ),
    **dict.fromkeys(("ctypes.addressof", "ctypes.cdata/buffer", "ctypes.PyObj_FromPtr"), ("native-code", _ANY)),
    **dict.fromkeys(("marshal.loads", "code.__new__"), ("hides-code", _DIRECT)),
    "pickle.find_class": ("hides-code", _ANY),
    "time.sleep": ("waits", _ANY),
    "sys.addaudithook": ("patches-modules", _DIRECT),
    "resource.setrlimit": ("sends-signals", _ANY),
}  # fmt: skip
"""The cheat that an audit event is, and whose call of it counts."""
_FRAME_ATTRIBUTES: Final = ("tb_frame", "gi_frame", "cr_frame", "ag_frame")
_CODE_ATTRIBUTES: Final = ("__code__", "__defaults__", "__kwdefaults__", "__globals__", "__closure__")
_INSPECTING: Final = ("inspect.py", "traceback.py")
_READING_SOURCE: Final = ("linecache.py", "tokenize.py", "importlib")
"""Files of the standard library that open files for imports and messages."""
_ROOTS: Final = frozenset(("builtins", "cuda", "numpy", "tileir", "torch", "triton"))
"""Packages whose functions a candidate has no reason to replace."""
_MODULES: Final = (
    "atexit", "contextlib", "ctypes", "gc", "functools", "importlib", "inspect", "io", "json", "linecache", "math",
    "os", "os.path", "pathlib", "pickle", "posix", "random", "struct", "sys", "threading", "time", "timeit", "types",
)  # fmt: skip
_TORCH: Final = (
    "torch", "torch._tensor", "torch.autograd", "torch.backends.cudnn", "torch.cuda", "torch.cuda.random",
    "torch.cuda.streams", "torch.linalg", "torch.nn", "torch.nn.functional", "torch.nn.modules.module",
    "torch.random", "torch.testing", "torch.testing._comparison", "torch.utils.benchmark",
)  # fmt: skip
"""Of its two thousand modules those that a judge could use."""
_CALLABLE: Final = (FunctionType, BuiltinFunctionType, type, ModuleType)


def watch_tampering(file: str, send: Callable[[Any], None]) -> Callable[[], None]:
    """Watch this process from now on; return a function that looks at what has changed.

    No name of a module leads to what is used for it: all is in cells of the hook and of that function."""
    report = _reporter(send)
    sys.addaudithook(_hook(file, report))
    return _comparison(report)


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


def _hook(file: str, report: Callable[[str, str], None]) -> Callable[[str, Any], None]:
    events, frame_of = _EVENTS, sys._getframe
    trusted = _TRUSTED
    # A frame is looked at in the hook, which is such an event too.
    is_busy = [False]

    def caller(frame: Any, whose: str) -> str:
        """Where in the candidate the call comes from; empty if it is not the candidate's."""
        while frame is not None:
            path = frame.f_code.co_filename
            if not path.startswith(trusted):
                return f"{path}:{frame.f_lineno} in {frame.f_code.co_name}"
            if whose == _DIRECT or not _is_standard(path) or any(each in path for each in _READING_SOURCE):
                return ""
            if whose == _FRAMES and not path.endswith(_INSPECTING):
                return ""
            frame = frame.f_back
        return ""

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
                rule, what = _rule_of(event, arguments, trusted, file)
            where = caller(frame_of(1), rule[1]) if rule is not None else ""
            if rule is not None and where:
                report(rule[0], f"{where} calls {what or event}")
        finally:
            is_busy[0] = False

    return hook


def _rule_of(event: str, arguments: Any, trusted: tuple[str, ...], file: str) -> tuple[tuple[str, str] | None, str]:
    """The rule for an event whose arguments decide."""
    if event == "compile":
        name = arguments[1] if len(arguments) > 1 else None
        pretends = isinstance(name, str) and name.startswith(trusted)
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


def _trusted_paths() -> tuple[str, ...]:
    """How the paths of installed code begin."""
    paths = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    folder = os.path.dirname(os.path.abspath(tileir.__file__))
    return tuple({"<frozen ", "<__array_function__", folder + os.sep, *[path + os.sep for path in paths if path]})


_TRUSTED: Final = _trusted_paths()
_STANDARD: Final = tuple({sysconfig.get_path("stdlib") + os.sep, sysconfig.get_path("platstdlib") + os.sep, "<frozen "})


def _is_standard(path: str) -> bool:
    return path.startswith(_STANDARD) and "site-packages" not in path


def _comparison(report: Callable[[str, str], None]) -> Callable[[], None]:
    """A function that reports what has changed since now: functions of modules and classes, handlers of signals, .."""
    before = [(name, module, dict(vars(module))) for name, module in _watched()]
    classes = [(f"{name}.{key}", each, dict(vars(each))) for name, key, each in _classes(before)]
    handlers, at_exit, streams = _handlers(), atexit._ncallbacks, streams_made
    exits, made, finders = at_exit(), streams[0], list(sys.meta_path)
    modules, callables = sys.modules, _CALLABLE
    handlers_now, is_same = _handlers, _is_same

    def look() -> None:
        for name, module, names in before:
            if modules.get(name) is not module:
                report("patches-modules", f"it replaces the module {name}")
            if not is_same(names, vars(module)):
                changed = [key for key, value in names.items() if _replaced(value, vars(module).get(key), callables)]
                if changed:
                    report("patches-modules", f"it replaces {name}.{changed[0]}")
        for name, each, names in classes:
            if not is_same(names, vars(each)):
                changed = [key for key, value in names.items() if _replaced(value, vars(each).get(key), callables)]
                if changed:
                    report("patches-modules", f"it replaces {name}.{changed[0]}")
        if handlers_now() != handlers:
            report("sends-signals", "it installs a handler for a signal")
        if at_exit() != exits:
            report("runs-at-exit", "it registers a function that runs when the process ends")
        if sys.meta_path != finders:
            report("patches-modules", "it changes how modules are imported")
        if streams[0] != made:
            report("side-stream", "it makes a stream of its own, which a clock on the current one does not see")

    return look


def _is_same(before: dict[str, Any], now: Any) -> bool:
    """Whether all values are the same objects; equality would call methods of whatever they are."""
    return len(before) == len(now) and all(map(_identical, before.values(), now.values()))


def _identical(one: object, other: object) -> bool:
    return one is other


def _replaced(before: object, now: object, callables: tuple[type, ...]) -> bool:
    if now is before or now is None or not isinstance(before, callables):
        return False
    # The emulation hooks some functions when they are first needed.
    return not (isinstance(now, Hook) and now.original is before and _is_installed(now.replacement))


def _is_installed(function: Any) -> bool:
    function = getattr(function, "func", function)
    return isinstance(function, FunctionType) and function.__code__.co_filename.startswith(_TRUSTED)


def _watched() -> Iterator[tuple[str, ModuleType]]:
    for name, module in list(sys.modules.items()):
        root = name.partition(".")[0]
        wanted = name in _TORCH if root == "torch" else root in _ROOTS or name in _MODULES
        if wanted and isinstance(module, ModuleType) and "_testing" not in name:
            yield name, module


def _classes(modules: list[tuple[str, ModuleType, dict[str, Any]]]) -> Iterator[tuple[str, str, type]]:
    seen: set[int] = set()
    for name, _, names in modules:
        for key, value in names.items():
            own = isinstance(value, type) and getattr(value, "__module__", "").partition(".")[0] in _ROOTS
            if own and id(value) not in seen and value.__flags__ & _HEAP_TYPE:
                seen.add(id(value))
                yield name, key, value


_HEAP_TYPE: Final = 1 << 9
"""The flag of classes that can be changed."""


def _handlers() -> list[Any]:
    found = []
    for number in signal.valid_signals():
        with suppress(ValueError, OSError):
            found.append((int(number), signal.getsignal(number)))
    return found
