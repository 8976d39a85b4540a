import signal
import subprocess
import sys
import threading
from importlib.metadata import entry_points, version

import endpoint
import pytest

HEAVY = {"anyio", "aiohttp", "msgspec", "numpy", "rich", "jinja2", "starlette", "yaml", "psutil"}
HELP = """\
Usage: crucibleforge [OPTIONS] COMMAND [ARGS]...

  Benchmark the language models you run or rent.

  `crucibleforge all` measures the built-in model with no server, key or
  configuration; `--models` names others: labels of models.yaml or a path to a
  .gguf file.

Options:
  --version   Show the version and exit.
  -h, --help  Show this message and exit.

Commands:
  all      Run, grade and report in one go.
  run      Ask models and mark their replies; a run that was stopped goes on.
  grade    Mark stored replies again, or one program by hand.
  recover  Ask again for answers that were lost to reasoning.
  report   Build the board from all runs.
  status   Show suite, sandbox, providers and models.
  cases    List, show, verify, solve and lock the questions.
  models   Discover what a server offers; add a model.
  config   Show which configuration is used, or write a starter.
"""
VERBS = ("all", "run", "grade", "recover", "report", "status", "cases", "models", "config")


def test_help_goes_to_stdout(crucible):
    assert crucible("--help") == crucible("-h")
    ended = crucible("--help")
    assert (ended.code, ended.out, ended.err) == (0, HELP, "")


def test_without_a_command_help_goes_to_stderr(crucible):
    ended = crucible()
    assert (ended.code, ended.out, ended.err) == (2, "", HELP)


@pytest.mark.parametrize("group", ["cases", "models"])
def test_a_group_without_its_verb_shows_its_help(crucible, group):
    ended = crucible(group)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"Usage: crucibleforge {group} [OPTIONS] COMMAND [ARGS]...\n")


@pytest.mark.slow
def test_help_loads_nothing_heavy():
    program = (
        "import sys\nfrom crucibleforge.cli.main import status\nstatus(['--help'])\n"
        "print('\\n'.join({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines())
    assert "crucibleforge" in loaded
    assert loaded & HEAVY == set()


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(crucible, verb):
    ended = crucible(verb, "--help")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"Usage: crucibleforge {verb} ")


def test_the_version_is_that_of_the_package(crucible):
    assert crucible("--version").out == f"crucibleforge, version {version('crucibleforge')}\n"


def test_the_installed_command_is_this_one():
    from crucibleforge.cli.main import main  # noqa: PLC0415

    (point,) = entry_points(group="console_scripts", name="crucibleforge")
    assert point.load() is main


@pytest.mark.parametrize(
    ("words", "err"),
    [
        (["rnu"], "error: unknown command 'rnu'\nhint: did you mean `run`? `crucibleforge --help`\n"),
        (
            ["run", "--bogus"],
            "error: No such option '--bogus'. Did you mean '--verbose'?\nhint: `crucibleforge run --help`\n",
        ),
        (
            ["run", "--repeats", "0"],
            "error: Invalid value for '--repeats': 0 is not in the range 1<=x<=100\nhint: `crucibleforge run --help`\n",
        ),
        (["run", "stray"], "error: Got unexpected extra argument (stray)\nhint: `crucibleforge run --help`\n"),
        (["run", "--models"], "error: Option '--models' requires an argument\nhint: `crucibleforge --help`\n"),
        (["models", "add", "a"], "error: Missing argument 'PROVIDER'\nhint: `crucibleforge models add --help`\n"),
        (["cases", "show"], "error: Missing argument 'ID'\nhint: `crucibleforge cases show --help`\n"),
    ],
)
def test_a_mistyped_command_is_one_line_and_a_hint(crucible, words, err):
    ended = crucible(*words)
    assert (ended.code, ended.out, ended.err) == (2, "", err)


def test_nothing_in_an_error_steers_the_terminal(crucible):
    ended = crucible("run", "--models", "a\x1b[31m\nb\x9b1m\u202e")
    assert ended.code == 2
    assert (
        ended.err
        == "error: unknown model 'a [31m b 1m '\nhint: labels stand in models.yaml; a .gguf file is named by its path\n"
    )


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_error(start):
    process = start("cases", "list", env={"PYTHONUNBUFFERED": "1"})
    process.stdout.close()
    assert process.wait(20) == 1
    assert process.stderr.read() == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code", "err"), [(signal.SIGINT, 130, "\nerror: stopped\n"), (signal.SIGTERM, -signal.SIGTERM, "")]
)
def test_a_signal_outside_of_a_run_ends_the_command_without_a_traceback(start, configure, number, code, err):
    asked = threading.Event()

    def silence():
        asked.set()
        yield endpoint.Wait, 60.0

    with endpoint.serving(lambda _: (), silence) as server:
        configure(server.url)
        process = start("models", "discover")
        assert asked.wait(20)
        process.send_signal(number)
        assert (process.wait(5), process.stdout.read(), process.stderr.read()) == (code, "", err)
