"""The system calls that a confined process may make, on x86-64 and on 64-bit Arm: one table.

What the table does not name fails as a missing right does (`EPERM`); what is newer than the table does not exist
(`ENOSYS`): libraries then do without, as on an older kernel.  `seccomp` makes a filter of it.
"""

from __future__ import annotations

import errno
from typing import Final, NamedTuple

ARCHITECTURES: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""What the kernel calls the architecture of a call."""

NEWEST: Final = 470
"""The highest number of a call that was known when the table was made."""

OWN: Final = 0xFFFFFFF1
"""Stands for the number of the process in a table that is not for one yet."""

_TABLE: Final = """
allow: its own memory
    brk 12 214, mmap 9 222, munmap 11 215, mremap 25 216, mprotect 10 226, madvise 28 233, msync 26 227,
    mincore 27 232, mlock 149 228, mlock2 325 284, munlock 150 229, mlockall 151 230, munlockall 152 231,
    mbind 237 235, get_mempolicy 239 236, set_mempolicy 238 237, set_mempolicy_home_node 450 450, mseal 462 462,
    pkey_mprotect 329 288, pkey_alloc 330 289, pkey_free 331 290, membarrier 324 283, map_shadow_stack 453 453
allow: its own threads, signals and end
    futex 202 98, set_robust_list 273 99, set_tid_address 218 96, rseq 334 293, arch_prctl 158 -, sched_yield 24 124,
    rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, rt_sigpending 127 136, rt_sigsuspend 130 133,
    rt_sigtimedwait 128 137, sigaltstack 131 132, restart_syscall 219 128, pause 34 -, exit 60 93, exit_group 231 94,
    wait4 61 260, waitid 247 95, uretprobe 335 -, uprobe 336 -
allow: what it is and what it runs on
    getpid 39 172, getppid 110 173, gettid 186 178, getpgid 121 155, getpgrp 111 -, getsid 124 156, getuid 102 174,
    geteuid 107 175, getgid 104 176, getegid 108 177, getresuid 118 148, getresgid 120 150, getgroups 115 158,
    capget 125 90, uname 63 160, sysinfo 99 179, getcpu 309 168, getrusage 98 165, times 100 153, getrlimit 97 163,
    getpriority 140 141, sched_getparam 143 121, sched_getscheduler 145 120, sched_getattr 315 275,
    sched_getaffinity 204 123, sched_get_priority_max 146 125, sched_get_priority_min 147 126,
    sched_rr_get_interval 148 127, getrandom 318 278
allow: time
    time 201 -, gettimeofday 96 169, clock_gettime 228 113, clock_getres 229 114, clock_nanosleep 230 115,
    nanosleep 35 101, alarm 37 -, getitimer 36 102, setitimer 38 103, timer_create 222 107, timer_settime 223 110,
    timer_gettime 224 108, timer_getoverrun 225 109, timer_delete 226 111, timerfd_create 283 85,
    timerfd_settime 286 86, timerfd_gettime 287 87
allow: files that it has open
    read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, pwrite64 18 68, preadv 295 69, pwritev 296 70,
    preadv2 327 286, pwritev2 328 287, lseek 8 62, sendfile 40 71, copy_file_range 326 285, ftruncate 77 46,
    fsync 74 82, fdatasync 75 83, sync_file_range 277 84, fadvise64 221 223, readahead 187 213, close 3 57,
    close_range 436 436, dup 32 23, dup2 33 -, dup3 292 24, pipe 22 -, pipe2 293 59, select 23 -, pselect6 270 72,
    poll 7 -, ppoll 271 73, epoll_create 213 -, epoll_create1 291 20, epoll_ctl 233 21, epoll_wait 232 -,
    epoll_pwait 281 22, epoll_pwait2 441 441, eventfd 284 -, eventfd2 290 19, signalfd 282 -, signalfd4 289 74
allow: files by name, where Landlock decides
    open 2 -, openat 257 56, openat2 437 437, creat 85 -, truncate 76 45, access 21 -, faccessat 269 48,
    faccessat2 439 439, stat 4 -, lstat 6 -, fstat 5 80, newfstatat 262 79, statx 332 291, statfs 137 43,
    fstatfs 138 44, readlink 89 -, readlinkat 267 78, getdents 78 -, getdents64 217 61, getcwd 79 17, chdir 80 49,
    fchdir 81 50, umask 95 166, mkdir 83 -, mkdirat 258 34, rmdir 84 -, unlink 87 -, unlinkat 263 35, rename 82 -,
    renameat 264 38, renameat2 316 276, link 86 -, linkat 265 37, symlink 88 -, symlinkat 266 36
check: what they do depends on an argument
    clone 56 220, kill 62 129, tkill 200 130, tgkill 234 131, prctl 157 167, prlimit64 302 261, fcntl 72 25,
    ioctl 16 29
processes: other processes, where a process may start some
    fork 57 -, vfork 58 -, execve 59 221, setsid 112 157, setpgid 109 154
