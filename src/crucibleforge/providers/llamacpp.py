"""A GGUF file, served by the embedded llama.cpp for as long as its target is open.

The server runs in a child process (see `_llamacpp_child`) on a free port of 127.0.0.1 and is asked like any other
OpenAI-style server. A child that dies is not started again: its target fails with its last words.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import aiohttp
import msgspec
from msgspec import Struct

from crucibleforge.chat import Reply, Request
from crucibleforge.errors import InputError, Trouble
from crucibleforge.gguf import Gguf, facts, printable
from crucibleforge.providers import Probe, Session, openai
from crucibleforge.providers._llamacpp_child import Settings, Started
from crucibleforge.types import Served, Target

_CONTEXT_TOKENS = 8192
# A slow network disk still gives this much.
_LOAD_BYTES_PER_S = 32 * 1024 * 1024
_POLL_S = 0.05
_GRACE_S = 1.0
_EPITAPH_S = 0.5
_WORDS_BYTES = 8 * 1024
_WORDS_SHOWN = 300
_OK = 200

_NOT_INSTALLED = "the embedded llama.cpp is not installed"
_INSTALL = "`pip install 'crucibleforge[local]'`"


@dataclass(frozen=True)
class LlamaCpp:
    """The provider for `type: llamacpp`.

    `start_s` bounds the load, in seconds beyond what the file's size allows for. `program` is the child's command; the
    parent's process id is added to it.
    """

    start_s: float = 120.0
    program: tuple[str, ...] = (sys.executable, "-P", "-m", "crucibleforge.providers._llamacpp_child")

    @asynccontextmanager
    async def open(self, target: Target) -> AsyncIterator[Session]:
        """Load the target's file and serve it; leaving the context ends the server."""
        path = Path(target.path)
        gguf = await asyncio.to_thread(facts, path)
        limit_s = self.start_s + gguf.size_bytes / _LOAD_BYTES_PER_S
        async with _child(self.program, _settings(target, gguf)) as child:
            try:
                async with asyncio.timeout(limit_s):
                    root, served = await _started(child, path)
            except TimeoutError:
                raise InputError(
                    f"the embedded llama.cpp did not load {path} within {limit_s:.0f} s",
                    hint="choose a smaller model, or copy the file to a faster disk",
                ) from None
            async with openai.PROVIDER.open(msgspec.structs.replace(target, base_url=f"{root}/v1")) as session:
                yield _Session(session, child, served)

    async def probe(self, target: Target) -> Probe:
        """Look for llama.cpp and at the target's file, if it names one; nothing is loaded."""
        if find_spec("xllamacpp") is None:
            return Probe("down", detail=f"{_NOT_INSTALLED}: {_INSTALL}")
        if target.path:
            try:
                await asyncio.to_thread(facts, Path(target.path))
            except InputError as error:
                return Probe("down", detail=error.message)
        return Probe("up", models=(_alias(target),))


PROVIDER = LlamaCpp()


class _Session:
    def __init__(self, session: Session, child: _Child, served: Served) -> None:
        self._session = session
        self._child = child
        self.served = served

    async def ask(self, request: Request) -> Reply:
        """One request; when the server is gone, the trouble says how it ended."""
        try:
            return await self._session.ask(request)
        except Trouble as trouble:
            if trouble.kind != "transport" or (epitaph := await self._child.epitaph()) is None:
                raise
            raise Trouble("transport", f"the embedded llama.cpp {epitaph}") from trouble

    def notices(self) -> tuple[str, ...]:
        """Those of the session below."""
        return self._session.notices()


class _Child:
    """A running child and the end of what it wrote to stderr."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._words = bytearray()
        self._listener = asyncio.create_task(self._listen())

    async def started(self) -> Started | None:
        """What it says once it has loaded or failed; None when it ended without a word."""
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        return msgspec.json.decode(line, type=Started) if line.endswith(b"\n") else None

    async def words(self) -> str:
        """The last it wrote to stderr; waits a moment for the rest when it is about to end."""
        await asyncio.wait({self._listener}, timeout=_EPITAPH_S)
        return self._words.decode(errors="replace")

    async def epitaph(self) -> str | None:
        """How it ended, with its last words; None while it runs."""
        await _exited(self._process, _EPITAPH_S)
        code = self._process.returncode
        if code is None:
            return None
        words = _reason(await self.words())
        ending = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        return f"{ending}: {words}" if words else ending

    async def end(self) -> None:
        """End it: ask, insist, kill."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            if not await _exited(self._process, _GRACE_S):
                self._process.terminate()
                await _exited(self._process, _GRACE_S)
        finally:
            # Also on a second Ctrl-C, which cancels the waiting above.
            if self._process.returncode is None:
                self._process.kill()
            await self._process.wait()
            await asyncio.wait({self._listener}, timeout=_EPITAPH_S)
            self._listener.cancel()

    async def _listen(self) -> None:
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(_WORDS_BYTES):
            self._words += chunk
            del self._words[:-_WORDS_BYTES]


