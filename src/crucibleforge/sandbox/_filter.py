"""What may be asked of the kernel: seccomp programs, assembled here so that no library is needed.

`outer` holds for all in the sandbox, `inner` on top of it for the child that runs a program's code. Both let through
what they do not name: they take away what reaches beyond the sandbox or beyond its bounds, and what solutions of our
cases use stays. A call is refused with EPERM; two get ENOSYS, so that a C library takes its older way: `clone3`,
whose flags a filter cannot read, and whatever is newer than this list.

A program is an array of `struct sock_filter` (linux/filter.h) that reads a `struct seccomp_data` (linux/seccomp.h).
Only the lower half of an argument is looked at, since of these arguments the kernel looks at no more.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Mapping

from crucibleforge.errors import SandboxMissing

_Table = Mapping[str, tuple[int | None, int | None]]
"""Name: (number on x86_64, number on aarch64), None where it does not exist."""

_COLUMNS = {"x86_64": 0, "aarch64": 1}
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""AUDIT_ARCH_*, linux/audit.h. Every other entry to the same kernel, such as 32-bit calls, ends the process."""
_X32 = 0x40000000
"""__X32_SYSCALL_BIT, asm/unistd.h of x86: the same calls by other numbers."""
_NEWEST = 469
"""file_setattr, Linux 6.17. Above it stand numbers nobody had judged when this list was made."""

