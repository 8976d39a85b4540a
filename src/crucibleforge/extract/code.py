"""Find the Python program in a reply. It is parsed and never run, compiled or repaired."""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from crucibleforge.extract.fence import Fence, fences, unified

MAX_CODE = 200_000
"""Characters of code that are looked at, all blocks of a reply together and from the last one back."""

_TAGS = {"", "python", "py", "python3", "py3"}
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_HARMLESS = (*_DEFINITIONS, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)
_BUILTINS = frozenset(dir(builtins))


@dataclass(frozen=True)
class _Source:
    """A piece of text that may be code: its syntax tree, or what is wrong with it."""

    text: str
    tree: ast.Module | None
    problem: str = ""

    @property
    def names(self) -> set[str]:
        """What it defines at top level."""
        return {name for statement in (self.tree.body if self.tree else ()) for name in _bound(statement)}


def python_code(text: str, entry: str, *, cut: bool) -> str | None:
    """The program that defines the function `entry`; None if there is none that parses.

    The last block that defines it at top level counts, with those earlier blocks before it that define what it
    uses and do nothing else. A reply without such a block may be a program as a whole.

    Args:
        text: What the model said, without its reasoning.
        entry: The name that the program must define.
        cut: The reply ended at a token limit, so a block without a closer may lack its end and does not count.
    """
    blocks = _blocks(text, cut=cut)
    for place in range(len(blocks) - 1, -1, -1):
        if entry in (source := _parsed(blocks[place].body)).names:
            return "".join([*_needed(source, blocks[:place]), source.text])
    whole = unified(text)
    return whole if not cut and entry in _parsed(whole, if_it_names=entry).names else None


def first_problem(text: str, entry: str, *, cut: bool) -> str:
    """Why `python_code` found nothing, as a user reads it."""
    blocks = _blocks(text, cut=cut)
    if not blocks:
        if cut and any(not block.closed for block in fences(text)):
            return "the code is cut off"
        whole = unified(text)
        return _problem(whole, entry) if f"def {entry}" in whole and not cut else "no code in reply"
    with_entry = [block for block in blocks if f"def {entry}" in block.body]
    tagged = [block for block in blocks if block.tag]
    return _problem((with_entry or tagged or blocks)[-1].body, entry)


def _problem(code: str, entry: str) -> str:
    return _parsed(code).problem or f"no function '{entry}' in the code"


def _blocks(text: str, *, cut: bool) -> list[Fence]:
    kept: list[Fence] = []
    room = MAX_CODE
    for block in reversed(fences(text)):
        room -= len(block.body)
        if room < 0 and kept:
            break
        if block.tag in _TAGS and (block.closed or not cut):
            kept.append(block)
    return kept[::-1]


def _parsed(text: str, *, if_it_names: str = "") -> _Source:
    if len(text) > MAX_CODE:
        return _Source(text, None, f"the code is longer than {MAX_CODE:,} characters")
    if if_it_names not in text:
        return _Source(text, None, "no code in reply")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a model's odd escapes and `is 1` are no concern of ours
            return _Source(text, ast.parse(text))
    except SyntaxError as error:
        return _Source(text, None, f"syntax error in line {error.lineno or 1}: {error.msg}")
    except (ValueError, RecursionError, MemoryError) as error:
        # A null byte or lone surrogate; nesting beyond what the parser bears.
        return _Source(text, None, f"the code cannot be parsed ({type(error).__name__})")


def _bound(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield statement.name
        case ast.Import() | ast.ImportFrom():
            yield from ((alias.asname or alias.name).split(".", 1)[0] for alias in statement.names)
        case ast.Assign():
            yield from (target.id for target in statement.targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            yield name


def _needed(source: _Source, earlier: list[Fence]) -> list[str]:
    """The earlier blocks that define what `source`, or one of them, uses and does not define; in order."""
    missing = _missing(source)
    needed: list[str] = []
    for block in reversed(earlier):
        if not missing:
            break
        helper = _parsed(block.body)
        if helper.tree is None or not missing & helper.names:
            continue
        if all(isinstance(statement, _HARMLESS) for statement in helper.tree.body):
            needed.append(helper.text)
            missing = (missing - helper.names) | _missing(helper)
    return needed[::-1]


def _missing(source: _Source) -> set[str]:
    """Names that are read and bound nowhere; scopes are not told apart, which only ever misses a helper."""
    read: set[str] = set()
    bound = set(_BUILTINS)
    for node in ast.walk(source.tree) if source.tree else ():
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                read.add(name)
            case ast.Name(id=name) | ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                bound.add(name)
            case ast.stmt():
                bound.update(_bound(node))
    return read - bound