absent: the flags of clone3 cannot be read, and C libraries fall back to clone; of the others too to older calls
    clone3 435 435, futex_waitv 449 449, cachestat 451 451, futex_wake 454 454, futex_wait 455 455,
    futex_requeue 456 456, statmount 457 457, listmount 458 458, lsm_get_self_attr 459 459, lsm_list_modules 461 461,
    listns 470 470
"""
"""A rule and what it is about, then calls with their numbers on x86-64 and on 64-bit Arm; `-` where there is none."""


class Check(NamedTuple):
    """What one half of an argument has to be."""

    argument: int
    values: tuple[int, ...]
    mask: int = 0xFFFFFFFF
    """The bits that are compared."""
    families: tuple[int, ...] = ()
    """Values for the second byte alone, which is where `ioctl` names the kind of device."""
    is_high: bool = False
    """Whether it is about the high half; all but addresses are in the low one."""


class Rule(NamedTuple):
    """What becomes of a call: `error`, unless all checks hold."""

    error: int
    checks: tuple[Check, ...] = ()


ALLOW: Final = Rule(0)
DENY: Final = Rule(errno.EPERM)
ABSENT: Final = Rule(errno.ENOSYS)

_CLONE_THREAD: Final = 0x00010000
_CLONE_NAMESPACES: Final = 0x7E020000
_NVIDIA: Final = (0x4600, 0x0000)
"""The kinds of `ioctl` of NVIDIA's driver and of its unified memory."""
_IOCTLS: Final = {
    "TCGETS": 0x5401, "TIOCGWINSZ": 0x5413, "FIONREAD": 0x541B, "FIONBIO": 0x5421, "FIONCLEX": 0x5450,
    "FIOCLEX": 0x5451, "TCGETS2": 0x802C542A,
}  # fmt: skip
_FCNTLS: Final = {
    "F_DUPFD": 0, "F_GETFD": 1, "F_SETFD": 2, "F_GETFL": 3, "F_SETFL": 4, "F_DUPFD_CLOEXEC": 1030,
    "F_GETPIPE_SZ": 1032, "F_GET_SEALS": 1034,
}  # fmt: skip
"""No locks, leases or notices, and nobody to be signaled."""
_PRCTLS: Final = {
    "PR_GET_PDEATHSIG": 2, "PR_GET_DUMPABLE": 3, "PR_SET_NAME": 15, "PR_GET_NAME": 16, "PR_CAPBSET_READ": 23,
    "PR_SET_TIMERSLACK": 29, "PR_GET_TIMERSLACK": 30, "PR_GET_NO_NEW_PRIVS": 39, "PR_SET_THP_DISABLE": 41,
    "PR_GET_THP_DISABLE": 42, "PR_SVE_SET_VL": 50, "PR_SVE_GET_VL": 51, "PR_GET_SPECULATION_CTRL": 52,
    "PR_PAC_RESET_KEYS": 54, "PR_GET_TAGGED_ADDR_CTRL": 56, "PR_SME_GET_VL": 64, "PR_SET_VMA": 0x53564D41,
}  # fmt: skip


def rules(processes: bool, gpu: bool) -> dict[str, Rule]:
    """What becomes of each call in the table, in a process that may start others or not, and use a GPU or not."""
    by_word = {"allow": ALLOW, "absent": ABSENT, "processes": ALLOW if processes else DENY}
    own = ALLOW if processes else Rule(errno.EPERM, (Check(0, (OWN,)),))
    # Limits are read, not set: the address of new ones is zero.
    reads = Rule(errno.EPERM, (Check(2, (0,)), Check(2, (0,), is_high=True)))
    thread = 0 if processes else _CLONE_THREAD
    checked = {
        "clone": Rule(errno.EPERM, (Check(0, (thread,), _CLONE_NAMESPACES | thread),)),
        "kill": own,
        "tkill": own,
        "tgkill": own,
        "prctl": Rule(errno.EPERM, (Check(0, tuple(_PRCTLS.values())),)),
        "prlimit64": ALLOW if processes else reads,
        "fcntl": Rule(errno.EPERM, (Check(1, tuple(_FCNTLS.values())),)),
        "ioctl": Rule(errno.EPERM, (Check(1, tuple(_IOCTLS.values()), families=_NVIDIA if gpu else ()),)),
    }
    return {name: checked[name] if word == "check" else by_word[word] for word, name, *_ in _ROWS}


def _rows() -> list[tuple[str, str, str, str]]:
    found: list[tuple[str, str, str, str]] = []
    word = ""
    for line in _TABLE.splitlines():
        if not line.startswith(" "):
            word = line.partition(":")[0]
            continue
        for row in line.rstrip(",").split(","):
            name, x86, arm = row.split()
            found.append((word, name, x86, arm))
    return found


_ROWS: Final = _rows()
NUMBERS: Final = {
    "x86_64": {name: int(x86) for _, name, x86, _ in _ROWS if x86 != "-"},
    "aarch64": {name: int(arm) for _, name, _, arm in _ROWS if arm != "-"},
}
"""They are part of the kernel's interface and never change."""
