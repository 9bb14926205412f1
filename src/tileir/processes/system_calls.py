"""The system calls that a confined process may make, on x86-64 and on 64-bit Arm: one table.

What the table does not name does not exist for a confined process (`ENOSYS`): libraries then do without, as on an older
kernel.  What it denies by name fails as a missing right does (`EPERM`).  `seccomp` makes a filter of it.
"""

from __future__ import annotations

import errno
from typing import Final, NamedTuple

ARCHITECTURES: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""What the kernel calls the architecture of a call."""

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
deny: network and local sockets
    socket 41 198, socketpair 53 199, connect 42 203, bind 49 200, listen 50 201, accept 43 202, accept4 288 242,
    sendto 44 206, recvfrom 45 207, sendmsg 46 211, recvmsg 47 212, sendmmsg 307 269, recvmmsg 299 243,
    shutdown 48 210, getsockname 51 204, getpeername 52 205, setsockopt 54 208, getsockopt 55 209
deny: memory, messages and semaphores of other processes
    shmget 29 194, shmat 30 196, shmctl 31 195, shmdt 67 197, msgget 68 186, msgsnd 69 189, msgrcv 70 188,
    msgctl 71 187, semget 64 190, semop 65 193, semtimedop 220 192, semctl 66 191, mq_open 240 180, mq_unlink 241 181,
    mq_timedsend 242 182, mq_timedreceive 243 183, mq_notify 244 184, mq_getsetattr 245 185, process_vm_readv 310 270,
    process_vm_writev 311 271, process_madvise 440 440, process_mrelease 448 448, migrate_pages 256 238,
    move_pages 279 239, memfd_create 319 279, memfd_secret 447 447, userfaultfd 323 282
deny: other processes
    execveat 322 281, ptrace 101 117, pidfd_open 434 434, pidfd_getfd 438 438, pidfd_send_signal 424 424,
    rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240, kcmp 312 272, get_robust_list 274 100, perf_event_open 298 241,
    setpriority 141 140, ioprio_set 251 30, ioprio_get 252 31, sched_setparam 142 118, sched_setscheduler 144 119,
    sched_setaffinity 203 122, sched_setattr 314 274, setrlimit 160 164
deny: files without the right to write to them, and locks that others wait for
    flock 73 32, chmod 90 -, fchmod 91 52, fchmodat 268 53, fchmodat2 452 452, chown 92 -, fchown 93 55, lchown 94 -,
    fchownat 260 54, utime 132 -, utimes 235 -, futimesat 261 -, utimensat 280 88, setxattr 188 5, lsetxattr 189 6,
    fsetxattr 190 7, setxattrat 463 463, removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16,
    removexattrat 466 466, getxattr 191 8, lgetxattr 192 9, fgetxattr 193 10, getxattrat 464 464, listxattr 194 11,
    llistxattr 195 12, flistxattr 196 13, listxattrat 465 465, file_setattr 469 469, file_getattr 468 468,
    name_to_handle_at 303 264, open_by_handle_at 304 265, inotify_init 253 -, inotify_init1 294 26,
    inotify_add_watch 254 27, inotify_rm_watch 255 28, fanotify_init 300 262, fanotify_mark 301 263
deny: devices, pipes with names, and space that no limit counts
    mknod 133 -, mknodat 259 33, fallocate 285 47, splice 275 76, tee 276 77, vmsplice 278 75, io_setup 206 0,
    io_destroy 207 1, io_submit 209 2, io_cancel 210 3, io_getevents 208 4, io_pgetevents 333 292,
    io_uring_setup 425 425, io_uring_enter 426 426, io_uring_register 427 427
deny: its own rights
    setuid 105 146, setgid 106 144, setreuid 113 145, setregid 114 143, setresuid 117 147, setresgid 119 149,
    setfsuid 122 151, setfsgid 123 152, setgroups 116 159, capset 126 91, personality 135 92, seccomp 317 277,
    landlock_create_ruleset 444 444, landlock_add_rule 445 445, landlock_restrict_self 446 446,
    lsm_set_self_attr 460 460, add_key 248 217, request_key 249 218, keyctl 250 219
deny: the system
    mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51, move_mount 429 429, open_tree 428 428,
    open_tree_attr 467 467, fsopen 430 430, fsconfig 431 431, fsmount 432 432, fspick 433 433, mount_setattr 442 442,
    unshare 272 97, setns 308 268, reboot 169 142, swapon 167 224, swapoff 168 225, init_module 175 105,
    finit_module 313 273, delete_module 176 106, kexec_load 246 104, kexec_file_load 320 294, bpf 321 280, acct 163 89,
    quotactl 179 60, quotactl_fd 443 443, sethostname 170 161, setdomainname 171 162, settimeofday 164 170,
    clock_settime 227 112, clock_adjtime 305 266, adjtimex 159 171, syslog 103 116, sync 162 81, syncfs 306 267,
    vhangup 153 58, iopl 172 -, ioperm 173 -, modify_ldt 154 -
absent: too new or too old to be needed; the flags of clone3 cannot be read, and C libraries fall back to clone
    clone3 435 435, futex_waitv 449 449, futex_wake 454 454, futex_wait 455 455, futex_requeue 456 456,
    cachestat 451 451, statmount 457 457, listmount 458 458, lsm_get_self_attr 459 459, lsm_list_modules 461 461,
    listns 470 470, remap_file_pages 216 234, lookup_dcookie 212 18, uselib 134 -, ustat 136 -, sysfs 139 -,
    _sysctl 156 -, create_module 174 -, get_kernel_syms 177 -, query_module 178 -, nfsservctl 180 42, getpmsg 181 -,
    putpmsg 182 -, afs_syscall 183 -, tuxcall 184 -, security 185 -, set_thread_area 205 -, get_thread_area 211 -,
    epoll_ctl_old 214 -, epoll_wait_old 215 -, vserver 236 -
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
    """What becomes of each call that has a name, in a process that may start others or not, and use a GPU or not."""
    by_word = {"allow": ALLOW, "deny": DENY, "absent": ABSENT, "processes": ALLOW if processes else DENY}
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
