from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
import zipfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import platformdirs
import pytest
from waiting import wait_for

from crucibleforge.errors import InputError
from crucibleforge.gguf import facts
from crucibleforge.providers import _builtin
from crucibleforge.providers._builtin import SMOLLM2, Model, Tools, cached, commands

CONTENT = b"GGUF" + bytes(range(256)) * 40
TINY = Model(
    title="Tiny Q4_1",
    requirement="tiny-wheel==1.0",
    package="no_such_package_tiny",
    file="tiny.gguf",
    size_bytes=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    download="10 kB",
)
NONE = Tools(python="python", own_pip=False, uv="", pip="")
HINT = "connect once, or name a file: `--models path/to/model.gguf`"


def wheel(path, content=CONTENT, member=TINY.member):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, content)
    return path


@pytest.fixture
def program(tmp_path):
    """Make an executable whose body sees `into`, the folder that it is to fill."""

    def made(name, body):
        path = tmp_path / name
        path.write_text(
            f"#!{sys.executable}\n"
            "import pathlib, shutil, sys\n"
            "argv = sys.argv\n"
            "into = pathlib.Path(argv[argv.index('--dest' if '--dest' in argv else '--target') + 1])\n"
            f"open({str(tmp_path / 'calls')!r}, 'a').write({name!r} + '\\n')\n"
            f"{body}\n"
        )
        path.chmod(0o755)
        return str(path)

    return made


@pytest.fixture
def calls(tmp_path):
    def made():
        path = tmp_path / "calls"
        return path.read_text().split() if path.exists() else []

    return made


@pytest.fixture
def good(program, tmp_path):
    source = wheel(tmp_path / "tiny_wheel-1.0-py3-none-any.whl")
    return replace(NONE, pip=program("pip", f"shutil.copy({str(source)!r}, into)"))


def refusal(folder, tools, model=TINY):
    with pytest.raises(InputError) as caught:
        cached(model, folder, tools, lambda _: None)
    return caught.value


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_first_use_fetches_and_says_so_once_and_the_second_does_not(tmp_path, good, calls):
    folder, said = tmp_path / "cache", []
    for _ in range(2):
        assert cached(TINY, folder, good, said.append).read_bytes() == CONTENT
    assert said == [f"fetching the built-in model Tiny Q4_1 (10 kB, once) into {folder}"]
    assert calls() == ["pip"]
    assert names(folder) == ["tiny.gguf", "tiny.gguf.checked"]


@pytest.mark.parametrize("damage", [b"", CONTENT[:-1], CONTENT[:-1] + b"x", CONTENT + b"x"])
def test_a_damaged_file_in_the_cache_is_fetched_anew(tmp_path, good, calls, damage):
    kept = cached(TINY, tmp_path / "cache", good, lambda _: None)
    kept.write_bytes(damage)
    os.utime(kept, ns=(1, 1))
    assert cached(TINY, tmp_path / "cache", good, lambda _: None).read_bytes() == CONTENT
    assert calls() == ["pip", "pip"]


@pytest.mark.parametrize("stamp", [None, b"", b"\xff\xfe"])
def test_a_sound_file_without_a_stamp_is_hashed_and_kept(tmp_path, stamp):
    (tmp_path / TINY.file).write_bytes(CONTENT)
    if stamp is not None:
        (tmp_path / f"{TINY.file}.checked").write_bytes(stamp)
    cached(TINY, tmp_path, NONE, lambda _: None)
    assert (tmp_path / f"{TINY.file}.checked").read_text().startswith(TINY.sha256)


def test_the_stamp_spares_the_hash(tmp_path):
    kept = tmp_path / TINY.file
    kept.write_bytes(CONTENT)
    cached(TINY, tmp_path, NONE, lambda _: None)
    before = kept.stat().st_mtime_ns
    kept.write_bytes(bytes(len(CONTENT)))
    os.utime(kept, ns=(before, before))
    assert cached(TINY, tmp_path, NONE, lambda _: None) == kept


def test_an_unpacked_package_serves_as_well_as_a_wheel(tmp_path, program, calls):
    source = tmp_path / "source"
    source.write_bytes(CONTENT)
    body = f"(into / 'no_such_package_tiny').mkdir(); shutil.copy({str(source)!r}, into / {TINY.member!r})"
    tools = replace(NONE, uv=program("uv", body))
    assert cached(TINY, tmp_path / "cache", tools, lambda _: None).read_bytes() == CONTENT
    assert calls() == ["uv"]


def test_an_installed_package_is_copied_and_no_installer_is_called(tmp_path, monkeypatch):
    package = tmp_path / "site" / "installed_package_tiny"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise AssertionError('it must not be imported')")
    (package / TINY.file).write_bytes(CONTENT)
    monkeypatch.syspath_prepend(package.parent)
    said = []
    model = replace(TINY, package=package.name)
    assert cached(model, tmp_path / "cache", NONE, said.append).read_bytes() == CONTENT
    assert said == []


