"""Two keys go to a server that hands them back in every place and guise it can; no file and no screen may show them."""

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from urllib.parse import quote

import endpoint
import pytest
from endpoint import Send

PROGRAM = "from crucibleforge.cli.main import main; main()"
BEARER = 'sk-canary/7+Jg0a"Pz=Q9~w'
OTHER = "canary-of-the-other-header-0123456789"
CASES = "math/*/L1.*,reasoning/*/L1.*,tooluse/*/L1.*,instruct/*/L1.*"
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"


def guises(key: str) -> list[str]:
    """A key as it is and encoded, also as a part of something longer."""
    raw = key.encode()
    whole = [base64.b64encode(b"key"[:before] + raw + b"x").decode() for before in range(3)]
    safe = [text.replace("+", "-").replace("/", "_") for text in whole]
    escaped = json.dumps(key)[1:-1]
    others = [quote(key, safe=""), quote(key), raw.hex(), raw.hex().upper(), escaped, escaped.replace("/", "\\/")]
    return [key, base64.b64encode(raw).decode(), *whole, *safe, *others]


def traces(key: str) -> list[str]:
    """What to look for: of Base64 the part that no neighbour can change."""
    return [guise[4:-4] if 1 <= number <= 7 else guise for number, guise in enumerate(guises(key))]


def found(text: str) -> list[str]:
    return [trace for key in (BEARER, OTHER) for trace in traces(key) if trace in text]


class Parrot:
    """Says the keys back. What it says in a reply differs from request to request."""

    def __init__(self) -> None:
        self.server: endpoint.Endpoint | None = None
        self._numbers = count()
        self._kinds = (
            self._as_text, self._as_events, self._as_error, self._as_parameter, self._as_call, self._as_malformed,
            self._as_chunk_size, self._as_status_line, self._as_content_type, self._as_half_message, self._as_encoding,
            self._as_event_error, self._as_not_json, self._as_redirect,
        )  # fmt: skip

    @property
    def kinds(self) -> int:
        """In how many ways it says them."""
        return len(self._kinds)

    def heard(self) -> str:
        """Both keys out of the last request's own headers, in all their guises."""
        head = self.server.headers[-1]
        bearer = re.search(r"Authorization: Bearer ([^\r]+)", head)[1]
        other = re.search(r"X-Other: ([^\r]+)", head)[1]
        return " ".join((*guises(bearer), *guises(other), head.replace("\r\n", " ")))

    def models(self) -> Iterator[endpoint.Step]:
        return endpoint.listing("fake", f"gpt {self.heard()}", owned_by=self.heard())

    def answer(self, _request: dict) -> Iterator[endpoint.Step]:
        return self._kinds[next(self._numbers) % len(self._kinds)](self.heard())

    def _as_text(self, words: str) -> Iterator[endpoint.Step]:
        return endpoint.text(words, model=words)

    def _as_events(self, words: str) -> Iterator[endpoint.Step]:
        deltas = [{"reasoning_content": letter} for letter in words] + [{"content": letter} for letter in words]
        return endpoint.stream(endpoint.chat(deltas, words, 40, words))

    def _as_error(self, words: str) -> Iterator[endpoint.Step]:
        return endpoint.status(422, {"error": {"message": words, "type": words, "code": words, "param": words}})

    def _as_parameter(self, words: str) -> Iterator[endpoint.Step]:
        return endpoint.status(400, {"error": {"message": f"unknown parameter: seed {words}", "param": "seed"}})

    def _as_call(self, words: str) -> Iterator[endpoint.Step]:
        return endpoint.calls([(words, words), ("look", json.dumps({words: words}))], words)

    def _as_malformed(self, words: str) -> Iterator[endpoint.Step]:
        return endpoint.status(500, {"error": {"message": f"Failed to parse input at pos 9: {words}"}})

    def _as_chunk_size(self, words: str) -> Iterator[endpoint.Step]:
        yield Send, _HEAD + b"\r\n" + words.encode() + b"\r\n"

    def _as_status_line(self, words: str) -> Iterator[endpoint.Step]:
        yield Send, f"HTTP/{words} 200 OK\r\n\r\n".encode()

    def _as_content_type(self, words: str) -> Iterator[endpoint.Step]:
        return endpoint.status(200, b"", Content_Type=f"x/{quote(words, safe='')}")

    def _as_half_message(self, words: str) -> Iterator[endpoint.Step]:
        return endpoint.status(422, {"error": {"message": "x" * 285 + BEARER + words}})

    def _as_encoding(self, words: str) -> Iterator[endpoint.Step]:
        yield Send, _HEAD + f"Content-Encoding: gzip\r\nX-Words: {words}\r\n\r\n5\r\nno zi\r\n".encode()

    def _as_event_error(self, words: str) -> Iterator[endpoint.Step]:
        return endpoint.stream([{"error": words}], done=False)

    def _as_not_json(self, words: str) -> Iterator[endpoint.Step]:
        return endpoint.stream([b"data: " + words.encode() + b"\n\n"])

    def _as_redirect(self, words: str) -> Iterator[endpoint.Step]:
        return endpoint.status(307, b"", Location=f"http://127.0.0.1:9/{quote(words)}")


