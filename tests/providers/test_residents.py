from math import inf

import dialects
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.errors import Trouble
from crucibleforge.providers._local import Found, Offered, at
from crucibleforge.providers._residents import Loaded, Resident, _left_s, _stay, holder, load, residents

MB = dialects.MB
BIG = {"context_length": 16384, "flash_attention": True, "num_experts": 0, "parallel": 2, "surprise": "x"}


def asked(server, work):
    """What `work(found)` gives for a running server."""

    async def ask():
        async with dialects.serving(server) as root:
            return await work(await at(root, limit_s=5.0))

    return dialects.run(ask())


def by_hand(server, resident):
    async def work(found):
        async with holder(found) as held:
            return held.by_hand(resident)

    return asked(server, work)


def test_lm_studio_names_each_loaded_instance_with_the_settings_that_it_would_take_again():
    server = dialects.LMStudio("big", "small", loaded={"big": ("big", BIG), "big:2": ("big", {"context_length": 99})})
    again = (("context_length", 16384), ("flash_attention", True))
    assert asked(server, residents) == (
        Resident("big", "big", 241 * MB, context_length=16384, slots=2, settings=again),
        Resident("big", "big:2", 241 * MB, context_length=99, settings=(("context_length", 99),)),
    )


def test_an_older_lm_studio_names_its_models_and_says_that_it_unloads_none():
    async def work(found):
        async with holder(found) as held:
            return await held.residents(), held.fixed

    now, fixed = asked(dialects.LMStudio("big", "small", loaded={"big": ("big", {})}, v1=False), work)
    assert now == (Resident("big", "big"),)
    assert fixed == "LM Studio before 0.4.0 unloads nothing through its REST interface; `lms unload` does"


def test_ollama_names_its_models_and_how_long_they_stay():
    server = dialects.Ollama("a:latest", "b:7b", "c:1b", loaded={"a:latest": 240, "b:7b": -1})
    first, second = asked(server, residents)
    assert (first.id, first.size_bytes, first.size_vram, first.context_length) == ("a:latest", 6000 * MB, 0, 8192)
    assert 230 < first.expires_s <= 240
    assert (second.id, second.expires_s) == ("b:7b", inf)


def test_a_router_names_the_models_that_are_loaded():
    assert asked(dialects.Router("a", "b", loaded=("b",)), residents) == (Resident("b", "b"),)


def test_a_server_of_one_model_names_it():
    assert [one.id for one in asked(dialects.LlamaServer(), residents)] == ["smol"]
    assert asked(dialects.LlamaServer(sleeping=True), residents) == ()
    assert [one.id for one in asked(dialects.VLLM(), residents)] == ["org/model"]


@pytest.mark.parametrize("kind", ["lmstudio", "ollama", "llama-server", "openai"])
def test_a_server_that_does_not_say_is_trouble(kind):
    async def work(found):
        return await residents(Found(kind, found.base_url, models=(Offered("x"),)))

    table = {"/v1/models": {"data": [{"id": "x"}]}, "/props": {"role": "router"}}
    with pytest.raises(Trouble, match="does not say which models are loaded"):
        asked(dialects.Fixed(table), work)


def test_a_server_elsewhere_is_trouble():
    with pytest.raises(Trouble, match="not an address on this machine"):
        dialects.run(residents(Found("ollama", "http://192.0.2.1:11434/v1")))


@pytest.mark.parametrize(
    ("resident", "name", "is_it"),
    [
        (Resident("a:latest", "a:latest"), "a", True),
        (Resident("a:latest", "a:latest"), "a:latest", True),
        (Resident("a:7b", "a:7b"), "a", False),
        (Resident("key", "mine"), "mine", True),
        (Resident("key", "mine"), "key", True),
        (Resident("key:latest", "mine"), "key:latest", True),
        (Resident("key", "mine"), "", False),
    ],
)
def test_a_resident_is_known_by_each_of_its_names(resident, name, is_it):
    assert resident.is_called(name) is is_it


def test_load_time_is_what_lm_studio_states():
    server = dialects.LMStudio("big")
    assert asked(server, lambda found: load(found, "big")) == Loaded(was_resident=False, load_s=9.099)
    assert server.bodies == [{"model": "big"}]


