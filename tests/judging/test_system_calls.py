"""The table of system calls, and the filter that is made of it: interpreted as the kernel does, for both architectures,
and in force, for the one of this machine; and a network of one's own."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import platform
import re
import socket
import struct
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from tests.judging.denied_calls import ALL, DENIED

from tileir.processes import seccomp
from tileir.processes.linux import leave_network
from tileir.processes.seccomp import instructions
from tileir.processes.system_calls import ABSENT, ALLOW, ARCHITECTURES, DENY, NEWEST, NUMBERS, OWN, rules

ROOT = Path(__file__).parents[2]
PASS, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
EPERM, ENOSYS = ERROR | errno.EPERM, ERROR | errno.ENOSYS
X32 = 0x40000000
HIGHEST = 600
MODES = list(product(sorted(NUMBERS), (False, True), (False, True)))
MARK = 2000
"""What every_call.py adds to the errors of the filter."""

REACH_OTHERS = (
    *("shmget", "shmat", "shmctl", "shmdt", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop", "semtimedop"),
    *("semctl", "mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify", "mq_getsetattr", "flock"),
    *("setxattr", "setxattrat", "removexattr", "removexattrat", "file_setattr", "fchmod", "fchmodat2", "fchownat"),
    *("utimensat", "inotify_add_watch", "fanotify_mark", "open_by_handle_at", "ptrace", "process_vm_readv"),
    *("process_vm_writev", "process_madvise", "process_mrelease", "migrate_pages", "move_pages", "pidfd_open"),
    *("pidfd_getfd", "pidfd_send_signal", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "kcmp", "get_robust_list"),
    *("sched_setaffinity", "sched_setscheduler", "setpriority", "ioprio_set", "setrlimit", "memfd_create"),
    *("socket", "socketpair", "connect", "bind", "sendto", "sendmsg", "io_uring_setup", "io_submit", "vmsplice"),
    *("perf_event_open", "bpf", "userfaultfd", "keyctl", "add_key", "request_key", "mount", "open_tree_attr"),
    *("unshare", "setns", "chroot", "reboot", "capset", "setuid", "personality", "execveat", "mknodat", "fallocate"),
)
NEEDED = (
    *("read", "write", "openat", "newfstatat", "statx", "mmap", "mprotect", "munmap", "brk", "madvise", "mremap"),
    *("futex", "rseq", "set_robust_list", "rt_sigaction", "rt_sigprocmask", "sigaltstack", "getrandom", "mbind"),
    *("sched_getaffinity", "sched_yield", "membarrier", "clock_nanosleep", "epoll_pwait", "eventfd2", "pipe2", "dup3"),
    *("getdents64", "unlinkat", "mkdirat", "renameat2", "ftruncate", "getcwd", "exit_group", "wait4", "sendfile"),
)


def answer(code: bytes, architecture: int, number: int, *arguments: int) -> int:
    """What a filter says about a call."""
    data = struct.pack("<IIQ6Q", number, architecture, 0, *[*arguments, 0, 0, 0, 0, 0, 0][:6])
    place = value = 0
    while True:
        operation, if_so, if_not, operand = struct.unpack_from("<HBBI", code, 8 * place)
        place += 1
        if operation == 0x06:
            return operand
        if operation == 0x20:
            (value,) = struct.unpack_from("<I", data, operand)
            continue
        if operation == 0x54:
            value &= operand
            continue
        if operation == 0x05:
            place += operand
            continue
        place += if_so if {0x15: value == operand, 0x35: value >= operand}[operation] else if_not


class Filter:
    """One filter, asked by the names of calls."""

    def __init__(self, machine: str, processes: bool = False, gpu: bool = False) -> None:
        self.machine = machine
        self.code = instructions(machine, processes, gpu)

    def number(self, number: int, *arguments: int) -> int:
        return answer(self.code, ARCHITECTURES[self.machine], number, *arguments)

    def __call__(self, name: str, *arguments: int) -> int:
        return self.number(ALL[self.machine][name], *arguments)


@pytest.mark.parametrize(("machine", "processes", "gpu"), MODES)
def test_the_filter_says_what_the_table_says_about_every_number(machine: str, processes: bool, gpu: bool) -> None:
    said = Filter(machine, processes, gpu)
    named = rules(processes, gpu)
    expected = {number: named[name] for name, number in NUMBERS[machine].items()}
    answers = {ALLOW: PASS, DENY: EPERM, ABSENT: ENOSYS}
    for number in (*range(HIGHEST), *range(X32, X32 + HIGHEST), 0xFFFFFFFF):
        rule = expected.get(number, DENY if number <= NEWEST else ABSENT)
        if rule.checks:
            continue
        for arguments in ((), (OWN,) * 6, (0xFFFFFFFFFFFFFFFF,) * 6):
            assert said.number(number, *arguments) == answers[rule], number
    assert len(said.code) < 8 * 4096


@pytest.mark.parametrize(("machine", "processes", "gpu"), MODES)
def test_no_process_reaches_another(machine: str, processes: bool, gpu: bool) -> None:
    said = Filter(machine, processes, gpu)
    assert {name: said(name) for name in REACH_OTHERS} == dict.fromkeys(REACH_OTHERS, EPERM)
    assert {name: said(name) for name in NEEDED} == dict.fromkeys(NEEDED, PASS)
    # Not there at all, so that the C library falls back to `clone`, whose flags can be looked at.
    assert said("clone3") == ENOSYS
    assert said("clone", 0x003D0F00) == PASS
    for namespace in (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        assert said("clone", 0x003D0F00 | namespace) == EPERM
        assert said("clone", 0x00000011 | namespace) == EPERM
    # Locks, owners, signals, leases and notices of files; sizes of pipes.
    assert {said("fcntl", 5, asked) for asked in (5, 6, 7, 8, 10, 15, 37, 38, 1024, 1026, 1031, 1033)} == {EPERM}
    assert {said("fcntl", 5, asked) for asked in (0, 1, 2, 3, 4, 1030)} == {PASS}
    # Its end without its parent, who may look at it, filters, another's tracing, and the scheduling of others.
    assert {said("prctl", asked, 0) for asked in (1, 4, 8, 22, 31, 35, 36, 62, 0x59616D61)} == {EPERM}
    assert {said("prctl", asked, 0) for asked in (15, 16, 0x53564D41)} == {PASS}
    # Attributes of files, whom they signal, keys on a terminal; then whether they are a terminal.
    denied = (0x40086602, 0x401C5820, 0x40806685, 0x8901, 0x8902, 0x5412, 0x541C, 0x5452, 0x40049409)
    assert {said("ioctl", 5, asked) for asked in denied} == {EPERM}
    assert {said("ioctl", 5, asked) for asked in (0x5401, 0x5413, 0x541B, 0x5421, 0x5451)} == {PASS}
    # NVIDIA's driver.
    assert {said("ioctl", 5, asked) for asked in (0xC020462A, 0x30000001, 27)} == {PASS if gpu else EPERM}


@pytest.mark.parametrize("machine", sorted(NUMBERS))
def test_foreign_code_starts_and_signals_no_process(machine: str) -> None:
    said = Filter(machine)
    for name in ("execve", "setsid", "setpgid", *(("fork", "vfork") if machine == "x86_64" else ())):
        assert said(name) == EPERM, name
    assert said("clone", 0x01200011) == EPERM
    for name in ("kill", "tgkill", "tkill"):
        assert said(name, OWN, 9) == PASS
        assert said(name, 1, 9) == EPERM
        assert said(name, 0, 9) == EPERM
        assert said(name, 0xFFFFFFFF, 9) == EPERM
    assert said("prlimit64", 0, 9, 0, 0x7000) == PASS
    assert said("prlimit64", 0, 9, 0x7000, 0) == EPERM
    assert said("prlimit64", 0, 9, 1 << 32, 0) == EPERM


@pytest.mark.parametrize("machine", sorted(NUMBERS))
def test_children_without_foreign_code_start_processes(machine: str) -> None:
    said = Filter(machine, processes=True)
    assert {said(name) for name in ("execve", "setsid", "kill", "tgkill", "wait4")} == {PASS}
    assert said("clone", 0x01200011) == PASS
    assert said("prlimit64", 7, 9, 0x7000, 0) == PASS


def test_calls_of_other_architectures_end_the_process() -> None:
    for machine, other in (("x86_64", "aarch64"), ("aarch64", "x86_64")):
        assert answer(instructions(machine, False, False), ARCHITECTURES[other], 0) == KILL


def test_system_calls_have_numbers_of_their_own() -> None:
    for machine, numbers in ALL.items():
        assert len(set(numbers.values())) == len(numbers) == len(NUMBERS[machine]) + len(DENIED[machine])


@pytest.mark.parametrize(
    ("machine", "header"),
    [("x86_64", "x86_64-linux-gnu/asm/unistd_64.h"), ("aarch64", "asm-generic/unistd.h")],
)
def test_numbers_are_those_of_the_headers_of_the_kernel(machine: str, header: str) -> None:
    path = Path("/usr/include") / header
    if not path.exists():
        pytest.skip("the headers of the kernel are not installed: apt-get install linux-libc-dev")
    text = path.read_text().partition("__BITS_PER_LONG == 32")[0] if machine == "x86_64" else path.read_text()
    found = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)\n", text)}
    named = ALL[machine]
    assert {name: found[name] for name in named if name in found} == {
        name: named[name] for name in named if name in found
    }
    if machine == "x86_64":
        assert {name for name, number in found.items() if number <= max(named.values())} <= set(named)


@pytest.mark.skipif(bool(seccomp.why_no_filter()), reason="this system has no filter of system calls")
def test_every_number_in_a_child_ends_as_the_table_says() -> None:
    machine = platform.machine()
    named = rules(processes=False, gpu=False)
    expected = {number: named[name] for name, number in NUMBERS[machine].items()}
    numbers = [*range(NEWEST + 30), X32, X32 + ALL["x86_64"]["socket"]]
    script = Path(__file__).with_name("every_call.py")
    path = os.pathsep.join([*[each for each in sys.path if each], str(ROOT)])
    command = [sys.executable, str(script), *map(str, numbers)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    denied = {number: error for number, error in zip(numbers, json.loads(done.stdout), strict=True) if error >= MARK}
    # Conditions do not hold for arguments that are all -1.
    rules_of_numbers = {number: expected.get(number, DENY if number <= NEWEST else ABSENT) for number in numbers}
    assert denied == {number: MARK + rule.error for number, rule in rules_of_numbers.items() if rule.error}


def test_a_kernel_without_filters_is_said_to_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    if seccomp.why_no_filter():
        pytest.skip("this system has no filter of system calls")

    def prctl(*_: object) -> bool:
        ctypes.set_errno(errno.EINVAL)
        return False

    monkeypatch.setattr(seccomp, "prctl", prctl)
    seccomp.why_no_filter.cache_clear()
    try:
        assert seccomp.why_no_filter() == "this kernel was built without one"
        # Nobody goes on without a filter that cannot be set.
        with pytest.raises(OSError, match="cannot be set"):
            seccomp.filter_calls(processes=False, gpu=False)
    finally:
        seccomp.why_no_filter.cache_clear()


def test_nobody_is_in_a_network_of_ones_own() -> None:
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        address = server.getsockname()
        child = os.fork()
        if child == 0:
            status = 2
            try:
                if leave_network():
                    with socket.socket() as client:
                        client.settimeout(5)
                        status = 1 if client.connect_ex(address) == 0 else 0
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == 2:
        pytest.skip("this system lets no user have namespaces")
    assert status == 0
