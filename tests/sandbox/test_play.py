from __future__ import annotations

import asyncio
import json
import sys

import pytest

from crucibleforge.sandbox import _answers, _play
from crucibleforge.sandbox._play import DEPTH, ENVELOPE_BYTES, MESSAGE_LENGTH, NAME, _Log, answer

BOX = "class Box:\n    def __init__(self, start=0): self.sum = start\n    def add(self, n): self.sum += n; return [self.sum]\n"


@pytest.fixture(autouse=True)
def _put_back(monkeypatch):
    """Here the code runs in our own process."""
    monkeypatch.setattr(json, "dumps", json.dumps)
    monkeypatch.setitem(sys.modules, NAME, None)
    recursion, digits = sys.getrecursionlimit(), sys.get_int_max_str_digits()
    yield
    sys.setrecursionlimit(recursion)
    sys.set_int_max_str_digits(digits)


def line(source, *args, entry="f", form="function", containers=(), answer_bytes=10_000):
    task = {
        "source": source,
        "entry": entry,
        "form": form,
        "containers": list(containers),
        "limits": {"answer_bytes": answer_bytes},
    }
    return answer(task, {"n": "7", "args": list(args)})


def said(source, *args, **how):
    """What the line says, without the nonce."""
    whole = json.loads(line(source, *args, **how))
    assert whole.pop("n") == "7"
    return whole


def given(expression, *containers):
    return said(f"def f():\n    return {expression}", containers=containers)


def refused(kind, what, at="", step=0):
    return {"raised": [kind, f"returned {what}, not JSON", at, step]}


def test_an_answer_is_one_line_of_json_with_the_nonce_first():
    assert line("def f(x, y):\n    return x, [y]", 1, "ä") == rb'{"n": "7", "value": [1, ["\u00e4"]]}'


@pytest.mark.parametrize("value", [None, True, 0, -1.5, "x", "", [], {}, [[], {"a": {"b": [None]}}]])
def test_what_json_has_comes_as_it_is(value):
    assert said("def f(x):\n    return x", value) == {"value": value}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(1, (2, [3]))", [1, [2, [3]]]),
        ("__import__('collections').namedtuple('P', 'x y')(1, (2,))", [1, [2]]),
        ("__import__('collections').OrderedDict(b=1, a=(2,))", {"b": 1, "a": [2]}),
        ("__import__('collections').Counter('aab')", {"a": 2, "b": 1}),
        ("__import__('http').HTTPStatus(404)", 404),
        ("[__import__('http').HTTPStatus(404)]", [404]),
        ("type('T', (str,), {})('x')", "x"),
    ],
)
def test_what_is_like_json_comes_as_json(expression, value):
    assert given(expression) == {"value": value}


@pytest.mark.parametrize(
    ("expression", "what"),
    [
        ("{1}", "a set"),
        ("frozenset()", "a frozenset"),
        ("object()", "an object"),
        ("type('Apple', (), {})()", "an Apple"),
        ("type('', (), {})()", "a "),
        ("b''", "a bytes"),
        ("[1j]", "a complex"),
        ("{'a': {2}}", "a set"),
        ("{1: 2}", "a dict with a key of type int"),
        ("[{None: 2}]", "a dict with a key of type NoneType"),
        ("{'a': 1, True: 2}", "a dict with a key of type bool"),
        ("{(1, 2): 2}", "a dict with a key of type tuple"),
    ],
)
def test_what_json_has_not_is_refused(expression, what):
    assert given(expression) == refused("TypeError", what)


@pytest.mark.parametrize("number", ["float('nan')", "-float('inf')", "[1e999]", "{'a': float('nan')}"])
def test_a_number_that_json_has_not_is_refused(number):
    assert given(number)["raised"][0] == "ValueError"


@pytest.mark.parametrize(
    ("nest", "declared"),
    [
        ("[value]", ()),
        ("(value,)", ()),
        ("{'a': value}", ()),
        ("frozenset([value])", ("set",)),
        ("{1: value}", ("int_keys",)),
        ("{'a': value}", ("int_keys",)),
    ],
)
def test_a_value_has_a_greatest_depth_whatever_it_is_made_of(nest, declared):
    source = f"def f(depth):\n    value = 1\n    for _ in range(depth):\n        value = {nest}\n    return value"
    assert "value" in said(source, DEPTH, containers=declared)
    assert said(source, DEPTH + 1, containers=declared) == refused("ValueError", "a value nested deeper than 200")


def test_a_value_that_holds_itself_is_too_deep():
    for made, put in (("[]", "append(x)"), ("{}", "update(a=x)")):
        assert said(f"def f():\n    x = {made}\n    x.{put}\n    return x") == refused(
            "ValueError", "a value nested deeper than 200"
        )