_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET (linux/sched.h)."""
_THREAD = 0x00010000
"""CLONE_THREAD (linux/sched.h)."""
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
"""asm-generic/ioctls.h: both type into the terminal that we run in."""
_AF_UNIX = 1
_DRIVER = 1
"""Pid 1 is our driver; nobody else is in there but the child itself."""
_SIGN = 0x80000000
"""Set in a number that is a negative `int`: a pid that means a group, or everybody."""

# Numbers: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h of Linux.
_FORBIDDEN: _Table = {
    # debugging and other processes' memory
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    # large or new parts of the kernel that no solution needs
    "bpf": (321, 280),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "memfd_secret": (447, 447),
    "perf_event_open": (298, 241),
    "seccomp": (317, 277),
    "userfaultfd": (323, 282),
    # keys
    "add_key": (248, 217),
    "keyctl": (250, 219),
    "request_key": (249, 218),
    # mounts, roots and namespaces, old and new interface
    "chroot": (161, 51),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "listmount": (458, 458),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "pivot_root": (155, 41),
    "setns": (308, 268),
    "statmount": (457, 457),
    "umount2": (166, 39),
    "unshare": (272, 97),
    # the machine
    "_sysctl": (156, None),
    "acct": (163, 89),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "create_module": (174, None),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "get_kernel_syms": (177, None),
    "init_module": (175, 105),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "lookup_dcookie": (212, 18),
    "lsm_get_self_attr": (459, 459),
    "lsm_list_modules": (461, 461),
    "lsm_set_self_attr": (460, 460),
    "modify_ldt": (154, None),
    "nfsservctl": (180, 42),
    "personality": (135, 92),
    "query_module": (178, None),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "sysfs": (139, None),
    "syslog": (103, 116),
    "uselib": (134, None),
    "ustat": (136, None),
    "vhangup": (153, 58),
    # files by handle, and watching them all
    "fanotify_init": (300, 262),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    # placement of memory
    "get_mempolicy": (239, 236),
    "mbind": (237, 235),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450),
    # talking to others
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "msgctl": (71, 187),
    "msgget": (68, 186),
    "msgrcv": (70, 188),
    "msgsnd": (69, 189),
    "semctl": (66, 191),
    "semget": (64, 190),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "shmdt": (67, 197),
    "shmget": (29, 194),
    "socket": (41, 198),
}
_FORBIDDEN_TO_CODE: _Table = {
    "execve": (59, 221),
    "execveat": (322, 281),
    "fork": (57, None),
    "ioprio_set": (251, 30),
    "memfd_create": (319, 279),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "setpriority": (141, 140),
    "vfork": (58, None),
    # Device nodes are the machine's own, and whoever may write to one may set its times: a note to the next call.
    "futimesat": (261, None),
    "utime": (132, None),
    "utimensat": (280, 88),
    "utimes": (235, None),
}
_JUDGED: _Table = {
    "clone": (56, 220),
    "clone3": (435, 435),
    "ioctl": (16, 29),
    "kill": (62, 129),
    "prlimit64": (302, 261),
    "socketpair": (53, 199),
    "tgkill": (234, 131),
    "tkill": (200, 130),
}

_LOAD, _EQUAL, _ABOVE, _ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
"""BPF_LD|BPF_W|BPF_ABS, BPF_JMP|BPF_JEQ, |BPF_JGT, |BPF_JSET, each |BPF_K, and BPF_RET (linux/bpf_common.h)."""
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
"""SECCOMP_RET_ALLOW and SECCOMP_RET_KILL_PROCESS (linux/seccomp.h)."""
_REFUSE = 0x00050000 | errno.EPERM
_UNKNOWN = 0x00050000 | errno.ENOSYS
"""SECCOMP_RET_ERRNO with the number of the error."""


def outer(machine: str) -> bytes:
    """The program for everything in the sandbox, driver included, as `bwrap --seccomp` reads it.

    Args:
        machine: the kernel's name for the processor, as in `os.uname().machine`.

    Raises:
        SandboxMissing: we have no table for this processor.
    """
    number = _numbers(machine, _JUDGED)
    return b"".join(
        (
            *_entrance(machine),
            _step(_ABOVE, _NEWEST, 0, 1),
            _step(_RETURN, _UNKNOWN),
            *_only(number["clone3"], _step(_RETURN, _UNKNOWN)),
            *_only(number["clone"], *_judged(0, ((_ANY_BIT, _NAMESPACES),), _REFUSE, _ALLOW)),
            *_only(number["ioctl"], *_judged(1, ((_EQUAL, _TIOCSTI), (_EQUAL, _TIOCLINUX)), _REFUSE, _ALLOW)),
            *_only(number["socketpair"], *_judged(0, ((_EQUAL, _AF_UNIX),), _ALLOW, _REFUSE)),
            *_refused(_numbers(machine, _FORBIDDEN)),
            _step(_RETURN, _ALLOW),
        )
    )


def inner(machine: str) -> bytes:
    """The program for a child that is about to run code: one process, threads allowed, and no signal to the driver.

    One process makes the bound on its address space a bound on the memory of all that the code does.

    Raises:
        SandboxMissing: we have no table for this processor.
    """
    number = _numbers(machine, _JUDGED)
    others = ((_EQUAL, _DRIVER), (_EQUAL, 0), (_ANY_BIT, _SIGN))
    return b"".join(
        (
            *_entrance(machine),
            *_only(number["clone3"], _step(_RETURN, _UNKNOWN)),
            *_only(number["clone"], *_judged(0, ((_ANY_BIT, _THREAD),), _ALLOW, _REFUSE)),
            *_only(number["kill"], *_judged(0, others, _REFUSE, _ALLOW)),
            *_only(number["tkill"], *_judged(0, others, _REFUSE, _ALLOW)),
            *_only(number["tgkill"], *_judged(0, others, _REFUSE, _ALLOW)),
            *_only(number["prlimit64"], *_judged(0, ((_EQUAL, 0),), _ALLOW, _REFUSE)),
            *_refused(_numbers(machine, _FORBIDDEN_TO_CODE)),
            _step(_RETURN, _ALLOW),
        )
    )


def forbidden(machine: str) -> dict[str, int]:
    """The calls that `outer` refuses whatever their arguments, and their numbers.

    Raises:
        SandboxMissing: we have no table for this processor.
    """
    return _numbers(machine, _FORBIDDEN)


def _numbers(machine: str, table: _Table) -> dict[str, int]:
    column = _COLUMNS.get(machine)
    if column is None:
        known = " and ".join(_COLUMNS)
        raise SandboxMissing(
            f"no sandbox: no filter of system calls for {machine or 'this processor'}",
            hint=f"there are filters for {known}; or run model code unprotected with `--allow-unsandboxed`",
        )
    return {name: number for name, numbers in table.items() if (number := numbers[column]) is not None}


def _entrance(machine: str) -> list[bytes]:
    """End whoever comes by another door; leaves the number of the call loaded."""
    steps = [
        _step(_LOAD, _ARCHITECTURE_AT),
        _step(_EQUAL, _ARCHITECTURES[machine], 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER_AT),
    ]
    if machine == "x86_64":
        steps += [_step(_ANY_BIT, _X32, 0, 1), _step(_RETURN, _KILL)]
    return steps


def _refused(numbers: dict[str, int]) -> list[bytes]:
    return [step for number in numbers.values() for step in _only(number, _step(_RETURN, _REFUSE))]


def _only(number: int, *body: bytes) -> tuple[bytes, ...]:
    """Steps for this call alone; they must end in an answer on every path, since they may load something else."""
    return (_step(_EQUAL, number, 0, len(body)), *body)


def _judged(argument: int, tests: tuple[tuple[int, int], ...], met: int, otherwise: int) -> list[bytes]:
    """Answer `met` when any test holds for the lower half of this argument, else `otherwise`."""
    steps = [_step(_LOAD, _ARGUMENTS_AT + 8 * argument)]
    steps += [_step(test, value, len(tests) - place, 0) for place, (test, value) in enumerate(tests)]
    return [*steps, _step(_RETURN, otherwise), _step(_RETURN, met)]


def _step(code: int, value: int, met: int = 0, otherwise: int = 0) -> bytes:
    """One `struct sock_filter`; `met` and `otherwise` are how many steps to skip."""
    return struct.pack("<HBBI", code, met, otherwise, value)
