"""Hostile code in confined children: run as a script, it tells as JSON what came of each piece.

    python hostile.py DIRECTORY

`DIRECTORY` has a file `secret` that no child may read, change or remove.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
import time
from functools import partial

from tests.judging.denied_calls import ALL

from tileir.judging.model import JudgePlan, ProcessLimits, SweepInput
from tileir.judging.server_pool.server import Children
from tileir.judging.verdicts.work import Part, Work, step_of_exit
from tileir.processes.linux import adopt_descendants, system_call
from tileir.processes.sandbox import scratch_directory

LIBRARIES = """
import concurrent.futures, mmap, platform, select, shutil, tempfile
import numpy
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    assert list(pool.map(len, ["x"] * 100)) == [1] * 100
with tempfile.TemporaryDirectory() as directory:
    numpy.save("a.npy", numpy.ones((200, 200)) @ numpy.ones((200, 200)))
    shutil.copyfile("a.npy", directory + "/b.npy")
    assert (numpy.load(directory + "/b.npy", mmap_mode="r") == 200).all()
    os.rename(directory + "/b.npy", directory + "/c.npy")
with mmap.mmap(-1, 1 << 16) as memory:
    memory.madvise(mmap.MADV_DONTNEED)
reading, writing = os.pipe()
os.set_inheritable(reading, True)
os.set_blocking(writing, False)
os.write(writing, b"x")
assert select.select([reading], [], [], 1)[0]
with select.epoll() as poll:
    poll.register(reading, select.EPOLLIN)
    assert poll.poll(1)
