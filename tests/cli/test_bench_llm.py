import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import endpoint
import pytest
import strong

PROGRAM = "from crucibleforge.cli.bench_llm import main; main()"
FAST = ("--quick", "--speed-only", "--output", "out")


@pytest.fixture
def server():
    with endpoint.serving(strong.answers("unknown")) as found:
        yield found


def files():
    return sorted(path.name for path in Path("out").iterdir())


@pytest.mark.slow
def test_a_model_at_an_address_is_measured_shown_and_kept(bench, server):
    code, out, err = bench("fake", "--url", server.url, *FAST)
    assert code == 0
    assert out.splitlines()[0].startswith("fake: size not known")
    assert [line.split()[0] for line in out.splitlines() if line.startswith(("short", "medium", "long"))] == [
        "short_50",
        "medium_200",
        "long_800",
    ]
    (name,) = files()
    assert err.splitlines()[-1] == f"wrote out/{name}: every raw timing and reply"
    kept = json.loads((Path("out") / name).read_bytes())
    assert (kept["schema"], kept["is_whole"], kept["subject"]["model"]) == ("bench-llm/1", True, "fake")


@pytest.mark.slow
def test_several_models_end_in_a_table_and_nothing_is_overwritten(bench, server):
    code, out, _ = bench("fake", "other", "--url", server.url, *FAST)
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[-3:]] == ["Model", "fake", "other"]
    assert len(files()) == 2


@pytest.mark.slow
def test_json_is_the_summaries_and_nothing_else(bench, server):
    code, out, _ = bench("fake", "--url", server.url, "--json", *FAST)
    assert code == 0
    (brief,) = json.loads(out)
    assert brief["label"] == "fake"
    assert brief["summary"]["words"].startswith("fake on openai; writes ")


@pytest.mark.slow
def test_a_model_that_fails_does_not_take_the_others_with_it(bench, server):
    good = strong.answers("unknown")

    def answer(request):
        return endpoint.status(400, {"error": {"message": "no such model"}}) if request["model"] == "bad" else good(request)

    with endpoint.serving(answer) as mixed:
        code, out, err = bench("bad", "fake", "--url", mixed.url, *FAST)
    assert code == 1
    assert out.startswith("fake: ")
    assert any(line.startswith("[bad] ") and "no such model" in line for line in err.splitlines())


def test_a_server_that_is_not_there_is_one_line(bench, refusing_url):
    code, out, err = bench("m", "--url", refusing_url, *FAST)
    assert (code, out) == (2, "")
    assert err.splitlines()[-2].startswith(f"error: no server at {refusing_url} ")
    assert err.splitlines()[-1].startswith("hint: ")
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("m", "--provider", "nobody"), "error: no kind of server is called 'nobody'"),
        (("m", "--hardware", "RTX 9999"), "error: "),
        (("m", "--depth", "many"), "error: 'many' of --depth is no number"),
        (("m", "--concurrency", "0"), "error: 0 of --concurrency is not between 1 and 512"),
        (("m", "--slo", "soon"), "error: "),
        (("m", "--url", "ftp://x"), "error: 'ftp://x' is no address"),
        (("none.gguf",), "error: no such file: "),
        (("--nonsense",), "error: No such option"),
    ],
)
def test_bad_input_is_one_line_and_a_hint(bench, words, said):
    code, out, err = bench(*words, "--output", "out")
    first, second = err.splitlines()[-2:]
    assert (code, out) == (2, "")
    assert first.startswith(said)
    assert second.startswith("hint: ")
    assert not Path("out").exists()


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_measured(start, server):
    process = start("fake", "--url", server.url, *FAST, program=PROGRAM, start_new_session=True)
    while "medium_200" not in process.stderr.readline():
        pass
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    (name,) = files()
    kept = json.loads((Path("out") / name).read_bytes())
    assert not kept["is_whole"]
    assert kept["speed"]["cells"][0]["samples"]


@pytest.mark.slow
def test_help_loads_nothing_that_measures():
    program = f"import sys; sys.argv[1:] = ['--help']\ntry:\n    {PROGRAM.replace('; ', chr(10) + '    ')}\nexcept SystemExit:\n    print('LOADED', *sys.modules)"
    done = subprocess.run((sys.executable, "-c", program), capture_output=True, text=True, check=True)
    loaded = set(done.stdout.rpartition("LOADED")[2].split())
    assert "MODEL" in done.stdout
    assert not loaded & {"aiohttp", "msgspec", "numpy", "rich", "asyncio"}
