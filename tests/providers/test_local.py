import asyncio
import socket
from contextlib import AsyncExitStack
from pathlib import Path

import dialects
import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

from crucibleforge.gguf import facts
from crucibleforge.providers import llamacpp
from crucibleforge.providers._local import PLACES, Found, Looked, Offered, Place, at, look, ollama_place
from crucibleforge.providers._loopback import name
from crucibleforge.types import Target

MB = dialects.MB


def found(server, usual="openai", limit_s=5.0):
    """Who is found at a server; the port is taken out of the address."""

    async def ask():
        async with dialects.serving(server) as root:
            who = await at(root, usual, limit_s=limit_s)
            if who is not None:
                assert who.base_url == f"{root}/v1"
            return who

    return dialects.run(ask())


KINDS = {
    "lmstudio": lambda: dialects.LMStudio("a"),
    "ollama": lambda: dialects.Ollama("a:latest"),
    "llama-server": dialects.LlamaServer,
    "vllm": dialects.VLLM,
    "openai": lambda: dialects.Fixed({"/v1/models": {"data": [{"id": "a"}]}}),
}


@pytest.mark.parametrize("usual", KINDS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_server_is_told_by_its_answers_whatever_usually_answers_at_its_port(kind, usual):
    assert found(KINDS[kind](), usual).kind == kind


@pytest.mark.parametrize("kind", ["lmstudio", "ollama", "llama-server", "vllm"])
def test_the_usual_server_of_a_port_is_asked_for_nothing_that_it_does_not_know(kind):
    server = KINDS[kind]()
    found(server, kind)
    known = {
        "lmstudio": {"/api/v1/models"},
        "ollama": {"/api/version", "/api/tags", "/api/ps"},
        "llama-server": {"/props", "/v1/models"},
        "vllm": {"/v1/models", "/version"},
    }
    assert set(server.asked) == known[kind]
    assert server.changes == []


def test_lm_studio_tells_files_quant_and_what_is_loaded():
    server = dialects.LMStudio("big", "small", loaded={"big": ("big", {"context_length": 16384, "parallel": 2})})
    big = Offered("big", 241 * MB, "Q4_0", "26B-A4B", 16384, is_resident=True, slots=2)
    small = Offered("small", 241 * MB, "Q4_0", "26B-A4B", 32768, is_resident=False)
    assert found(server, "lmstudio").models == (big, small)


def test_an_older_lm_studio_is_known_by_the_states_of_its_models():
    server = dialects.LMStudio("big", "small", loaded={"big": ("big", {})}, v1=False)
    who = found(server, "lmstudio")
    assert (who.kind, [model.is_resident for model in who.models]) == ("lmstudio", [True, False])
    assert who.models[0].quant == "Q4_K_M"


def test_an_lm_studio_without_a_model_is_one():
    assert found(dialects.LMStudio(), "lmstudio").models == ()


def test_ollama_tells_what_is_in_memory_and_how_much_of_it_on_the_gpu():
    server = dialects.Ollama("a:latest", "b:7b", loaded={"b:7b": 300})
    who = found(server, "ollama")
    here = Offered("b:7b", 3000 * MB, "Q4_K_M", "4.3B", 8192, is_resident=True, size_vram=0)
    assert who.models == (Offered("a:latest", 3000 * MB, "Q4_K_M", "4.3B", is_resident=False), here)
    assert who.version == "0.40.12"


def test_a_model_that_ollama_only_passes_on_says_so():
    server = dialects.Ollama("a:latest", "big:cloud")
    server.cloud = ("big:cloud",)
    assert [model.is_remote for model in found(server, "ollama").models] == [False, True]


def test_llama_server_tells_its_model_window_and_slots():
    model = Offered("smol", 96576768, "Q4_1", "134,515,008", 1024, is_resident=True, slots=2)
    who = found(dialects.LlamaServer(), "llama-server")
    assert (who.version, who.models) == ("b11549-abc", (model,))


def test_a_llama_server_that_sleeps_holds_nothing():
    assert found(dialects.LlamaServer(sleeping=True)).models[0].is_resident is False


def test_a_llama_server_with_a_key_is_known_by_its_list_of_models():
    who = found(dialects.LlamaServer(key=True))
    assert (who.kind, who.models[0].slots) == ("llama-server", None)


def test_a_router_tells_which_of_its_models_are_loaded():
    who = found(dialects.Router("a", "b", loaded=("b",)))
    assert (who.kind, [model.is_resident for model in who.models]) == ("llama-server", [False, True])


def test_vllm_tells_its_window():
    who = found(dialects.VLLM(), "vllm")
    assert (who.version, who.models) == ("0.28.0", (Offered("org/model", context_length=32768, is_resident=True),))


@pytest.mark.parametrize(
    "table",
    [
        {},
        {"*": b"<html>It works!</html>"},
        {"*": {"error": "Unexpected endpoint"}},
        {"*": []},
        {"*": {"models": 7, "data": {"id": "a"}}},
        {"/v1/models": {"data": []}},
        {"/v1/models": {"data": [{"id": 7}, "a", None]}},
        {"/api/version": {"version": "1.2.3"}},
        {"/version": {"version": "1.2.3"}},
        {"/props": {"default_generation_settings": 7}},
    ],
    ids=str,
)
@pytest.mark.parametrize("usual", ["lmstudio", "ollama", "llama-server", "vllm"])
def test_what_is_no_model_server_is_not_found(table, usual):
    assert found(dialects.Fixed(table), usual) is None


_TEXT = st.sampled_from(["a", "", "\x1b[2J", "\ud83d", "loaded", "vllm", "llamacpp", "9" * 400]) | st.text(max_size=3)
_KEYS = st.sampled_from(
    [
        "models",
        "data",
        "key",
        "id",
        "name",
        "size",
        "details",
        "loaded_instances",
        "config",
        "context_length",
        "state",
        "version",
        "status",
        "value",
        "meta",
        "owned_by",
    ]
)
_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=5),
    max_leaves=12,
)
_PATHS = [
    "/api/v1/models",
    "/api/v0/models",
    "/api/version",
    "/api/tags",
    "/api/ps",
    "/props",
    "/v1/models",
    "/version",
]