def test_a_second_installer_steps_in_for_the_first(tmp_path, program, good, calls):
    tools = replace(good, uv=program("uv", "(into / 'half').write_bytes(b'x'); sys.exit(3)"))
    assert cached(TINY, tmp_path / "cache", tools, lambda _: None).read_bytes() == CONTENT
    assert calls() == ["uv", "pip"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("print('Retrying'); print('ERROR: No matching distribution\\n'); sys.exit(1)", "No matching distribution"),
        ("print('error: first\\n  cause: refused (os error 111)'); sys.exit(2)", "refused (os error 111)"),
        ("sys.exit(4)", "the installer ended with status 4"),
        ("print('\\x1b[31mred'); sys.exit(1)", "?[31mred"),
        ("print('no ' + 'x' * 1000); sys.exit(1)", "no " + "x" * 197),
        (
            "print('at https://me:secret@host/simple and me:secret@host, too'); sys.exit(1)",
            "at [address] and [address] too",
        ),
        ("sys.stdout.buffer.write(b'\\xff bad'); sys.exit(1)", "\ufffd bad"),
        ("pass", "tiny-wheel==1.0 does not hold the expected file"),
        ("(into / 'a.whl').write_bytes(b'no zip')", "tiny-wheel==1.0 does not hold the expected file"),
    ],
)
def test_a_failing_installer_is_quoted_in_one_line_and_leaves_nothing(tmp_path, program, body, why):
    error = refusal(tmp_path / "cache", replace(NONE, pip=program("pip", body)))
    assert error.message == f"the built-in model could not be fetched: {why}"
    assert error.hint == HINT
    assert names(tmp_path / "cache") == []


@pytest.mark.parametrize(
    ("content", "member"), [(CONTENT[:-1] + b"x", TINY.member), (CONTENT * 3, TINY.member), (CONTENT, "other/file")]
)
def test_a_wheel_with_another_file_is_not_kept(tmp_path, program, content, member):
    source = wheel(tmp_path / "tiny_wheel-1.0-py3-none-any.whl", content, member)
    error = refusal(tmp_path / "cache", replace(NONE, pip=program("pip", f"shutil.copy({str(source)!r}, into)")))
    assert error.message.endswith("tiny-wheel==1.0 does not hold the expected file")
    assert names(tmp_path / "cache") == []


def test_without_an_installer_that_is_what_is_said(tmp_path):
    assert refusal(tmp_path, NONE).message == "the built-in model could not be fetched: neither pip nor uv was found"


def test_an_installer_that_cannot_be_run_is_named(tmp_path):
    error = refusal(tmp_path / "cache", replace(NONE, uv=str(tmp_path / "gone" / "uv")))
    assert error.message.endswith("fetched: uv cannot be run: no such file or directory")


def test_a_cache_that_cannot_be_made_is_named_with_the_way_out(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    error = refusal(tmp_path / "file" / "models", NONE)
    assert error.message == f"the cache folder {tmp_path}/file/models cannot be used: not a directory"
    assert "CRUCIBLEFORGE_CACHE" in error.hint


def test_only_what_an_hour_old_crash_left_is_swept(tmp_path, good):
    folder = tmp_path / "cache"
    for name, age_s in ((".fetch-old", 7200), (".fetch-young", 60)):
        (folder / name).mkdir(parents=True)
        os.utime(folder / name, (time.time() - age_s,) * 2)
    cached(TINY, folder, good, lambda _: None)
    assert names(folder) == [".fetch-young", "tiny.gguf", "tiny.gguf.checked"]


def test_pip_of_this_interpreter_is_preferred_and_gets_no_dependencies():
    tools = Tools(python="/py", own_pip=True, uv="/uv", pip="/pip")
    own, uv = commands(tools, "a==1", "/into")
    assert own == (
        *("/py", "-P", "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"),
        *("--progress-bar", "off", "--retries", "2", "--no-deps", "--only-binary", ":all:", "--dest", "/into", "a==1"),
    )
    assert uv == (
        *("/uv", "pip", "install", "--quiet", "--no-progress", "--no-deps", "--only-binary", ":all:"),
        *("--target", "/into", "--python", "/py", "a==1"),
    )
    assert [command[0] for command in commands(replace(tools, own_pip=False), "a==1", "/into")] == ["/uv", "/pip"]


SLOW_FETCH = """
import sys
from pathlib import Path
from crucibleforge.providers._builtin import Model, Tools, cached
model = Model("T", "t==1", "no_such_package_tiny", "tiny.gguf", 5, "0", "1 B")
cached(model, Path(sys.argv[1]), Tools("python", False, "", sys.argv[2]), print)
"""


@pytest.mark.slow
def test_an_interrupt_leaves_nothing_half(tmp_path, program):
    pip = program("pip", "import time; (into / 'half').write_bytes(b'x'); print('ready'); time.sleep(60)")
    command = [sys.executable, "-c", SLOW_FETCH, str(tmp_path / "cache"), pip]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_for(lambda: list((tmp_path / "cache").glob(".fetch-*/wheel/half")))
        process.send_signal(signal.SIGINT)
        _, words = process.communicate(timeout=10)
    assert b"KeyboardInterrupt" in words
    assert names(tmp_path / "cache") == []


@pytest.mark.slow
def test_two_at_once_are_harmless(tmp_path, good):
    script = SLOW_FETCH.replace('5, "0"', f'{TINY.size_bytes}, "{TINY.sha256}"')
    command = [sys.executable, "-c", script, str(tmp_path / "cache"), good.pip]
    racers = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(3)]
    assert [racer.wait(30) for racer in racers] == [0, 0, 0]
    assert names(tmp_path / "cache") == ["tiny.gguf", "tiny.gguf.checked"]


@contextmanager
def environment(name, value):
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@pytest.mark.slow
def test_the_real_model_is_fetched_whole_and_is_what_its_name_says():
    root = os.environ.get("CRUCIBLEFORGE_TEST_CACHE") or str(platformdirs.user_cache_path("crucibleforge"))
    with environment("CRUCIBLEFORGE_CACHE", root):
        found = _builtin.path(say=lambda _: None)
    assert found == Path(root) / "models" / SMOLLM2.file
    with found.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == SMOLLM2.sha256
    known = facts(found)
    assert (known.architecture, known.context_length, known.quant) == ("llama", 8192, "Q4_1")