def test_load_time_is_what_ollama_states_and_one_token_makes_it_state_it():
    server = dialects.Ollama("a:latest")
    loaded = asked(server, lambda found: load(found, "a"))
    assert (loaded.was_resident, loaded.load_s) == (False, pytest.approx(6.338219291))
    assert server.bodies == [
        ("/api/generate", {"model": "a", "prompt": "Hi", "stream": False, "options": {"num_predict": 1}})
    ]


@pytest.mark.parametrize(
    ("server", "model"),
    [
        (dialects.LMStudio("big", loaded={"mine": ("big", {})}), "big"),
        (dialects.Ollama("a:latest", loaded={"a:latest": 60}), "a"),
        (dialects.Router("a", loaded=("a",)), "a"),
        (dialects.LlamaServer(), "smol"),
        (dialects.VLLM(), "org/model"),
    ],
)
def test_what_is_resident_is_not_loaded_again_and_has_no_load_time(server, model):
    assert asked(server, lambda found: load(found, model)) == Loaded(was_resident=True)
    assert server.changes == []


def test_a_router_is_waited_for_until_the_model_is_there():
    server = dialects.Router("a", "b", loaded=("b",))
    assert asked(server, lambda found: load(found, "a")) == Loaded(was_resident=False)
    assert server.status == {"a": "loaded", "b": "loaded"}


@pytest.mark.parametrize("server", [dialects.LMStudio("big"), dialects.Ollama("a:latest"), dialects.VLLM()])
def test_a_model_that_cannot_be_loaded_is_trouble_in_the_servers_words(server):
    with pytest.raises(Trouble) as caught:
        asked(server, lambda found: load(found, "none"))
    assert caught.value.kind == "rejected"
    assert any(word in caught.value.message for word in ("out of memory", "not found", "cannot be loaded"))


@pytest.mark.parametrize(
    ("server", "resident", "command"),
    [
        (
            dialects.LMStudio("k"),
            Resident("a b", "mine", context_length=4096, slots=4),
            "lms load 'a b' --yes --identifier mine --context-length 4096 --parallel 4",
        ),
        (dialects.LMStudio("k"), Resident("k", "k"), "lms load k --yes --identifier k"),
        (dialects.Ollama("k:1b"), Resident("k:1b", "k:1b", expires_s=239.6), "ollama run k:1b --keepalive=240s ''"),
        (dialects.Ollama("k:1b"), Resident("k:1b", "k:1b", expires_s=inf), "ollama run k:1b --keepalive=-1s ''"),
        (dialects.Ollama("k:1b"), Resident("k; rm -rf ~", "k"), "ollama run 'k; rm -rf ~' ''"),
        (dialects.VLLM(), Resident("k", "k"), "start a server with k"),
    ],
)
def test_the_command_by_hand_is_one_that_a_shell_takes(server, resident, command):
    assert by_hand(server, resident) == command


@pytest.mark.parametrize(
    ("server", "command"),
    [
        (dialects.LMStudio("k"), "lms unload k:2 && lms load k --yes --identifier k"),
        (dialects.Ollama("k:1b"), "ollama stop k:2 && ollama run k ''"),
    ],
)
def test_the_command_by_hand_makes_room_for_what_it_loads(server, command):
    async def work(found):
        async with holder(found) as held:
            return held.by_hand(Resident("k", "k"), "k:2")

    assert asked(server, work) == command


def test_the_command_for_a_router_names_its_address():
    command = by_hand(dialects.Router("a'b"), Resident("a'b", "a'b"))
    assert command.startswith("curl http://127.0.0.1:")
    assert command.endswith("""/models/load -d '{"model": "a'"'"'b"}'""")


@pytest.mark.parametrize(
    "value", [None, 7, "", "soon", "0001-01-01T00:00:00Z", "2024-06-04T14:38:31", "99999-01-01T00:00:00Z"]
)
def test_a_date_that_tells_nothing_is_unknown(value):
    assert _left_s(value) is None


@given(st.text() | st.datetimes().map(lambda at: f"{at.isoformat()}Z"))
def test_any_date_is_a_time_to_come_or_unknown(value):
    left_s = _left_s(value)
    assert left_s is None or left_s > 0


@pytest.mark.parametrize(("left_s", "stay"), [(0.2, 1), (299.6, 300), (inf, -1)])
def test_what_is_left_of_a_stay_is_whole_seconds_and_never_nought(left_s, stay):
    assert _stay(left_s) == stay
