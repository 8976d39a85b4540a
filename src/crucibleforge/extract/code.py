"""Find the Python program in a reply. It is parsed and never run, compiled or repaired."""

from __future__ import annotations

import ast
import builtins
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from crucibleforge.extract._stub import is_stub
from crucibleforge.extract.fence import Fence, fences, unified
from crucibleforge.extract.jsontext import strict_json

MAX_CODE = 200_000
"""Characters of code that are looked at, all blocks of a reply together and from the last one back."""

_TAGS = {"", "python", "py", "python3", "py3", "pycon"}
_JSON_TAGS = {"", "json"}
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_HARMLESS = (*_DEFINITIONS, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)
_BUILTINS = frozenset(dir(builtins))
_PROMPT = re.compile(r"(?:>>>|\.\.\.)(?: |$)")
_SHOWN_NAMES = 3


@dataclass(frozen=True)
class _Source:
    """A piece of text that may be code: its syntax tree, or what is wrong with it."""

    text: str
    tree: ast.Module | None
    problem: str = ""

    @cached_property
    def names(self) -> set[str]:
        """What it defines at top level."""
        return {name for statement in (self.tree.body if self.tree else ()) for name in _bound(statement)}

    @property
    def is_harmless(self) -> bool:
        """True when it defines things and does nothing else, unless it is the main program."""
        return self.tree is not None and all(
            isinstance(statement, _HARMLESS) or _is_docstring(statement) or _is_main(statement)
            for statement in self.tree.body
        )


def python_code(text: str, entry: str, *, cut: bool) -> str | None:
    """The program that defines the function or class `entry`; None if there is none that parses.

    The last block that defines it at top level counts, unless it is only an excerpt and one before is whole. With it
    come those other blocks that define what it uses and do nothing else. A reply without such a block may be a
    program as a whole. Prompts of an interactive session are taken off.

    Args:
        text: What the model said, without its reasoning.
        entry: The name that the program must define.
        cut: The reply ended at a token limit, so a block without a closer may lack its end and does not count.
    """
    sources = [_parsed(block.body) for block in _blocks(text, cut=cut)]
    places = [place for place, source in enumerate(sources) if entry in source.names]
    if places:
        whole = [place for place in places if not is_stub(sources[place].tree, entry)]
        place = (whole or places)[-1]
        before, after = _needed(sources, place, entry)
        return "".join([*before, sources[place].text, *after])
    bare = _bare(text)
    return bare if not cut and entry in _parsed(bare, if_it_names=entry).names else None


def first_problem(text: str, entry: str, *, cut: bool) -> str:
    """Why `python_code` found nothing, as a user reads it."""
    blocks = _blocks(text, cut=cut)
    if not blocks:
        if cut and any(not block.closed for block in fences(text)):
            return "the code is cut off"
        bare = _bare(text)
        named = f"def {entry}" in bare or f"class {entry}" in bare
        return _problem(bare, entry) if named and not cut else "no code in reply"
    with_entry = [block for block in blocks if f"def {entry}" in block.body or f"class {entry}" in block.body]
    tagged = [block for block in blocks if block.tag]
    return _problem((with_entry or tagged or blocks)[-1].body, entry)


def _problem(code: str, entry: str) -> str:
    source = _parsed(code)
    if source.problem or source.tree is None:
        return source.problem
    others = [statement.name for statement in source.tree.body if isinstance(statement, _DEFINITIONS)]
    found = f"; found {', '.join(repr(name[:40]) for name in others[:_SHOWN_NAMES])}" if others else ""
    return f"no function '{entry}' in the code{found}"


def _blocks(text: str, *, cut: bool) -> list[Fence]:
    kept: list[Fence] = []
    room = MAX_CODE
    for block in reversed(fences(text)):
        room -= len(block.body)
        if room < 0 and kept:
            break
        if block.closed or not cut:
            code = _wrapped(block.body) if block.tag in _JSON_TAGS else None
            if code is not None:
                kept.append(replace(block, tag="python", body=code))
            elif block.tag in _TAGS:
                kept.append(replace(block, body=_without_prompts(block.body)))
    return kept[::-1]


def _bare(text: str) -> str:
    whole = unified(text)
    return _wrapped(whole) or _without_prompts(whole)


def _wrapped(text: str) -> str | None:
    """The text of the member `code`, where the whole is a JSON object with one."""
    if len(text) > MAX_CODE or not text.lstrip().startswith("{"):
        return None
    value = strict_json(text)
    code = value.get("code") if isinstance(value, dict) else None
    return unified(code) if isinstance(code, str) else None


def _without_prompts(text: str) -> str:
    """The lines that were typed, where the text is a session: its outputs stand without a prompt."""
    if not text.lstrip("\n").startswith(">>>") or len(text) > MAX_CODE:
        return text
    lines = (line for line in text.split("\n") if _PROMPT.match(line))
    return "".join(f"{line[4:]}\n" for line in lines)


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
            yield from (name.id for target in statement.targets for name in _targets(target))
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            yield name


def _targets(target: ast.expr) -> Iterable[ast.Name]:
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    return (part for part in parts if isinstance(part, ast.Name))


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_main(statement: ast.stmt) -> bool:
    match statement:
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return True
        case _:
            return False


def _needed(sources: list[_Source], place: int, entry: str) -> tuple[list[str], list[str]]:
    """The blocks before and after that define what the one at `place`, or one of them, uses and does not define."""
    missing = _missing(sources[place])
    before: list[str] = []
    after: list[str] = []
    others = [*range(place - 1, -1, -1), *range(place + 1, len(sources))]
    for other in others:
        if not missing:
            break
        helper = sources[other]
        if missing & helper.names and entry not in helper.names and helper.is_harmless:
            missing = (missing - helper.names) | _missing(helper)
            if other < place:
                before.append(helper.text)
            else:
                after.append(helper.text)
    return before[::-1], after


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