signal.setitimer(signal.ITIMER_REAL, 60)
signal.alarm(0)
time.sleep(0.001)
assert os.cpu_count() and len(os.sched_getaffinity(0)) and os.urandom(4) and platform.platform()
assert resource.getrlimit(resource.RLIMIT_AS) and resource.getrusage(resource.RUSAGE_SELF)
"""
"""What a child may do."""

PIECES = {
    "fine": "open('here', 'w').write('x'); os.mkdir('d'); print(open('here').read())",
    "what libraries do": LIBRARIES,
    "endless loop": "while True: pass",
    "much memory at once": "bytearray(100 << 30)",
    "much memory by and by": "kept = []\nwhile True: kept.append(bytearray(1 << 20))",
    "higher limits": "try: resource.setrlimit(resource.RLIMIT_AS, (-1, -1))\nexcept ValueError: pass\nbytearray(100 << 30)",
    "deep recursion": "def f(): f()\nf()",
    "deeper recursion": "sys.setrecursionlimit(1 << 30)\ndef f(): f()\nf()",
    "native crash": "ctypes.string_at(0)",
    "abort": "os.abort()",
    "fork bomb": "while True: os.fork()",
    "process": "subprocess.run(['true'])",
    "program": "os.execv('/bin/true', ['true'])",
    "thread bomb": "threading.stack_size(1 << 18)\nwhile True: threading.Thread(target=time.sleep, args=(60,)).start()",
    "network": "socket.create_connection(('127.0.0.1', 9))",
    "datagram": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))",
    "local socket": "socket.socket(socket.AF_UNIX)",
    "pair of sockets": "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
    "signal by a file": "import fcntl; fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, os.getppid())",
    "attributes of files": "import fcntl; fcntl.ioctl(open(sys.executable), 0x40086602, bytes(8))",
    "processor of the parent": "os.sched_setaffinity(os.getppid(), {0})",
    "removed files": (
        "kept = []\nfor n in range(40):\n f = open('f', 'w+b'); kept.append(f); f.write(bytes(3 << 20)); f.flush()\n"
        " os.unlink('f')\ntime.sleep(1)"
    ),
    "unmapped shared memory": (
        "import mmap\nkept = []\nfor n in range(40):\n m = mmap.mmap(-1, 3 << 20); kept.append(m); m.write(bytes(3 << 20))\n"
        " m.resize(4096)\ntime.sleep(1)"
    ),
    "read elsewhere": "open(secret).read()",
    "list elsewhere": "os.listdir(os.path.dirname(secret))",
    "write elsewhere": "open(secret, 'w')",
    "new file elsewhere": "open(secret + '.new', 'w')",
    "temporary file elsewhere": "open('/var/tmp/tileir-hostile', 'w')",
    "remove elsewhere": "os.unlink(secret)",
    "rename elsewhere": "os.rename(secret, secret + '.old')",
    "mode elsewhere": "os.chmod(secret, 0)",
    "time elsewhere": "os.utime(secret, (0, 0))",
    "truncate elsewhere": "os.truncate(secret, 0)",
    "link to elsewhere": "os.symlink(secret, 'link'); open('link', 'w')",
    "hard link to elsewhere": "os.link(secret, 'link')",
    "directory elsewhere": "os.mkdir(secret + '.d')",
    "large file": "f = open('large', 'wb')\nwhile True: f.write(bytes(1 << 20)); f.flush()",
    "large file at once": "open('large', 'wb').truncate(1 << 40)",
    "many files": "for n in range(10**9): open(str(n), 'w').close()",
    "deep directories": "for n in range(3000): os.mkdir('d'); os.chdir('d')",
    "shared memory": "from multiprocessing import shared_memory; shared_memory.SharedMemory(create=True, size=1 << 20)",
    "signal for the parent": "os.kill(os.getppid(), signal.SIGTERM)",
    "signal for all": "os.kill(-1, 0)",
    "memory of the parent": "open(f'/proc/{os.getppid()}/mem', 'rb').read(1)",
    "environment of the parent": "open(f'/proc/{os.getppid()}/environ', 'rb').read(1)",
    "stop": "os.kill(os.getpid(), signal.SIGSTOP)",
    "end": "os._exit(0)",
    "exit": "sys.exit(3)",
    "close the pipe": "os.closerange(3, 100); time.sleep(60)",
    "garbage in the pipe": "os.write(3, b'\\xff' * 100); time.sleep(60)",
    "deep garbage in the pipe": "os.write(3, b'S' + (60000).to_bytes(4, 'little') + b'[' * 60000); time.sleep(60)",
    "long garbage in the pipe": "os.write(3, b'S' + b'\\xff' * 4 + b'x'); time.sleep(60)",
    "much output": "for _ in range(10): sys.stdout.write('x' * (1 << 20))",
    "endless output": "while True: os.write(1, bytes(1 << 16))",
    "shared memory of others": "call('shmat', others['shm'], 0, 0)",
    "removed shared memory of others": "call('shmctl', others['shm'], 0, 0)",
    "message for others": "call('msgsnd', others['msg'], b'\\1' + bytes(15), 8, 0o4000)",
    "message of others": "call('msgrcv', others['msg'], bytes(16), 8, 0, 0o4000)",
    "removed messages of others": "call('msgctl', others['msg'], 0, 0)",
    "semaphore of others": "call('semop', others['sem'], b'\\0\\0\\1\\0\\0\\0', 1)",
    "semaphore of others for a time": "call('semtimedop', others['sem'], b'\\0\\0\\1\\0\\0\\0', 1, 0)",
    "value of a semaphore of others": "call('semctl', others['sem'], 0, 16, 1)",
    "removed queue of others": "call('mq_unlink', others['mq'])",
    "attribute elsewhere": "call('setxattrat', -100, secret.encode(), 0, b'user.x', bytes(16), 16)",
    "removed attribute elsewhere": "call('removexattrat', -100, secret.encode(), 0, b'user.x')",
    "flags elsewhere": "call('file_setattr', -100, secret.encode(), bytes(24), 24, 0)",
    "lock elsewhere": "import fcntl; fcntl.flock(open(os.__file__), fcntl.LOCK_EX | fcntl.LOCK_NB)",
    "lock of a part elsewhere": "import fcntl; fcntl.lockf(open(os.__file__), fcntl.LOCK_SH | fcntl.LOCK_NB)",
    "lease elsewhere": "import fcntl; fcntl.fcntl(open(os.__file__), 1024, fcntl.F_RDLCK)",
    "notice of changes elsewhere": "import fcntl; fcntl.fcntl(os.open(sys.prefix, os.O_RDONLY), 1026, 2)",
    "watch elsewhere": "call('inotify_init1', 0)",
    "key on a terminal": "import fcntl; fcntl.ioctl(0, 0x5412, b'x')",
    "memory of the parent at once": "call('process_vm_readv', os.getppid(), 0, 0, 0, 0, 0)",
    "descriptor of the parent": "call('pidfd_getfd', call('pidfd_open', os.getppid(), 0), 0, 0)",
    "keys of the system": "call('keyctl', 0, -3, 0)",
    "faults of memory": "call('userfaultfd', 1)",
    "counters of others": "call('perf_event_open', bytes(128), os.getppid(), -1, -1, 0)",
    "program for the kernel": "call('bpf', 0, bytes(128), 128)",
    "mount": "call('mount', b'tmpfs', b'.', b'tmpfs', 0, 0)",
    "namespace": "ctypes.CDLL(None, use_errno=True).unshare(0x10000000) and exec('raise OSError(ctypes.get_errno(), 0)')",
    "trace the parent": (
        "ctypes.CDLL(None, use_errno=True).ptrace(16, os.getppid(), 0, 0) and exec('raise OSError(ctypes.get_errno(), 0)')"
    ),
}  # fmt: skip

MAPPED = """
import mmap
kept = []
for n in range(40):
    with open('f', 'w+b') as f:
        os.unlink('f')
        f.truncate(3 << 20)
        with mmap.mmap(f.fileno(), 3 << 20) as whole:
            whole.write(bytes(3 << 20))
        kept.append(mmap.mmap(f.fileno(), 4096))
