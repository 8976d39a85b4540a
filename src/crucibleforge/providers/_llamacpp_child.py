"""The process that holds the embedded llama.cpp: started by `llamacpp`, never by hand.

Its argument is the parent's process id; one JSON line of `Settings` comes on stdin, one JSON line of `Started` goes to
stdout, native noise to stderr. It lives exactly as long as its stdin stays open and its parent lives. Loading holds the
interpreter lock for the whole of it and a native crash takes the process, which is why this is one of its own.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from typing import Any

import msgspec
from msgspec import Struct

_PR_SET_PDEATHSIG = 1
_ERRORS_ONLY = 1
_LINE_BYTES = 64 * 1024


class Settings(Struct, frozen=True):
    """What to serve: `slots` requests at once with a window of `context_length` tokens each."""

    path: str
    alias: str
    context_length: int
    slots: int


class Started(Struct, frozen=True, omit_defaults=True):
    """Either the port on 127.0.0.1 and the version of xllamacpp, or an error.

    `missing`: the error is that xllamacpp is not installed.
    """

    port: int = 0
    version: str = ""
    error: str = ""
    missing: bool = False


def main() -> None:
    """Serve until the parent closes stdin or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides what it means.
    _die_with(int(sys.argv[1]))
    said = os.dup(1)
    os.dup2(2, 1)  # Native code that prints must not break the one line that the parent waits for.
    settings = msgspec.json.decode(sys.stdin.buffer.readline(_LINE_BYTES), type=Settings)
    watch = threading.Thread(target=_exit_at_eof, name="stdin", daemon=True)
    watch.start()
    server, started = _serve(settings)
    os.write(said, msgspec.json.encode(started) + b"\n")
    if server is None:
        sys.exit(1)
    watch.join()


def _die_with(parent: int) -> None:
    """Have the kernel end this process when the parent dies, however it dies.

    The thread that watches stdin cannot run while a model is being loaded; the kernel needs no interpreter lock.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        # It died before the kernel was asked.
        os._exit(1)


def _exit_at_eof() -> None:
    while os.read(0, _LINE_BYTES):
        pass
    # Nothing is worth saving, and an orderly end would wait for the reply that is being written.
    os._exit(0)


def _serve(settings: Settings) -> tuple[Any, Started]:
    """The running server, which must be kept alive, and what to tell the parent."""
    try:
        import xllamacpp as llama  # noqa: PLC0415 - optional, and its absence is an answer
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == "xllamacpp"
        return None, Started(error=str(error), missing=missing)
    try:
        server = llama.Server(_params(llama, settings))
    except RuntimeError as error:
        return None, Started(error=str(error))
    port = int(server.listening_address.rpartition(":")[2])
    return server, Started(port=port, version=llama.__version__)


def _params(llama: Any, settings: Settings) -> Any:
    params = llama.CommonParams()
    params.model.path = settings.path
    params.model_alias = {settings.alias}
    params.n_ctx = settings.context_length * settings.slots
    params.n_parallel = settings.slots
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.use_jinja = True
    params.ui = False
    params.endpoint_slots = False  # It would show every prompt to every user of this machine.
    params.cors_origins = ""  # No web page in a browser on this machine may ask.
    params.verbosity = _ERRORS_ONLY
    # A slot still reuses the prefix it holds. This is the second cache, of whole past prompts: a suite never comes back
    # to them, while it grows to 8 GiB and copying into it adds to the time to first token.
    params.cache_ram_mib = 0
    return params


if __name__ == "__main__":
    main()