def test_host_and_child_agree_on_depth_and_length():
    assert DEPTH == _answers.DEPTH
    assert MESSAGE_LENGTH == _answers._MESSAGE_LENGTH


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("{10, 9, 1}", [1, 10, 9]),
        ("{'b', 'a'}", ["a", "b"]),
        ("frozenset()", []),
        ("[{(2, 'x'), (10,)}]", [[[10], [2, "x"]]]),
        ("{'a': {None, 'x', 3}}", {"a": ["x", 3, None]}),
        ("[{'b': 1}, {1}]", [{"b": 1}, [1]]),
    ],
)
def test_a_declared_set_is_an_array_in_the_order_of_its_json(expression, value):
    assert given(expression, "set") == {"value": value}


def test_objects_in_a_set_are_ordered_by_their_sorted_keys():
    source = (
        "class D(dict):\n    def __hash__(self): return len(self)\n"
        "def f(): return {D(b=0, a=2), D(a=3, b=0), D(b=0, a=1)}"
    )
    assert [element["a"] for element in said(source, containers=["set"])["value"]] == [1, 2, 3]


@pytest.mark.parametrize(
    ("expression", "what"),
    [("{object()}", "an object"), ("{1: 2}", "a dict with a key of type int"), ("[{b''}]", "a bytes")],
)
def test_a_declared_set_excuses_nothing_else(expression, what):
    assert given(expression, "set") == refused("TypeError", what)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("{10: 'x', 9: {-1: ()}}", [[9, [[-1, []]]], [10, "x"]]),
        ("{}", []),
        ("{'b': {}, 'a': {3: 4}}", {"b": [], "a": [[3, 4]]}),
        ("[{0: 1}]", [[[0, 1]]]),
    ],
)
def test_declared_integer_keys_make_sorted_pairs(expression, value):
    assert given(expression, "int_keys") == {"value": value}


@pytest.mark.parametrize(
    ("expression", "what"),
    [
        ("{1: 2, 'a': 3}", "a dict with a key of type int"),
        ("{'a': 3, 1: 2}", "a dict with a key of type int"),
        ("{True: 2}", "a dict with a key of type bool"),
        ("{1.0: 2}", "a dict with a key of type float"),
        ("{1: {2}}", "a set"),
    ],
)
def test_declared_integer_keys_excuse_nothing_else(expression, what):
    assert given(expression, "int_keys") == refused("TypeError", what)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("x = 1\ndef f(:\n", "syntax error in line 2: invalid syntax"),
        ("x" + ".a" * 50_000, "syntax error: maximum recursion depth exceeded during compilation"),
        (
            "x = '\ud800'",
            "syntax error: 'utf-8' codec can't encode character '\\ud800' in position 5: surrogates not allowed",
        ),
        ("def g(): return 1 / 0\n\ng()", "ZeroDivisionError: division by zero (line 1)"),
        ("import json\njson.loads('x')", "JSONDecodeError: Expecting value: line 1 column 1 (char 0) (line 2)"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt:  (line 1)"),
        ("raise ValueError('x' * 999)", f"ValueError: {'x' * (MESSAGE_LENGTH - 12)}"),
        ("", "no function 'f' in the code"),
        ("f = 3", "no function 'f' in the code"),
        ("def g(): f = 1", "no function 'f' in the code"),
    ],
)
def test_code_that_never_comes_to_the_call_says_why(source, reason):
    assert said(source) == {"broken": reason}


def test_an_entry_point_that_is_missing_is_named_by_its_form():
    assert said("f = 3", entry="Box", form="class") == {"broken": "no class 'Box' in the code"}


def test_a_byte_order_mark_and_an_exit_at_the_end_do_no_harm():
    assert said("\ufeffdef f(): return 1\nraise SystemExit(3)") == {"value": 1}


def test_the_code_inherits_no_future_of_ours():
    assert said("def f(x: int = 1): return f.__annotations__['x'] is int") == {"value": True}


def test_the_code_is_a_module_that_others_find_by_its_name():
    source = "import sys\nif __name__ == '__main__': raise ValueError\ndef f(): return sys.modules[f.__module__].f is f"
    assert said(source) == {"value": True}


@pytest.mark.parametrize(
    ("body", "raised"),
    [
        ("raise ValueError('no', 1)", ["ValueError", "('no', 1)", "line 2, in f", 0]),
        ("raise KeyboardInterrupt", ["KeyboardInterrupt", "", "line 2, in f", 0]),
        ("exec('1 / 0')", ["ZeroDivisionError", "division by zero", "line 2, in f", 0]),
        ("raise SystemExit(1)", ["exit", "asked to exit before it answered", "line 2, in f", 0]),
        (
            "return __import__('json').loads('x')",
            ["JSONDecodeError", "Expecting value: line 1 column 1 (char 0)", "line 2, in f", 0],
        ),
        ("raise ValueError('m' * 999)", ["ValueError", "m" * MESSAGE_LENGTH, "line 2, in f", 0]),
        ("raise type('K' * 999, (Exception,), {})", ["K" * MESSAGE_LENGTH, "", "line 2, in f", 0]),
        ("raise type('E', (Exception,), {'__str__': lambda self: 3})", ["E", "", "line 2, in f", 0]),
        ("raise type('E', (Exception,), {'__str__': lambda self: exit(1)})", ["E", "", "line 2, in f", 0]),
        (
            "(lambda: [1 // x for x in (1, 0)])()",
            ["ZeroDivisionError", "integer division or modulo by zero", "line 2, in <listcomp>", 0],
        ),
    ],
)
def test_what_the_code_raises_is_its_result(body, raised):
    if sys.version_info >= (3, 12):
        raised = [text.replace("<listcomp>", "<lambda>") if isinstance(text, str) else text for text in raised]
    assert said(f"def f():\n    {body}") == {"raised": raised}


