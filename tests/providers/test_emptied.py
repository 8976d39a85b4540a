import asyncio
from math import inf

import dialects
import pytest

from crucibleforge.providers._emptied import Cleared, emptied
from crucibleforge.providers._local import Found, at

ONE = {"context_length": 4096, "flash_attention": True, "parallel": 4}
ONE_BY_HAND = "lms load one --yes --identifier one --context-length 4096 --parallel 4"
TWO = {"context_length": 8192, "parallel": 4}


def lm_studio(**more):
    return dialects.LMStudio("one", "two", "three", loaded={"one": ("one", ONE), "two": ("two", TWO)}, **more)


def within(server, inside=None, *, keep="three", consent=True, leave_s=5.0, found=None):
    """What was cleared and said, while `inside(cleared)` ran; whatever it raises passes."""
    said = []

    async def ask():
        async with dialects.serving(server) as root:
            who = found or await at(root, limit_s=5.0)
            async with emptied(who, keep=keep, consent=consent, say=said.append, leave_s=leave_s) as cleared:
                if inside is not None:
                    await inside(cleared)
                return cleared

    return dialects.run(ask()), said


def names(residents):
    return [one.instance for one in residents]


def test_without_consent_nothing_is_changed_and_what_was_found_is_told():
    server = lm_studio()
    cleared, said = within(server, keep="two", consent=False)
    assert (names(cleared.as_found), names(cleared.left), cleared.displaced) == (["one", "two"], ["one"], ())
    assert (server.changes, said) == ([], [])


def test_with_consent_the_others_leave_and_come_back_with_their_settings():
    server = lm_studio()
    during = []

    async def inside(_cleared):
        during.extend(server.loaded)

    before = dict(server.loaded)
    cleared, said = within(server, inside, keep="two")
    assert (names(cleared.displaced), cleared.left, during) == (["one"], (), ["two"])
    assert server.changes == [("unload", "one"), ("load", "one")]
    assert server.bodies == [{"model": "one", "context_length": 4096, "flash_attention": True}]
    assert server.loaded == before
    assert said == ["putting one back"]


def test_the_others_come_back_one_after_the_other_and_the_guest_leaves_first():
    server = lm_studio()

    async def inside(_cleared):
        server.loaded["three"] = ("three", {"context_length": 1})

    within(server, inside)
    order = [("unload", "one"), ("unload", "two"), ("unload", "three"), ("load", "one"), ("load", "two")]
    assert server.changes == order
    assert list(server.loaded) == ["one", "two"]


def test_a_guest_leaves_also_where_nobody_was_displaced():
    server = dialects.LMStudio("three")

    async def inside(_cleared):
        server.loaded["three"] = ("three", {})

    within(server, inside)
    assert server.loaded == {}


def test_what_came_meanwhile_and_is_not_ours_stays():
    server = lm_studio()

    async def inside(_cleared):
        server.loaded["new"] = ("three", {})

    within(server, inside, keep="two")
    assert set(server.loaded) == {"one", "two", "new"}


def test_what_somebody_put_back_meanwhile_is_not_loaded_twice():
    server = lm_studio()

    async def inside(_cleared):
        server.loaded["one"] = ("one", ONE)

    _, said = within(server, inside, keep="two")
    assert server.changes == [("unload", "one")]
    assert said == []


def test_an_error_inside_puts_everything_back_and_passes():
    server = lm_studio()

    async def inside(_cleared):
        raise KeyError("of the caller")

    with pytest.raises(KeyError, match="of the caller"):
        within(server, inside)
    assert set(server.loaded) == {"one", "two"}


def test_a_cancelled_measurement_puts_everything_back():
    server = lm_studio()

    async def inside(_cleared):
        asyncio.current_task().cancel()
        await asyncio.Event().wait()

    with pytest.raises(asyncio.CancelledError):
        within(server, inside)
    assert set(server.loaded) == {"one", "two"}


@pytest.mark.parametrize("moment", [("unload", "one"), ("unload", "two"), ("load", "one"), ("load", "two")])
@pytest.mark.parametrize("times", [1, 3])
def test_a_cancellation_at_any_moment_leaves_everything_as_it_was_found(moment, times):
    server = lm_studio()
    before = dict(server.loaded)
    said = []

    async def ask():
        async with dialects.serving(server) as root:
            found = await at(root, limit_s=5.0)

            async def measure():
                async with emptied(found, keep="three", consent=True, say=said.append):
                    pass

            measuring = asyncio.create_task(measure())

            async def before_change(what, model):
                if (what, model) == moment:
                    for _ in range(times):
                        measuring.cancel()
                        await asyncio.sleep(0)

            server.before = before_change
            with pytest.raises(asyncio.CancelledError):
                await measuring

    dialects.run(ask())
    assert server.loaded == before
    if moment == ("unload", "one"):
        assert ("unload", "two") not in server.changes
    assert all(line.startswith("putting ") for line in said)