@asynccontextmanager
async def _child(program: tuple[str, ...], settings: Settings) -> AsyncIterator[_Child]:
    # A failed assertion of llama.cpp would otherwise call a debugger and bury its last words.
    env = os.environ | {"GGML_NO_BACKTRACE": "1"}
    process = await asyncio.create_subprocess_exec(
        *program, str(os.getpid()), stdin=PIPE, stdout=PIPE, stderr=PIPE, env=env
    )
    child = _Child(process)
    try:
        assert process.stdin is not None
        process.stdin.write(msgspec.json.encode(settings) + b"\n")
        yield child
    finally:
        await child.end()


async def _exited(process: Process, limit_s: float) -> bool:
    try:
        async with asyncio.timeout(limit_s):
            await process.wait()
    except TimeoutError:
        return False
    return True


def _alias(target: Target) -> str:
    return target.model_id or target.label


def _settings(target: Target, gguf: Gguf) -> Settings:
    wanted = target.context_length or _CONTEXT_TOKENS
    return Settings(
        path=target.path,
        alias=_alias(target),
        # The server would not use more than the model was trained for, but it would allocate it.
        context_length=min(wanted, gguf.context_length or wanted),
        slots=target.concurrency or 1,
    )


async def _started(child: _Child, path: Path) -> tuple[str, Served]:
    """The server's address and what it says of itself, once it answers."""
    started = await child.started()
    if started is None or started.error:
        raise await _refusal(child, started, path)
    root = f"http://127.0.0.1:{started.port}"
    async with aiohttp.ClientSession(root) as client:
        while not await _is_healthy(client):
            if (epitaph := await child.epitaph()) is not None:
                raise InputError(f"the embedded llama.cpp {epitaph}", hint=_hint(epitaph))
            await asyncio.sleep(_POLL_S)
        async with client.get("/props") as response:
            props = msgspec.json.decode(await response.read(), type=_Props)
    served = Served(
        server=f"llama.cpp (xllamacpp {started.version})",
        model=props.model_alias,
        context_length=props.default_generation_settings.n_ctx,
        slots=props.total_slots,
    )
    return root, served


class _SlotSettings(Struct, frozen=True):
    n_ctx: int


class _Props(Struct, frozen=True):
    default_generation_settings: _SlotSettings
    total_slots: int
    model_alias: str


async def _is_healthy(client: aiohttp.ClientSession) -> bool:
    try:
        async with client.get("/health") as response:
            return response.status == _OK
    except aiohttp.ClientError:
        return False


async def _refusal(child: _Child, started: Started | None, path: Path) -> InputError:
    if started is None:
        reason = await child.epitaph() or "closed its output"
        return InputError(f"{path} cannot be loaded: the embedded llama.cpp {reason}", hint=_hint(reason))
    if started.missing:
        return InputError(_NOT_INSTALLED, hint=_INSTALL)
    reason = _reason(await child.words()) or printable(started.error, _WORDS_SHOWN)
    return InputError(f"{path} cannot be loaded by the embedded llama.cpp: {reason}", hint=_hint(reason))


_STAMP = re.compile(r"^(\d+\.)+\d+ [A-Z] ")
# In order of how much they tell; the lines that come after them only say that it did not work.
_TELLING = (
    "error loading model: ",
    "insufficient memory",
    "failed to allocate",
    "out of memory",
    "GGML_ASSERT",
    "GGML_ABORT",
    "Error: ",
)
_SHORT_OF_MEMORY = ("memory", "allocate", "SIGKILL")


def _reason(words: str) -> str:
    """The line of a log that tells most, without its time stamp."""
    lines = [stripped for line in words.splitlines() if (stripped := _STAMP.sub("", line).strip())]
    for telling in _TELLING:
        for line in reversed(lines):
            if telling in line:
                start = line.index(telling)
                return printable(line[start + len(telling) :] if telling == _TELLING[0] else line, _WORDS_SHOWN)
    return printable(lines[-1], _WORDS_SHOWN) if lines else ""


def _hint(reason: str) -> str:
    if any(word in reason for word in _SHORT_OF_MEMORY):
        return "lower `context_length` or `concurrency`, or choose a smaller model"
    return "fetch the file again, or update llama.cpp: `pip install --upgrade xllamacpp`"