def test_the_place_of_an_error_is_cut_and_is_none_outside_the_code():
    long = "g" * 999
    assert (
        said(f"def {long}(): raise ValueError\ndef f(): {long}()")["raised"][2] == f"line 1, in {long}"[:MESSAGE_LENGTH]
    )
    assert said("def f(): ...", 1)["raised"][2] == ""


def test_a_text_of_the_codes_own_kind_is_a_text():
    source = (
        "class T(str):\n    def __getitem__(self, key): return self\n"
        "class E(Exception):\n    def __str__(self): return T('x')\n"
        "def f(): raise E"
    )
    assert said(source)["raised"][1] == "x"


@pytest.mark.parametrize("source", ["raise MemoryError", "def f(): raise MemoryError"])
def test_a_want_of_memory_is_for_the_driver_to_tell(source):
    with pytest.raises(MemoryError):
        line(source)


def test_an_answer_is_bounded_to_the_byte():
    source, most = "def f(n): return 'x' * n", 3000
    longest = most + ENVELOPE_BYTES - len(line(source, 0))
    assert len(line(source, longest, answer_bytes=most)) == most + ENVELOPE_BYTES
    assert said(source, longest + 1, answer_bytes=most) == {"raised": ["output limit", "more than 3000 bytes", "", 0]}


def test_the_envelope_is_small_enough_for_the_host():
    assert ENVELOPE_BYTES == 2048


def test_an_answer_is_made_within_the_hosts_own_limits():
    source = "import sys\nsys.setrecursionlimit(9000)\nsys.set_int_max_str_digits(0)\ndef f(n): return 10 ** n"
    assert said(source, 4299)["value"] == 10**4299
    assert (sys.getrecursionlimit(), sys.get_int_max_str_digits()) == (_play.RECURSION, _play.DIGITS) == (1000, 4300)
    assert said(source, 4300)["raised"][0] == "ValueError"


def test_code_that_replaces_the_tools_of_json_changes_nothing():
    assert said("import json\njson.dumps = None\ndef f(): return {'a': [1]}") == {"value": {"a": [1]}}


def logged(source, start, *operations):
    return said(source, start, operations, entry="Box", form="class")


def test_an_object_gives_the_log_of_its_operations_each_as_it_was_then():
    source = BOX.replace(
        "return [self.sum]", "self.all = getattr(self, 'all', []); self.all.append(n); return self.all"
    )
    assert logged(source, [3], ["add", 4], ["add", 1]) == {"value": [[4], [4, 1]]}
    assert logged(BOX, [3], ["add", 4], ["add", 1]) == {"value": [[7], [8]]}
    assert logged(BOX, []) == {"value": []}


@pytest.mark.parametrize(
    ("start", "operations", "raised"),
    [
        (
            [1, 2],
            [["add", 1]],
            ["TypeError", "Box.__init__() takes from 1 to 2 positional arguments but 3 were given", "", 0],
        ),
        (
            [],
            [["add", 1], ["add", 1], ["add", "x"]],
            ["TypeError", "unsupported operand type(s) for +=: 'int' and 'str'", "line 3, in add", 3],
        ),
        ([], [["sub"]], ["AttributeError", "'Box' object has no attribute 'sub'", "", 1]),
    ],
)
def test_an_exception_tells_its_operation(start, operations, raised):
    assert logged(BOX, start, *operations) == {"raised": raised}


def test_an_exit_tells_its_operation():
    source = "class Box:\n    def go(self): pass\n    def stop(self): raise SystemExit"
    raised = ["exit", "asked to exit before it answered", "line 3, in stop", 2]
    assert logged(source, [], ["go"], ["stop"]) == {"raised": raised}


def test_a_log_that_cannot_be_told_as_a_whole_belongs_to_no_operation():
    source = "class Box:\n    def go(self): return 10 ** 5000"
    [kind, _, _, step] = logged(source, [], ["go"])["raised"]
    assert (kind, step) == ("ValueError", 0)


def test_coroutines_of_one_object_share_a_loop():
    class Box:
        async def loop(self):
            return str(id(asyncio.get_running_loop()))

        async def deep(self):
            return ({1},)

    log = _Log(frozenset({"set"}))
    try:
        one, other, value = log.object(Box, [[], [["loop"], ["loop"], ["deep"]]])
    finally:
        log._runner.close()
    assert one == other
    assert value == [[1]]


def test_what_is_not_a_coroutine_starts_no_loop():
    log = _Log(frozenset())
    assert log.function(lambda x: x, [1]) == 1
    assert log._runner is None
