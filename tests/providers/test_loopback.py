import asyncio
import gzip
import json
import socket

import dialects
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.errors import Trouble
from crucibleforge.providers._loopback import (
    Answer,
    count,
    entries,
    field,
    is_loopback,
    loopback_root,
    name,
    peer,
    shown,
)

ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("\ud83d") | st.just(10**400),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "error", "message"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def got(value, path="/x", limit_s=5.0):
    """What `get` makes of an answer: bytes, JSON or a handler."""

    async def ask():
        async with dialects.serving(dialects.Fixed({"/x": value})) as root, peer(root) as server:
            return await server.get(path, limit_s)

    return dialects.run(ask())


def trouble(value, limit_s=5.0):
    with pytest.raises(Trouble) as caught:
        got(value, limit_s=limit_s)
    return caught.value


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("http://127.0.0.1:1234/v1", "http://127.0.0.1:1234"),
        ("http://127.8.0.1/", "http://127.8.0.1:80"),
        ("http://localhost:8080", "http://localhost:8080"),
        ("http://[::1]:11434/v1", "http://[::1]:11434"),
        ("https://127.0.0.1:1234", None),
        ("http://192.168.1.2:1234", None),
        ("http://localhost.example.org:1234", None),
        ("http://127.0.0.1.example.org:1234", None),
        ("http://127.0.0.1@example.org/", None),
        ("http://0.0.0.0:8000", None),
        ("http://127.0.0.1:99999", None),
        ("http://[::1", None),
        ("127.0.0.1:8000", None),
        ("", None),
    ],
)
def test_only_http_on_loopback_is_an_address(url, root):
    assert loopback_root(url) == root


@given(st.text())
def test_any_text_is_an_address_or_none(text):
    root = loopback_root(text)
    assert root is None or root.startswith("http://")
    assert is_loopback(text) in {True, False}


def test_an_address_elsewhere_is_never_asked():
    async def ask():
        async with peer("http://192.0.2.1:80/v1"):
            pass

    with pytest.raises(Trouble, match="is not an address on this machine"):
        dialects.run(ask())


def test_a_redirect_is_not_followed():
    elsewhere = dialects.Fixed({"/x": {"here": 1}})

    async def ask():
        async with dialects.serving(elsewhere) as there:

            async def away(_request):
                return web.Response(status=302, headers={"Location": f"{there}/x"})

            async with dialects.serving(dialects.Fixed({"/x": away})) as root, peer(root) as server:
                return await server.get("/x", 5.0)

    assert dialects.run(ask()) is None
    assert elsewhere.asked == []


def test_a_huge_answer_is_given_up():
    async def flood(request):
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(1000):
            await response.write(b" " * 65536)
        return response

    assert "the answer is longer than 8,388,608 bytes" in trouble(flood).message


def test_a_packed_answer_is_not_unpacked():
    async def packed(_request):
        body = gzip.compress(json.dumps({"a": 1}).encode())
        return web.Response(body=body, headers={"Content-Encoding": "gzip"})

    assert got(packed) is None


def test_a_server_that_hangs_is_left_after_the_limit():
    async def hang(_request):
        await asyncio.Event().wait()

    assert trouble(hang, limit_s=0.05).kind == "timeout"


def test_a_server_that_drips_is_left_after_the_limit():
    async def drip(request):
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" ")
            await asyncio.sleep(0.01)

    assert trouble(drip, limit_s=0.05).kind == "timeout"


def test_a_port_without_a_server_is_trouble():
    async def ask():
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            async with peer(f"http://127.0.0.1:{held.getsockname()[1]}") as server:
                await server.get("/x", 5.0)

    with pytest.raises(Trouble) as caught:
        dialects.run(ask())
    assert caught.value.kind == "transport"


def test_what_is_not_http_is_trouble():
    async def ask():
        async def talk(_reader, writer):
            writer.write(b"220 mail.example ESMTP\r\n")
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        async with server, peer(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}") as asked:
            await asked.get("/x", 5.0)

    with pytest.raises(Trouble) as caught:
        dialects.run(ask())
    assert caught.value.kind == "transport"


@pytest.mark.parametrize("body", [b"", b"<html>", b"{", b"[" * 100_000, b"\xff\xfe", b"1" * 5000, b'{"error": "no"}'])
def test_what_is_no_plain_json_success_is_nothing(body):
    assert got(body) is None


def test_a_missing_path_is_nothing():
    assert got({"a": 1}, path="/y") is None


def test_a_lone_surrogate_does_not_hide_its_neighbours():
    listing = got(b'{"models": [{"key": "\\ud83d"}, {"key": "fine"}]}')
    assert [name(entry["key"]) for entry in entries(listing, "models")] == [None, "fine"]


@pytest.mark.parametrize(
    ("answer", "refusal"),
    [
        (Answer(200, {"a": 1}), ""),
        (Answer(200, None), ""),
        (Answer(404, None), "HTTP 404"),
        (Answer(500, {"error": 7}), "HTTP 500"),
        (Answer(200, {"error": "Unexpected endpoint"}), "Unexpected endpoint"),
        (Answer(400, {"error": {"message": "no\n\x1b[2Jroom"}}), "no ?[2Jroom"),
    ],
)
def test_a_refusal_is_told_in_the_servers_words(answer, refusal):
    assert answer.refusal == refusal


@given(st.integers(), ODD)
def test_any_answer_has_a_refusal_or_is_a_success(status, value):
    assert Answer(status, value).refusal.isprintable()


@given(ODD)
def test_the_readers_are_total(value):
    assert name(value) is None or name(value).encode()
    assert shown(value).isprintable()
    assert count(value) is None or count(value) > 0
    assert field(value, "a", "b") is None or isinstance(value, dict)
    assert all(isinstance(entry, dict) for entry in entries(value, "a") or [])


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("a b:4b", "a b:4b"),
        ("", None),
        ("a\x1b[2J", None),
        ("a\u202eb", None),
        ("\ud83d", None),
        ("é", "é"),
        ("a" * 513, None),
        (7, None),
    ],
)
def test_a_name_can_be_sent_back_and_printed(value, read):
    assert name(value) == read


@pytest.mark.parametrize(
    ("value", "read"), [(1, 1), (0, None), (True, None), (-1, None), (2**63, None), ("1", None), (1.5, None)]
)
def test_a_count_is_a_whole_number_from_one(value, read):
    assert count(value) == read


def test_a_count_of_nought_is_read_where_it_means_something():
    assert count(0, least=0) == 0
