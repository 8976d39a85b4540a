"""Asks a Python what it needs to run: its standard library's folders and the shared libraries of all of that.

Started outside the sandbox as `python -I -S -B -c <this text>`, by the user that the sandbox will run as; prints one
JSON object. The names of the libraries are those under which the loader looked for them, symbolic links unresolved.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.machinery
import json
import os
import sys

NEEDLESS = {"_curses", "_curses_panel", "_dbm", "_gdbm", "_tkinter", "nis", "readline"}
"""Modules for terminals, windows and old databases; they would draw in half a desktop."""


class _Info(ctypes.Structure):
    """The first two fields of `struct dl_phdr_info` (dl_iterate_phdr(3))."""

    _fields_ = (("address", ctypes.c_void_p), ("name", ctypes.c_char_p))


def extensions() -> set[str]:
    """Names of the standard library's compiled modules, without those for its own tests."""
    names = set()
    for folder in filter(os.path.isdir, sys.path):
        for file in os.listdir(folder):  # noqa: PTH208 - pathlib is not needed and slow to load
            name, _, suffix = file.partition(".")
            if f".{suffix}" in importlib.machinery.EXTENSION_SUFFIXES:
                names.add(name)
    return {name for name in names if not name.startswith(("_test", "_ctypes_test", "xx"))} - NEEDLESS


def libraries() -> list[str]:
    """Every shared object in this process, but the program itself and the kernel's."""
    names: list[str] = []

    def note(info: ctypes._Pointer[_Info], _size: int, _data: int | None) -> int:
        names.append((info.contents.name or b"").decode())
        return 0

    visitor = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Info), ctypes.c_size_t, ctypes.c_void_p)
    ctypes.CDLL(None).dl_iterate_phdr(visitor(note), None)
    return sorted({name for name in names if "/" in name})


def main() -> None:
    """Load all there is to load and print what that took."""
    for name in sorted(extensions()):
        try:
            importlib.import_module(name)
        except ImportError:  # it lacks its library here, so it will lack it in there
            continue
    with contextlib.suppress(OSError):
        ctypes.CDLL("libgcc_s.so.1")  # glibc loads it when a thread ends
    found = {
        "version": list(sys.version_info[:2]),
        "executable": os.path.realpath(sys.executable),
        "folders": [path for path in sys.path if os.path.exists(path)],  # noqa: PTH110 - as above
        "libraries": libraries(),
    }
    print(json.dumps(found))  # noqa: T201 - to the host


if __name__ == "__main__":
    main()