@pytest.mark.slow
@settings(max_examples=150)
@given(st.dictionaries(st.sampled_from(_PATHS), _ANY, max_size=8), st.sampled_from(list(KINDS)))
def test_any_answers_whatever_are_a_server_or_none(table, usual):
    who = found(dialects.Fixed(table), usual)
    for model in who.models if who else ():
        assert name(model.id) == model.id
        assert model.id.encode()
        assert all(text is None or text.isprintable() for text in (model.quant, model.params))


def test_odd_names_are_left_out_and_the_others_offered():
    listing = b'{"models": [{"key": "\\ud83d"}, {"key": "a\\u001b[2Jb"}, {"key": "fine"}, {"key": "fine"}]}'
    who = found(dialects.Fixed({"/api/v1/models": listing}), "lmstudio")
    assert [model.id for model in who.models] == ["fine"]


def test_a_redirect_to_elsewhere_is_not_followed():
    other = dialects.VLLM()

    async def ask():
        async with dialects.serving(other) as there:

            async def away(request):
                return web.Response(status=307, headers={"Location": there + request.path})

            async with dialects.serving(dialects.Fixed({"*": away})) as root:
                return await at(root, "vllm", limit_s=5.0)

    assert dialects.run(ask()) is None
    assert other.asked == []


def test_a_server_that_floods_one_path_may_still_be_another_one():
    table = {"/props": b" " * 9_000_000, "/v1/models": {"data": [{"id": "m", "owned_by": "vllm"}]}}
    assert found(dialects.Fixed(table), "llama-server").kind == "vllm"


@pytest.mark.slow
def test_all_places_are_asked_at_once_and_a_hanging_one_costs_only_the_limit():
    meeting = asyncio.Barrier(3)

    async def ask():
        async def hang(_request):
            await meeting.wait()
            await asyncio.Event().wait()

        async def late(_request):
            await meeting.wait()  # never comes to pass unless all three are asked at once
            return web.json_response({"data": [{"id": "m", "owned_by": "vllm"}]})

        tables = [{"*": hang}, {"/v1/models": late}, {"/v1/models": late, "*": {}}]
        async with AsyncExitStack() as stack:
            roots = [await stack.enter_async_context(dialects.serving(dialects.Fixed(table))) for table in tables]
            return roots, await look([Place(root, "vllm") for root in roots], limit_s=0.5)

    roots, looked = dialects.run(ask())
    assert [who.base_url for who in looked.found] == [f"{roots[1]}/v1", f"{roots[2]}/v1"]