time.sleep(1)
"""
"""Removed files with a page mapped each."""

IN_MEMORY = {"removed files in memory": PIECES["removed files"], "removed and mapped files in memory": MAPPED}
"""What is done in a directory of a tmpfs."""

DAEMON = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    open('daemon', 'w').close()
    os._exit(0)
time.sleep(0.2)
print(os.getpid(), flush=True)
"""


class Others:
    """What System V and POSIX let any process of a user reach; -1 where the kernel does not have it."""

    def __init__(self) -> None:
        self.ids = {
            "shm": _made("shmget", 0, 4096, 0o600),
            "msg": _made("msgget", 0, 0o600),
            "sem": _made("semget", 0, 1, 0o600),
            "mq": f"tileir-{os.getpid()}".encode(),
        }
        self._queue = _made("mq_open", self.ids["mq"], os.O_CREAT | os.O_RDWR, 0o600, 0)

    def end(self) -> bool:
        """Remove all of it; gives whether all was as it had been made."""
        is_intact = self.ids["sem"] == -1 or call("semctl", self.ids["sem"], 0, 12) == 0
        for name in ("shm", "msg", "sem"):
            is_intact &= self.ids[name] == -1 or _made(f"{name}ctl", self.ids[name], 0, 0) == 0
        return is_intact and (self._queue == -1 or _made("mq_unlink", self.ids["mq"]) == 0)


def call(name: str, *arguments: object) -> int:
    """A system call."""
    return system_call(ALL[platform.machine()][name], *arguments)


def _made(name: str, *arguments: object) -> int:
    try:
        return call(name, *arguments)
    except OSError:
        return -1


def execute(source: str, given: dict, work: Work) -> None:
    import ctypes
    import resource
    import signal
    import socket
    import subprocess
    import threading

    names = {each.__name__: each for each in (ctypes, os, resource, signal, socket, subprocess, sys, threading, time)}
    work.attempt("run", lambda step: exec(source, {**names, **given, "call": call}))


def come_of(source: str, given: dict, root: str, processes: bool = False) -> dict:
    plan = JudgePlan(limits=ProcessLimits(seconds=1.5, memory=256 << 20, file_bytes=4 << 20, output_bytes=1000))
    with scratch_directory(root) as scratch:
        work = Work(SweepInput("x", "kernels", b""), plan, scratch)
        part = Part(partial(execute, source, given), processes=processes)
        report = Children(root).run(part, work, time.perf_counter() + plan.limits.seconds)
    # Whatever the child made others believe, the last word is how it ended.
    step = report.steps[-1] if report.steps else step_of_exit("run", report.status, report.output, plan.limits.seconds)
    left = [name for name in os.listdir(root) if name != "secret"]
    return {
        "outcome": step.outcome,
        "message": step.message,
        "cause": step.cause,
        "output": len(report.output),
        "left": left,
        "children": _children(),
    }


def _children() -> int:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return 0
    return 1


def main(directory: str) -> None:
    adopt_descendants()
    secret = os.path.join(directory, "secret")
    root = os.path.join(directory, "root")
    os.mkdir(root)
    others = Others()
    given = {"secret": secret, "others": others.ids}
    found: dict = {name: come_of(source, given, root) for name, source in PIECES.items()}
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as memory:
        found.update({name: come_of(source, given, memory) for name, source in IN_MEMORY.items()})
    found["daemon"] = come_of(DAEMON, given, root, processes=True)
    found["others are intact"] = others.end()
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