def test_an_unloading_that_ends_after_the_cancellation_is_waited_for_and_undone():
    server = lm_studio()
    before = dict(server.loaded)

    async def ask():
        async with dialects.serving(server) as root:
            found = await at(root, limit_s=5.0)

            async def measure():
                async with emptied(found, keep="three", consent=True, say=lambda _: None):
                    pass

            measuring = asyncio.create_task(measure())

            async def before_change(what, _model):
                if what == "unload":
                    measuring.cancel()
                    # Who does not wait for the answer is done by then, and finds the model still loaded.
                    await asyncio.wait({measuring}, timeout=0.1)

            server.before = before_change
            await asyncio.wait({measuring})

    dialects.run(ask())
    assert server.loaded == before
    assert server.changes == [("unload", "one"), ("load", "one")]


def test_a_time_limit_around_it_puts_everything_back():
    server = lm_studio()

    async def inside(_cleared):
        async with asyncio.timeout(0):
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        within(server, inside)
    assert set(server.loaded) == {"one", "two"}


def test_when_the_program_is_torn_down_the_commands_by_hand_are_named():
    server = lm_studio()
    said = []

    async def ask():
        async with dialects.serving(server) as root:
            found = await at(root, limit_s=5.0)
            mine = asyncio.all_tasks()

            async def before_change(what, _model):
                if what == "load":
                    # As `asyncio.run` does after a second Ctrl-C: every task, also the shielded one.
                    for task in asyncio.all_tasks() - mine - {asyncio.current_task()}:
                        task.cancel()
                    await asyncio.Event().wait()

            server.before = before_change

            async def measure():
                async with emptied(found, keep="three", consent=True, say=said.append):
                    pass

            with pytest.raises(asyncio.CancelledError):
                await asyncio.create_task(measure())

    dialects.run(ask())
    assert said == [
        "putting one back",
        "one was not put back; `lms load one --yes --identifier one --context-length 4096 --parallel 4` does it",
        "two was not put back; `lms load two --yes --identifier two --context-length 8192 --parallel 4` does it",
    ]


def test_a_model_that_cannot_be_put_back_is_one_line_with_its_command_and_the_next_is_tried():
    server = lm_studio()

    async def inside(_cleared):
        server.keys = ("two", "three")

    _, said = within(server, inside)
    assert said == [
        "putting one back",
        f"one could not be put back: failed to load: out of memory; to have it as it was: `{ONE_BY_HAND}`",
        "putting two back",
    ]
    assert list(server.loaded) == ["two"]


def test_a_model_that_is_back_otherwise_than_it_was_says_so():
    server = lm_studio(forced={"context_length": 2048, "parallel": 1, "flash_attention": False})
    _, said = within(server, keep="two")
    changes = "context_length 2048 instead of 4096, slots 1 instead of 4, flash_attention False instead of True"
    assert said[1:] == [f"one is back with {changes}; to have it as it was: `lms unload one && {ONE_BY_HAND}`"]


def test_an_instance_under_a_name_of_its_own_says_that_the_name_is_lost():
    server = dialects.LMStudio("one", "two", loaded={"mine": ("one", TWO)})
    _, said = within(server, keep="two")
    assert server.changes[0] == ("unload", "mine")
    command = "lms unload one && lms load one --yes --identifier mine --context-length 8192 --parallel 4"
    assert said[1:] == [f"mine is back with name one instead of mine; to have it as it was: `{command}`"]


def test_a_model_that_cannot_be_unloaded_stays_and_is_told():
    server = lm_studio()
    server.refuse = {"unload"}
    cleared, said = within(server, keep="two")
    assert (cleared.displaced, names(cleared.left)) == ((), ["one"])
    assert said == ["one could not be unloaded: no such instance"]
    assert ("load", "one") not in server.changes


def test_an_older_lm_studio_is_left_as_it_is_and_says_why():
    cleared, said = within(dialects.LMStudio("one", loaded={"one": ("one", {})}, v1=False))
    assert names(cleared.left) == ["one"]
    assert said == [
        "one cannot be unloaded: LM Studio before 0.4.0 unloads nothing through its REST interface; `lms unload` does"
    ]


