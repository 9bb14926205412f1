"""The filter of system calls, interpreted as the kernel does, for both architectures; and a network of one's own."""

from __future__ import annotations

import errno
import os
import socket
import struct

import pytest

from tileir.judge.confinement.linux import leave_network
from tileir.judge.confinement.seccomp import OWN, instructions
from tileir.judge.confinement.system_calls import ARCHITECTURES, NUMBERS

ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
DENY = ERROR | errno.EPERM


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
        holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[operation]
        place += if_so if holds else if_not


@pytest.mark.parametrize("machine", sorted(NUMBERS))
def test_foreign_code_reaches_no_network_and_no_process(machine: str) -> None:
    code, numbers = instructions(machine, False), NUMBERS[machine]

    def said(name: str, *arguments: int) -> int:
        return answer(code, ARCHITECTURES[machine], numbers[name], *arguments)

    for name in ("socket", "ptrace", "execve", "mount", "bpf", "fchmodat", "memfd_create", "setrlimit", "unshare"):
        assert said(name) == DENY, name
    assert said("clone3") == ERROR | errno.ENOSYS
    assert said("clone", 0x01200011) == DENY
    assert said("clone", 0x003D0F00) == ALLOW
    for name in ("kill", "tgkill", "tkill"):
        assert said(name, OWN, 9) == ALLOW
        assert said(name, 1, 9) == DENY
        assert said(name, 0xFFFFFFFF, 9) == DENY
    for name in ("socketpair", "sched_setaffinity", "fallocate"):
        assert said(name) == DENY, name
    assert said("prctl", 1, 0) == DENY
    assert said("prctl", 4, 0) == DENY
    # Whom a file signals, and with what; its flags are read and set as ever.
    assert {said("fcntl", 5, asked) for asked in (8, 10, 15)} == {DENY}
    assert {said("fcntl", 5, asked) for asked in (0, 1, 2, 3, 4, 1030)} == {ALLOW}
    # Attributes of files, that they can never be written to again, whom they signal; then whether they are a terminal.
    assert {said("ioctl", 5, asked) for asked in (0x40086602, 0x401C5820, 0x40806685, 0x8901, 0x8902)} == {DENY}
    assert {said("ioctl", 5, asked) for asked in (0x5401, 0x5413, 0x541B, 0x5421, 0x5451, 0xC020462A, 27)} == {ALLOW}
    assert said("prctl", 15, 0) == ALLOW
    assert said("prlimit64", 0, 9, 0, 0x7000) == ALLOW
    assert said("prlimit64", 0, 9, 0x7000, 0) == DENY
    assert said("prlimit64", 0, 9, 1 << 32, 0) == DENY


@pytest.mark.parametrize("machine", sorted(NUMBERS))
def test_children_without_foreign_code_start_processes_and_reach_no_network(machine: str) -> None:
    code, numbers = instructions(machine, True), NUMBERS[machine]

    def said(name: str, *arguments: int) -> int:
        return answer(code, ARCHITECTURES[machine], numbers[name], *arguments)

    assert {said(name) for name in ("clone", "clone3", "execve", "kill", "prlimit64")} == {ALLOW}
    assert {said(name) for name in ("socket", "ptrace", "mount", "bpf", "io_uring_setup")} == {DENY}


def test_calls_of_other_architectures_end_the_process() -> None:
    for machine, other in (("x86_64", "aarch64"), ("aarch64", "x86_64")):
        assert answer(instructions(machine, False), ARCHITECTURES[other], 0) == KILL
    # x32 has numbers of its own for the same calls.
    assert answer(instructions("x86_64", False), ARCHITECTURES["x86_64"], 0x40000000 | 41) == DENY
    assert answer(instructions("x86_64", False), ARCHITECTURES["x86_64"], 0) == ALLOW


def test_system_calls_have_numbers_of_their_own() -> None:
    for machine in NUMBERS.values():
        assert len(set(machine.values())) == len(machine)


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