def test_a_place_named_twice_is_asked_once():
    server = dialects.LMStudio("a")

    async def ask():
        async with dialects.serving(server) as root:
            return await look([Place(root, "lmstudio"), Place(root, "ollama")], limit_s=5.0)

    assert len(dialects.run(ask()).found) == 1
    assert server.asked == ["/api/v1/models"]


def test_places_without_a_server_are_no_trouble():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        place = Place(f"http://127.0.0.1:{held.getsockname()[1]}", "vllm")
        assert dialects.run(look([place])) == Looked(())


def test_an_address_elsewhere_is_nobody():
    assert dialects.run(at("http://192.0.2.1:1234/v1", "lmstudio")) is None


def test_the_usual_places_are_on_loopback():
    assert [(place.root, place.kind) for place in PLACES] == [
        ("http://127.0.0.1:1234", "lmstudio"),
        ("http://127.0.0.1:11434", "ollama"),
        ("http://127.0.0.1:8080", "llama-server"),
        ("http://127.0.0.1:8000", "vllm"),
    ]


@pytest.mark.parametrize(
    ("value", "root"),
    [
        ("", None),
        ("127.0.0.1", "http://127.0.0.1:11434"),
        ("127.0.0.1:5000", "http://127.0.0.1:5000"),
        (":5000", "http://127.0.0.1:5000"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:5000", "http://127.0.0.1:5000"),
        ("http://localhost:5000/", "http://localhost:5000"),
        ("http://127.0.0.1", "http://127.0.0.1:80"),
        ("[::1]:5000", "http://[::1]:5000"),
        ("::1", "http://[::1]:11434"),
        (' "127.0.0.1:5000" ', "http://127.0.0.1:5000"),
    ],
)
def test_ollama_host_is_read_as_ollama_reads_it(value, root):
    assert ollama_place(value) == (((Place(root, "ollama"),) if root else ()), ())


@pytest.mark.parametrize(
    "value", ["192.168.1.2", "https://127.0.0.1", "gpu.lan:11434", "[::1", "ollama.com", "http://x\x1b[2J"]
)
def test_an_ollama_host_elsewhere_is_shown_and_not_asked(value):
    places, (notice,) = ollama_place(value)
    assert places == ()
    assert (
        notice
        == f"OLLAMA_HOST={value.replace(chr(27), '?')} is not plain http on this machine: not looked at; `--url` asks it"
    )


@given(st.text())
def test_any_ollama_host_is_a_place_or_a_notice(value):
    places, notices = ollama_place(value)
    assert all(place.root.startswith("http://") for place in places)
    assert all(notice.isprintable() for notice in notices)


def test_ollama_host_is_looked_at_besides_the_usual_places(monkeypatch):
    async def ask():
        async with dialects.serving(dialects.Ollama("a:latest")) as root:
            monkeypatch.setenv("OLLAMA_HOST", root)
            return root, await look(limit_s=5.0)

    root, looked = dialects.run(ask())
    # This machine may run servers of its own; the last place is the one of the environment.
    assert looked.found[-1] == Found(
        "ollama", f"{root}/v1", "0.40.12", (Offered("a:latest", 3000 * MB, "Q4_K_M", "4.3B", is_resident=False),)
    )


@pytest.mark.slow
def test_a_real_llama_server_is_found_with_its_model_size_and_slots(builtin_gguf: Path):
    target = Target(
        label="t",
        provider="p",
        kind="llamacpp",
        model_id="smol",
        path=str(builtin_gguf),
        context_length=1024,
        concurrency=2,
    )

    async def ask():
        provider = llamacpp.PROVIDER
        async with llamacpp._child(provider.program, llamacpp._settings(target, facts(builtin_gguf))) as child:
            root, _ = await llamacpp._started(child, builtin_gguf)
            return root, await look([Place(root, "vllm")])

    root, looked = dialects.run(ask(), 60.0)
    model = Offered("smol", 96_576_768, "Q4_1", "134,515,008", 1024, is_resident=True, slots=2)
    (who,) = looked.found
    assert (who.kind, who.base_url, who.models) == ("llama-server", f"{root}/v1", (model,))
    assert who.version