@pytest.mark.parametrize("server", [dialects.LlamaServer(), dialects.VLLM()])
def test_a_server_of_one_model_is_left_as_it_is_and_says_why(server):
    cleared, said = within(server)
    assert (cleared.displaced, len(cleared.left), len(said)) == ((), 1, 1)
    assert "cannot be unloaded:" in said[0]
    assert said[0].endswith("has no interface for it")
    assert server.changes == []


@pytest.mark.parametrize(("server", "keep"), [(dialects.LlamaServer(), "smol"), (dialects.VLLM(), "org/model")])
def test_a_server_that_holds_only_the_model_at_hand_has_nothing_to_say(server, keep):
    cleared, said = within(server, keep=keep)
    assert (len(cleared.as_found), cleared.left, said) == (1, (), [])


def test_ollamas_models_come_back_with_their_window_and_what_was_left_of_their_stay():
    server = dialects.Ollama("a:latest", "b:7b", "c:1b", loaded={"a:latest": 240, "b:7b": -1, "c:1b": 60})
    cleared, said = within(server, keep="c:1b")
    assert names(cleared.displaced) == ["a:latest", "b:7b"]
    assert [one.expires_s == inf for one in cleared.displaced] == [False, True]
    assert 230 <= server.loaded.pop("a:latest") <= 240
    assert server.loaded == {"b:7b": -1, "c:1b": 60}
    assert server.bodies[:2] == [
        ("/api/generate", {"model": name, "keep_alive": 0, "stream": False}) for name in ("a:latest", "b:7b")
    ]
    assert server.bodies[3] == (
        "/api/generate",
        {"model": "b:7b", "stream": False, "keep_alive": -1, "options": {"num_ctx": 8192}},
    )
    assert said == ["putting a:latest back", "putting b:7b back"]


def test_ollamas_embedding_models_come_back_by_their_own_path():
    server = dialects.Ollama("e:latest", loaded={"e:latest": 240}, embedders=("e:latest",))
    _, said = within(server)
    assert [path for path, _ in server.bodies] == ["/api/generate", "/api/generate", "/api/embed"]
    assert (list(server.loaded), said) == (["e:latest"], ["putting e:latest back"])


def test_a_model_that_lingers_is_told_and_made_to_stay_afterwards():
    server = dialects.Ollama("a:latest", loaded={"a:latest": 240}, lingers=True)
    cleared, said = within(server, leave_s=0.0)
    assert (cleared.displaced, names(cleared.left)) == ((), ["a:latest"])
    assert said == ["a:latest is still in memory 0 s after it was unloaded", "putting a:latest back"]
    assert server.bodies[-1][1]["keep_alive"] >= 230


def test_a_router_unloads_and_loads_its_models():
    server = dialects.Router("a", "b", loaded=("a",))
    cleared, said = within(server, keep="b")
    assert names(cleared.displaced) == ["a"]
    assert server.changes == [("unload", "a"), ("load", "a")]
    assert (server.status["a"], said) == ("loaded", ["putting a back"])


@pytest.mark.parametrize("table", [{}, {"*": b"<html>"}, {"*": {"models": 7}}, {"*": {"error": "no"}}], ids=str)
@pytest.mark.parametrize("kind", ["lmstudio", "ollama"])
def test_a_server_that_answers_nonsense_is_left_alone_and_told(kind, table):
    said = []

    async def ask():
        async with (
            dialects.serving(dialects.Fixed(table)) as root,
            emptied(Found(kind, f"{root}/v1"), keep="x", consent=True, say=said.append) as cleared,
        ):
            return cleared, root

    cleared, root = dialects.run(ask())
    assert cleared == Cleared(None)
    assert said == [f"what {root}/v1 holds in memory is not known: {root} does not say which models are loaded"]


def test_a_server_elsewhere_is_left_alone_and_told():
    cleared, said = within(dialects.VLLM(), found=Found("ollama", "http://192.0.2.1:11434/v1"))
    assert cleared == Cleared(None)
    assert said == [
        "what http://192.0.2.1:11434/v1 holds in memory is not known: http://192.0.2.1:11434/v1 is not an address on this machine"
    ]


def test_a_server_that_goes_away_meanwhile_is_told_with_the_command_for_each():
    server = lm_studio()
    said = []

    async def ask():
        async with dialects.serving(server) as root:
            found = await at(root, limit_s=5.0)
            context = emptied(found, keep="two", consent=True, say=said.append)
            await context.__aenter__()
        await context.__aexit__(None, None, None)

    dialects.run(ask())
    assert said[0] == "putting one back"
    assert said[1].startswith("one could not be put back: http://127.0.0.1:")
    assert said[1].endswith(f"; to have it as it was: `{ONE_BY_HAND}`")
    assert len(said) == 2
