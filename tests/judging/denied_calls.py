"""The system calls that a confined process may not make, with their numbers on x86-64 and on 64-bit Arm.

None of them is in the table of `tileir.processes.system_calls`: whatever that does not name is denied.
"""

from __future__ import annotations

from typing import Final

from tileir.processes.system_calls import NUMBERS

_DENIED: Final = """
    socket 41 198, socketpair 53 199, connect 42 203, bind 49 200, listen 50 201, accept 43 202, accept4 288 242,
    sendto 44 206, recvfrom 45 207, sendmsg 46 211, recvmsg 47 212, sendmmsg 307 269, recvmmsg 299 243,
    shutdown 48 210, getsockname 51 204, getpeername 52 205, setsockopt 54 208, getsockopt 55 209
    shmget 29 194, shmat 30 196, shmctl 31 195, shmdt 67 197, msgget 68 186, msgsnd 69 189, msgrcv 70 188,
    msgctl 71 187, semget 64 190, semop 65 193, semtimedop 220 192, semctl 66 191, mq_open 240 180, mq_unlink 241 181,
    mq_timedsend 242 182, mq_timedreceive 243 183, mq_notify 244 184, mq_getsetattr 245 185, process_vm_readv 310 270,
    process_vm_writev 311 271, process_madvise 440 440, process_mrelease 448 448, migrate_pages 256 238,
    move_pages 279 239, memfd_create 319 279, memfd_secret 447 447, userfaultfd 323 282
    execveat 322 281, ptrace 101 117, pidfd_open 434 434, pidfd_getfd 438 438, pidfd_send_signal 424 424,
    rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240, kcmp 312 272, get_robust_list 274 100, perf_event_open 298 241,
    setpriority 141 140, ioprio_set 251 30, ioprio_get 252 31, sched_setparam 142 118, sched_setscheduler 144 119,
    sched_setaffinity 203 122, sched_setattr 314 274, setrlimit 160 164
    flock 73 32, chmod 90 -, fchmod 91 52, fchmodat 268 53, fchmodat2 452 452, chown 92 -, fchown 93 55, lchown 94 -,
    fchownat 260 54, utime 132 -, utimes 235 -, futimesat 261 -, utimensat 280 88, setxattr 188 5, lsetxattr 189 6,
    fsetxattr 190 7, setxattrat 463 463, removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16,
    removexattrat 466 466, getxattr 191 8, lgetxattr 192 9, fgetxattr 193 10, getxattrat 464 464, listxattr 194 11,
    llistxattr 195 12, flistxattr 196 13, listxattrat 465 465, file_setattr 469 469, file_getattr 468 468,
    name_to_handle_at 303 264, open_by_handle_at 304 265, inotify_init 253 -, inotify_init1 294 26,
    inotify_add_watch 254 27, inotify_rm_watch 255 28, fanotify_init 300 262, fanotify_mark 301 263
    mknod 133 -, mknodat 259 33, fallocate 285 47, splice 275 76, tee 276 77, vmsplice 278 75, io_setup 206 0,
    io_destroy 207 1, io_submit 209 2, io_cancel 210 3, io_getevents 208 4, io_pgetevents 333 292,
    io_uring_setup 425 425, io_uring_enter 426 426, io_uring_register 427 427
    setuid 105 146, setgid 106 144, setreuid 113 145, setregid 114 143, setresuid 117 147, setresgid 119 149,
    setfsuid 122 151, setfsgid 123 152, setgroups 116 159, capset 126 91, personality 135 92, seccomp 317 277,
    landlock_create_ruleset 444 444, landlock_add_rule 445 445, landlock_restrict_self 446 446,
    lsm_set_self_attr 460 460, add_key 248 217, request_key 249 218, keyctl 250 219
    mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51, move_mount 429 429, open_tree 428 428,
    open_tree_attr 467 467, fsopen 430 430, fsconfig 431 431, fsmount 432 432, fspick 433 433, mount_setattr 442 442,
    unshare 272 97, setns 308 268, reboot 169 142, swapon 167 224, swapoff 168 225, init_module 175 105,
    finit_module 313 273, delete_module 176 106, kexec_load 246 104, kexec_file_load 320 294, bpf 321 280, acct 163 89,
    quotactl 179 60, quotactl_fd 443 443, sethostname 170 161, setdomainname 171 162, settimeofday 164 170,
    clock_settime 227 112, clock_adjtime 305 266, adjtimex 159 171, syslog 103 116, sync 162 81, syncfs 306 267,
    vhangup 153 58, iopl 172 -, ioperm 173 -, modify_ldt 154 -
    remap_file_pages 216 234, lookup_dcookie 212 18, uselib 134 -, ustat 136 -, sysfs 139 -, _sysctl 156 -,
    create_module 174 -, get_kernel_syms 177 -, query_module 178 -, nfsservctl 180 42, getpmsg 181 -, putpmsg 182 -,
    afs_syscall 183 -, tuxcall 184 -, security 185 -, set_thread_area 205 -, get_thread_area 211 -,
    epoll_ctl_old 214 -, epoll_wait_old 215 -, vserver 236 -
"""

_ROWS: Final = [row.split() for line in _DENIED.split("\n") for row in line.rstrip(",").split(",") if row.strip()]
DENIED: Final = {
    "x86_64": {name: int(x86) for name, x86, _ in _ROWS if x86 != "-"},
    "aarch64": {name: int(arm) for name, _, arm in _ROWS if arm != "-"},
}
ALL: Final = {machine: {**NUMBERS[machine], **DENIED[machine]} for machine in NUMBERS}
