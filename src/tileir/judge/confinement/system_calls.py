"""The numbers of Linux' system calls that are denied or looked at, on x86-64 and on 64-bit Arm.

They are part of the kernel's interface and do not change.  `-` stands for a call that an architecture does not have.
"""

from __future__ import annotations

from typing import Final

_TABLE: Final = """
clone 56 220
clone3 435 435
fork 57 -
vfork 58 -
execve 59 221
execveat 322 281
kill 62 129
tkill 200 130
tgkill 234 131
prctl 157 167
prlimit64 302 261
setrlimit 160 164
capset 126 91
socket 41 198
connect 42 203
bind 49 200
listen 50 201
accept 43 202
accept4 288 242
io_uring_setup 425 425
socketpair 53 199
fcntl 72 25
ioctl 16 29
fallocate 285 47
sched_setparam 142 118
sched_setscheduler 144 119
sched_setaffinity 203 122
sched_setattr 314 274
ptrace 101 117
process_vm_readv 310 270
process_vm_writev 311 271
process_madvise 440 440
pidfd_open 434 434
pidfd_getfd 438 438
pidfd_send_signal 424 424
rt_sigqueueinfo 129 138
rt_tgsigqueueinfo 297 240
kcmp 312 272
perf_event_open 298 241
bpf 321 280
userfaultfd 323 282
add_key 248 217
request_key 249 218
keyctl 250 219
mount 165 40
umount2 166 39
pivot_root 155 41
chroot 161 51
move_mount 429 429
open_tree 428 428
fsopen 430 430
fsconfig 431 431
fsmount 432 432
fspick 433 433
mount_setattr 442 442
unshare 272 97
setns 308 268
reboot 169 142
swapon 167 224
swapoff 168 225
init_module 175 105
finit_module 313 273
delete_module 176 106
kexec_load 246 104
kexec_file_load 320 294
acct 163 89
quotactl 179 60
quotactl_fd 443 443
sethostname 170 161
setdomainname 171 162
settimeofday 164 170
clock_settime 227 112
clock_adjtime 305 266
adjtimex 159 171
syslog 103 116
vhangup 153 58
iopl 172 -
ioperm 173 -
open_by_handle_at 304 265
fanotify_init 300 262
shmget 29 194
msgget 68 186
semget 64 190
mq_open 240 180
memfd_create 319 279
memfd_secret 447 447
setpriority 141 140
ioprio_set 251 30
chmod 90 -
fchmod 91 52
fchmodat 268 53
fchmodat2 452 452
chown 92 -
fchown 93 55
lchown 94 -
fchownat 260 54
setxattr 188 5
lsetxattr 189 6
fsetxattr 190 7
removexattr 197 14
lremovexattr 198 15
fremovexattr 199 16
utime 132 -
utimes 235 -
futimesat 261 -
utimensat 280 88
"""


def _numbers(column: int) -> dict[str, int]:
    rows = [line.split() for line in _TABLE.strip().splitlines()]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


NUMBERS: Final = {"x86_64": _numbers(1), "aarch64": _numbers(2)}

ARCHITECTURES: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""What a filter of system calls is told about the architecture of a call."""
