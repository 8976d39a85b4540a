"""What a child of the driver does with the code: load it, give it one call, say what came of it in one line.

Its text goes to the driver with the task (see `_driver`), so it may use the standard library only.

A value is what JSON can say. A tuple is an array. Where the task declares "set", a set is an array in the order of its
elements' JSON text (keys sorted); where it declares "int_keys", an object without other keys is the sorted array of
its [key, value] pairs, also when it is empty. Whatever else JSON cannot say by the letter is refused: `json` would
turn the key 1 into "1".
"""

from __future__ import annotations

import json
import sys
from types import CoroutineType, ModuleType
from typing import Any, NoReturn

NAME = "answer"  # of the module; anything but `__main__`
FILE = "<answer>"
ENVELOPE_BYTES = 2048
"""What a line may hold beyond the value: nonce and keys."""
MESSAGE_LENGTH = 300
RECURSION = 1000
DIGITS = 4300
DEPTH = 200

# Bound before the code can replace them.
_dumps = json.dumps
_SCALARS = frozenset((str, int, float, bool, type(None)))


class Broken(Exception):  # noqa: N818 - it is a finding, not an error of ours
    """The code never came to the call, and why."""


def answer(task: dict[str, Any], call: dict[str, Any]) -> bytes:
    """The line that says what became of the call.

    Raises:
        MemoryError: the code took all there was.
    """
    nonce = call["n"]
    try:
        entry = _load(task["source"], task["entry"], task["form"])
    except Broken as broken:
        return _line(nonce, "broken", str(broken)[:MESSAGE_LENGTH])
    log = _Log(frozenset(task["containers"]))
    try:
        line = _encode(nonce, (log.function if task["form"] == "function" else log.object)(entry, call["args"]))
    except MemoryError:
        raise
    except SystemExit as error:
        return _raised(nonce, "exit", "asked to exit before it answered", _place(error), log.step)
    except BaseException as error:  # noqa: BLE001 - whatever the code raises is its result
        return _raised(nonce, type(error).__name__, _text(error), _place(error), log.step)
    most = task["limits"]["answer_bytes"]
    if len(line) > most + ENVELOPE_BYTES:
        return _raised(nonce, "output limit", f"more than {most} bytes")
    return line


class _Log:
    """One call. `step` is the number of the operation that it is in, 0 outside of one."""

    def __init__(self, declared: frozenset[str]) -> None:
        self.step = 0
        self._declared = declared
        self._runner: Any = None

    def function(self, entry: Any, args: list[Any]) -> Any:
        """The value of a function."""
        return self._settled(entry(*args))

    def object(self, entry: Any, args: list[Any]) -> list[Any]:
        """What the operations on an object gave, each as it was right after it."""
        made = entry(*args[0])
        values = []
        for self.step, (method, *rest) in enumerate(args[1], 1):
            values.append(self._settled(getattr(made, method)(*rest)))
        self.step = 0
        return values

    def _settled(self, value: Any) -> Any:
        if isinstance(value, CoroutineType):
            if self._runner is None:
                import asyncio  # noqa: PLC0415 - slow to load, and the code's own time

                self._runner = asyncio.Runner()
            value = self._runner.run(value)
        return _plain(value, self._declared)


def _plain(value: Any, declared: frozenset[str], depth: int = 0) -> Any:
    """A copy made of what JSON has; what it has not is left as it is, to be refused."""
    if type(value) in _SCALARS:
        return value
    if depth == DEPTH:
        raise ValueError(f"returned a value nested deeper than {DEPTH}, not JSON")
    if isinstance(value, list | tuple):
        return [item if type(item) in _SCALARS else _plain(item, declared, depth + 1) for item in value]
    if isinstance(value, set | frozenset) and "set" in declared:
        return sorted((_plain(item, declared, depth + 1) for item in value), key=_canonical)
    if isinstance(value, dict):
        if "int_keys" in declared and all(isinstance(key, int) and not isinstance(key, bool) for key in value):
            return [[key, _plain(value[key], declared, depth + 1)] for key in sorted(value)]
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"returned a dict with a key of type {type(key).__name__}, not JSON")
        return {key: _plain(item, declared, depth + 1) for key, item in value.items()}
    return value


def _encode(nonce: str, value: Any) -> bytes:
    # Back to what the host decodes with, in case the code has moved them.
    sys.setrecursionlimit(RECURSION)
    sys.set_int_max_str_digits(DIGITS)
    return _line(nonce, "value", value)


def _load(source: str, entry: str, form: str) -> Any:
    """Run the code as a module and give the function or class `entry` of it."""
    module = ModuleType(NAME)
    sys.modules[NAME] = module  # dataclasses, typing and pickle look it up
    try:
        code = compile(source.removeprefix("\ufeff"), FILE, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise Broken(f"syntax error in line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError, OverflowError) as error:
        raise Broken(f"syntax error: {_text(error)}") from error
    try:
        exec(code, module.__dict__)  # noqa: S102 - this is what the sandbox is for
    except MemoryError:
        raise
    except SystemExit:  # `sys.exit(main())` at the end of a script; its functions are defined
        pass
    except BaseException as error:
        raise Broken(f"{type(error).__name__}: {_text(error)} (line {_passed(error)[0]})") from error
    found = module.__dict__.get(entry)
    if not callable(found):
        raise Broken(f"no {form} '{entry}' in the code")
    return found


def _text(error: BaseException) -> str:
    """The error's message; its `__str__` may be the code's own."""
    try:
        return str(str(error)[:MESSAGE_LENGTH])
    except BaseException:  # noqa: BLE001 - as above
        return ""


def _place(error: BaseException) -> str:
    line, name = _passed(error)
    return f"line {line}, in {name}" if line else ""


def _passed(error: BaseException) -> tuple[int, str]:
    """Line and function of the code that the error passed last; 0 where it passed none."""
    line, name, trace = 0, "", error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILE:
            line, name = trace.tb_lineno, trace.tb_frame.f_code.co_name
        trace = trace.tb_next
    return line, name


def _line(nonce: str, key: str, value: Any) -> bytes:
    return _dumps({"n": nonce, key: value}, allow_nan=False, default=_refuse).encode()


def _raised(nonce: str, kind: str, message: str, at: str = "", step: int = 0) -> bytes:
    return _line(nonce, "raised", [*(text[:MESSAGE_LENGTH] for text in (kind, message, at)), step])


def _refuse(value: Any) -> NoReturn:
    name = type(value).__name__
    article = "an" if name[:1].lower() in set("aeiou") else "a"
    raise TypeError(f"returned {article} {name}, not JSON")


_canonical = json.JSONEncoder(sort_keys=True, allow_nan=False, default=_refuse).encode