@pytest.fixture
def parrot() -> Iterator[Parrot]:
    parrot = Parrot()
    with endpoint.serving(parrot.answer, parrot.models) as server:
        parrot.server = server
        yield parrot


@pytest.fixture
def crucible() -> Callable[..., str]:
    """Run a command with both keys in its environment, as talkative as it gets; all that it printed."""

    def run(*words: str, bearer: str = BEARER) -> str:
        keys = {"THE_KEY": bearer, "OTHER_KEY": OTHER, "PYTHONASYNCIODEBUG": "1"}
        command = [sys.executable, "-X", "dev", "-W", "ignore", "-c", PROGRAM, *words]
        done = subprocess.run(command, env=os.environ | keys, capture_output=True, text=True, check=False, timeout=60)
        return done.stdout + done.stderr

    return run


def configured(url: str, *labels: str) -> None:
    models = "".join(f"  - {{name: {label}, provider: p, model_id: fake, thinking: false}}\n" for label in labels)
    Path("models.yaml").write_text(
        f"providers:\n  p:\n    base_url: {url}\n    api_key_env: THE_KEY\n    timeout: 5\n    concurrency: 12\n"
        f"    headers: {{X-Other: '${{OTHER_KEY}}'}}\nmodels:\n{models}"
    )


def written() -> dict[str, str]:
    return {str(path): path.read_bytes().decode("utf-8", "replace") for path in Path.cwd().rglob("*") if path.is_file()}


def test_the_search_finds_what_it_is_to_find():
    for key in (BEARER, OTHER):
        for before in ("", "a", "ab", "abc"):
            assert found(base64.b64encode(f"{before}{key}xyz".encode()).decode())
        assert all(found(f"<{guise}>") for guise in guises(key))
    assert not found("sk-canary and canary-of-the-other-header")


@pytest.mark.slow
def test_keys_that_the_server_hands_back_are_on_no_screen_and_in_no_file(parrot, crucible):
    configured(parrot.server.url, "one")
    said = {"run": crucible("run", "-vv", "--cases", CASES, "--repeats", "3")}
    for words in (("report",), ("report", "--json"), ("status",), ("status", "--json"), ("models", "discover", "p"), ("grade",)):
        said[" ".join(words)] = crucible(*words)
    texts = said | written()
    assert {place: hits for place, text in texts.items() if (hits := found(text))} == {}
    assert [place for place, text in said.items() if "Traceback" in text] == []
    logs = "".join(text for place, text in texts.items() if place.endswith("log.jsonl"))
    assert logs.count("[key]") > 100
    assert all(f'"kind":"{kind}"' in logs for kind in ("rejected", "protocol"))
    plans = [text for place, text in texts.items() if place.endswith("plan.json")]
    assert len(plans) == 1
    assert "${OTHER_KEY}" in plans[0]
    assert len(parrot.server.requests) >= parrot.kinds


@pytest.mark.slow
@pytest.mark.parametrize("bearer", [BEARER + "\n", BEARER + "\r\nX-More: 1", BEARER + "\udc80"])
def test_a_key_that_no_header_can_hold_is_not_shown_either(parrot, crucible, bearer):
    configured(parrot.server.url, "one")
    for words in (("run", "-vv", "--cases", "math/*/L1.1"), ("status",)):
        said = crucible(*words, bearer=bearer)
        assert found(said) == []
        assert "Traceback" not in said
    assert {place: hits for place, text in written().items() if (hits := found(text))} == {}
