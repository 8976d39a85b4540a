"""Programs that are right, in every shape in which models hand them over: none may fail.

Each is marked the whole real way: a reply, the code taken out of it, a real sandbox, a finding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import made
import pytest

from crucibleforge.graders._mark import mark
from crucibleforge.sandbox._fair import execute
from crucibleforge.types import Finding, Grading

TENFOLD = "def solve(n):\n    return n * 10\n"
NUMBERS = (((4,), 40), ((0,), 0))


@dataclass(frozen=True)
class Honest:
    """A reply whose program is right. `calls` are pairs of arguments and the right value."""

    text: str
    calls: tuple[tuple[tuple[Any, ...], Any], ...] = NUMBERS
    settings: dict[str, Any] = field(default_factory=dict)
    is_slow: bool = False


def code(source: str, *calls: tuple[tuple[Any, ...], Any], is_slow: bool = False, **settings: Any) -> Honest:
    return Honest(f"```python\n{source.strip()}\n```", calls or NUMBERS, settings, is_slow)


REPLIES = {
    "nothing but code": Honest(TENFOLD),
    "a fence without a tag": Honest(f"```\n{TENFOLD}```"),
    "a fence that ends with the reply": Honest(f"```python\n{TENFOLD}"),
    "a fence of tildes": Honest(f"~~~python\n{TENFOLD}~~~"),
    "a fence of four ticks around three": Honest(f'````python\n{TENFOLD}DOC = """\n```\nsolve(1)\n```\n"""\n````'),
    "an upper-case tag with attributes": Honest(f'```Python title="a.py"\n{TENFOLD}```'),
    "a fence in a list": Honest(
        "1. Multiply:\n\n   ```python\n   def solve(n):\n       return n * 10\n   ```\n2. Done."
    ),
    "Windows line ends": Honest(f"Here:\n\n```python\n{TENFOLD}```\n".replace("\n", "\r\n")),
    "old Macintosh line ends": Honest(f"Here:\n\n```python\n{TENFOLD}```\n".replace("\n", "\r")),
    "a byte order mark": Honest(f"\ufeff{TENFOLD}"),
    "a byte order mark in the fence": Honest(f"```python\n\ufeff{TENFOLD}```"),
    "tabs": Honest("```python\ndef solve(n):\n\tif n:\n\t\treturn n * 10\n\treturn 0\n```"),
    "no line end at the end": Honest("```python\ndef solve(n): return n * 10"),
    "talk before and after": Honest(f"The idea is to multiply.\n\n```python\n{TENFOLD}```\n\nIt takes O(1)."),
    "an attempt, then a better one": Honest(
        f"First try:\n```python\ndef solve(n):\n    return n\n```\nThat is wrong. Better:\n```python\n{TENFOLD}```"
    ),
    "an example of its use after it": Honest(
        f"```python\n{TENFOLD}```\nUse it so:\n```python\nprint(solve(4))  # 40\n```"
    ),
    "its output after it": Honest(f"```python\n{TENFOLD}```\nThis prints:\n```\n40\n```"),
    "a command before it": Honest(
        f"```bash\npip install nothing\n```\n```python\n{TENFOLD}```\n```console\n$ python a.py\n```"
    ),
    "another language before it": Honest(
        f"In C:\n```c\nint solve(int n) {{ return n; }}\n```\nIn Python:\n```python\n{TENFOLD}```"
    ),
    "a helper in a fence before it": Honest(
        "```python\ndef tenfold(n):\n    return n * 10\n```\nWith it:\n```python\ndef solve(n):\n    return tenfold(n)\n```"
    ),
    "imports in a fence before it": Honest(
        "```python\nimport operator\n```\nThen:\n```python\ndef solve(n):\n    return operator.mul(n, 10)\n```"
    ),
    "reasoning with another program in it": Honest(
        f"<think>Maybe\n```python\ndef solve(n):\n    return -1\n```\nno.</think>\n```python\n{TENFOLD}```"
    ),
    "prompts of an interactive session": Honest("```python\n>>> def solve(n):\n...     return n * 10\n```"),
    "code in JSON": Honest('```json\n{"code": "def solve(n):\\n    return n * 10"}\n```'),
    "reasoning that mentions a fence": Honest(f"<think>I will open ```python and</think>\n\n```python\n{TENFOLD}```"),
}

SCRIPTS = {
    "a main block with tests": code(
        f"{TENFOLD}\nif __name__ == '__main__':\n    assert solve(1) == 11\n    print('ok')"
    ),
    "a main block that exits": code(f"import sys\n{TENFOLD}\nif __name__ == '__main__':\n    sys.exit(main())"),
    "tests at the top level": code(f"{TENFOLD}\nassert solve(2) == 20\nprint('all tests passed')"),
    "a script that exits at its end": code(f"import sys\n{TENFOLD}\nprint(solve(3))\nsys.exit(0)"),
    "unit tests below it": code(
        f"import unittest\n{TENFOLD}\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(solve(1), 10)\n"
        "if __name__ == '__main__':\n    unittest.main()"
    ),
    "doctests": code(
        'def solve(n):\n    """Tenfold.\n\n    >>> solve(1)\n    10\n    """\n    return n * 10\nimport doctest\ndoctest.testmod()'
    ),
    "many prints": code("def solve(n):\n    for i in range(20_000): print('step', i)\n    return n * 10"),
    "a megabyte in one print": code("def solve(n):\n    print('x' * 2**20, flush=True)\n    return n * 10"),
    "prints to stderr": code(
        "import sys\ndef solve(n):\n    print('debug', n, file=sys.stderr)\n    sys.stderr.write('x')\n    return n * 10"
    ),
    "logging": code(
        "import logging\nlogging.basicConfig(level=logging.DEBUG)\ndef solve(n):\n    logging.info('n=%s', n)\n    return n * 10"
    ),
    "a print that looks like a verdict": code(
        'def solve(n):\n    print(\'FAILED\', \'{"n": "0", "value": 1}\')\n    return n * 10'
    ),
    "input that is never asked for": code(
        "def main():\n    print(solve(int(input())))\ndef solve(n):\n    return n * 10\nif __name__ == '__main__':\n    main()"
    ),
    "an empty stdin": code(
        "import sys\ndef solve(n):\n    return n * 10 + len(sys.stdin.read()) + len(list(sys.stdin))"
    ),
    "stdout caught and read": code(
        "import contextlib, io\ndef solve(n):\n    with contextlib.redirect_stdout(io.StringIO()) as out:\n        print(n * 10, end='')\n    return int(out.getvalue())"
    ),
    "stdout replaced for speed": code(
        "import io, os, sys\nprint = sys.stdout.write\ndef solve(n):\n    print(str(n)); sys.stdout.flush()\n    return n * 10"
    ),
    "warnings": code(
        "import warnings\ndef solve(n):\n    warnings.warn('slow'); warnings.warn('old', DeprecationWarning)\n    return n * 10"
    ),
    "odd escapes and comparisons": code("P = '\\d'\ndef solve(n):\n    return 0 if n is 0 else n * 10"),
    "a coding cookie and a shebang": code(f"#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n{TENFOLD}"),
    "imports from the future": code(f"from __future__ import annotations\n{TENFOLD}"),
}

SHAPES = {
    "a lambda": code("solve = lambda n: n * 10"),
    "a decorated function": code(
        "import functools\ndef traced(f):\n    @functools.wraps(f)\n    def inner(*a, **k): return f(*a, **k)\n    return inner\n@traced\ndef solve(n):\n    return n * 10"
    ),
    "a cached function": code(
        "from functools import cache\n@cache\ndef solve(n):\n    return 0 if n == 0 else 10 + solve(n - 1)"
    ),
    "a name for another function": code("def tenfold(n):\n    return n * 10\nsolve = tenfold"),
    "a bound method": code("class Solution:\n    def solve(self, n): return n * 10\nsolve = Solution().solve"),
    "an object that can be called": code("class Tenfold:\n    def __call__(self, n): return n * 10\nsolve = Tenfold()"),
    "a partial function": code("from functools import partial\nfrom operator import mul\nsolve = partial(mul, 10)"),
    "default arguments": code("def solve(n, factor=10, *, extra=0):\n    return n * factor + extra"),
    "any number of arguments": code("def solve(*args):\n    return sum(args)", ((1, 2, 3), 6), ((), 0)),
    "several arguments of all types": code(
        "def solve(a, b, c, d, e, f):\n    return [f, e, d, c, b, a]",
        ((1, 2.5, "x", None, True, [1, {"k": []}]), [[1, {"k": []}], True, None, "x", 2.5, 1]),
    ),
    "no arguments": code("def solve():\n    return 7", ((), 7)),
    "a closure": code(
        "def make(k):\n    def inner(n):\n        nonlocal k\n        k += 0\n        return n * k\n    return inner\nsolve = make(10)"
    ),
    "a global counter": code(
        "calls = 0\ndef solve(n):\n    global calls\n    calls += 1\n    return n * 10 + calls - 1"
    ),
    "an argument changed in place": code(
        "def solve(rows):\n    rows.sort()\n    return rows", (([3, 1, 2],), [1, 2, 3])
    ),
    "an async function": code("async def solve(n):\n    return n * 10"),
    "an async function that waits": code(
        "import asyncio\nasync def solve(n):\n    return sum(await asyncio.gather(*[asyncio.sleep(0.001, n)] * 1, *(asyncio.sleep(0, n) for _ in range(9))))"
    ),
    "asyncio.run": code(
        "import asyncio\nasync def one(n):\n    await asyncio.sleep(0)\n    return n\nasync def main(n):\n    async with asyncio.TaskGroup() as group:\n"
        "        tasks = [group.create_task(one(n)) for _ in range(10)]\n    return sum(t.result() for t in tasks)\ndef solve(n):\n    return asyncio.run(main(n))"
    ),
    "an event loop by hand": code(
        "import asyncio\ndef solve(n):\n    loop = asyncio.new_event_loop()\n    try:\n        return loop.run_until_complete(asyncio.wait_for(asyncio.sleep(0.001, n * 10), 5))\n    finally:\n        loop.close()"
    ),
    "asyncio with a thread": code(
        "import asyncio\ndef solve(n):\n    return asyncio.run(asyncio.to_thread(lambda: n * 10))"
    ),
    "threads": code(
        "import threading\ndef solve(n):\n    total = []\n    lock = threading.Lock()\n    def add():\n        with lock: total.append(n)\n"
        "    threads = [threading.Thread(target=add) for _ in range(10)]\n    [t.start() for t in threads]; [t.join() for t in threads]\n    return sum(total)"
    ),
    "a thread that is left behind": code(
        "import threading, time\ndef solve(n):\n    threading.Thread(target=time.sleep, args=(60,)).start()\n    return n * 10"
    ),
    "a pool of threads": code(
        "from concurrent.futures import ThreadPoolExecutor\ndef solve(n):\n    with ThreadPoolExecutor(8) as pool:\n        return sum(pool.map(lambda _: n, range(10)))"
    ),
    "a queue between threads": code(
        "import queue, threading\ndef solve(n):\n    q = queue.Queue()\n    threading.Thread(target=lambda: [q.put(n) for _ in range(10)], daemon=True).start()\n    return sum(q.get() for _ in range(10))"
    ),
    "a thread with a large stack": code(
        "import sys, threading\ndef deep(n):\n    return 0 if n == 0 else 1 + deep(n - 1)\ndef solve(n):\n    sys.setrecursionlimit(10**6)\n    threading.stack_size(64 * 2**20)\n"
        "    out = []\n    t = threading.Thread(target=lambda: out.append(deep(n)))\n    t.start(); t.join()\n    return out[0]",
        ((20_000,), 20_000),
    ),
    "a stack without a bound, as in contests": code(
        "import resource, sys, threading\nresource.setrlimit(resource.RLIMIT_STACK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
        "sys.setrecursionlimit(10**7)\ndef solve(n):\n    return 0 if n == 0 else 1 + solve(n - 1)",
        ((10_000,), 10_000),
    ),
    "a thread with a stack of 128 MB, as in contests": code(
        "import sys, threading\nsys.setrecursionlimit(1 << 20)\nthreading.stack_size(1 << 27)\ndef solve(n):\n    out = []\n    def f(k): return 0 if k == 0 else 1 + f(k - 1)\n"
        "    t = threading.Thread(target=lambda: out.append(f(n))); t.start(); t.join()\n    return out[0]",
        ((10_000,), 10_000),
    ),
    "a timer": code(
        "import threading\ndef solve(n):\n    done = threading.Event()\n    threading.Timer(0.01, done.set).start()\n    return n * 10 if done.wait(9) else 0"
    ),
    "recursion 10,000 deep": code(
        "import sys\nsys.setrecursionlimit(10**6)\ndef solve(n):\n    return 0 if n == 0 else 1 + solve(n - 1)",
        ((10_000,), 10_000),
        ((900,), 900),
    ),
    "recursion 10,000 deep by way of C": code(
        "import sys\nfrom functools import lru_cache\nsys.setrecursionlimit(50_000)\n@lru_cache(None)\ndef down(n):\n    return 0 if n == 0 else 1 + down(n - 1)\n"
        "def solve(n):\n    return down(n)",
        ((10_000,), 10_000),
    ),
    "recursion that is caught": code(
        "def f(): return f()\ndef solve(n):\n    try: f()\n    except RecursionError: return n * 10"
    ),
    "generators inside": code(
        "from itertools import accumulate, chain, islice\ndef naturals():\n    n = 0\n    while True:\n        yield n; n += 1\n"
        "def both():\n    yield from islice(naturals(), 3)\n    yield from chain([9], [8])\ndef solve(n):\n    return list(accumulate(both()))[-1] + n * 10 - 20"
    ),
    "a match statement": code(
        "def solve(x):\n    match x:\n        case {'op': 'add', 'args': [a, b]}: return a + b\n        case [first, *_]: return first\n        case str() as s if s: return s.upper()\n        case _: return None",
        (({"op": "add", "args": [1, 2]},), 3),
        (([5, 6],), 5),
        (("x",), "X"),
        ((0,), None),
    ),
    "walrus, star and unpacking": code(
        "def solve(n):\n    if (m := n) is not None:\n        a, *b = [m] * 10\n        return sum([a, *b])"
    ),
    "nested comprehensions and f-strings": code(
        "def solve(n):\n    return {f'{i:02d}': [j for j in range(i) if j % 2] for i in range(n)}",
        ((3,), {"00": [], "01": [], "02": [1]}),
    ),
    "try, else, finally and exception groups": code(
        "def solve(n):\n    try:\n        raise ExceptionGroup('g', [ValueError(1), KeyError(2)])\n    except* ValueError: x = 1\n    except* KeyError: y = 2\n"
        "    try: int('x')\n    except ValueError as error: z = len(error.args)\n    else: z = 9\n    finally: w = 6\n    return n * (x + y + z + w)"
    ),
    "a context manager": code(
        "from contextlib import ExitStack, contextmanager, suppress\n@contextmanager\ndef ten():\n    yield 10\ndef solve(n):\n    with suppress(KeyError), ExitStack() as s, ten() as k:\n        s.callback(print)\n        return n * k"
    ),
}

CLASSES = {
    "dataclasses": code(
        "from dataclasses import asdict, dataclass, field\n@dataclass(order=True)\nclass P:\n    x: int\n    tags: list[str] = field(default_factory=list)\n"
        "@dataclass(frozen=True, slots=True, kw_only=True)\nclass Q:\n    k: int = 10\ndef solve(n):\n    return asdict(max(P(n), P(n * Q(k=10).k)))",
        ((4,), {"x": 40, "tags": []}),
    ),
    "dataclasses with annotations as text": code(
        "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom typing import ClassVar\n@dataclass(slots=True)\nclass Node:\n    k: ClassVar[int] = 10\n    n: int = 0\n    next: Node | None = None\n"
        "def solve(n):\n    return Node(n, Node(1)).n * Node.k"
    ),
    "named tuples": code(
        "from collections import namedtuple\nfrom typing import NamedTuple\nclass P(NamedTuple):\n    x: int\n    y: int = 2\nQ = namedtuple('Q', 'a b')\ndef solve(n):\n    return [P(n), Q(1, 2)]",
        ((1,), [[1, 2], [1, 2]]),
    ),
    "enums": code(
        "from enum import Enum, Flag, IntEnum, auto\nclass C(Enum):\n    A = auto()\n    B = auto()\nclass K(IntEnum):\n    TEN = 10\nclass F(Flag):\n    X = 1\n    Y = 2\n"
        "def solve(n):\n    return n * K.TEN.value * C.A.value if F.X in (F.X | F.Y) else 0"
    ),
    "typing": code(
        "from typing import Generic, Literal, Optional, Protocol, TypeAlias, TypeVar, runtime_checkable\nT = TypeVar('T')\nRow: TypeAlias = list[int | None]\n"
        "@runtime_checkable\nclass Sized(Protocol):\n    def size(self) -> int: ...\nclass Box(Generic[T]):\n    def __init__(self, x: T) -> None: self.x = x\n    def size(self) -> int: return 10\n"
        "def solve(n: Optional[int]) -> Literal[40] | int:\n    b: Box[int] = Box[int](n)\n    return b.x * b.size() if isinstance(b, Sized) else -1"
    ),
    "abstract classes, properties and slots": code(
        "from abc import ABC, abstractmethod\nclass Shape(ABC):\n    __slots__ = ('n',)\n    def __init__(self, n): self.n = n\n    @property\n    @abstractmethod\n    def area(self): ...\n"
        "class Box(Shape):\n    __slots__ = ()\n    @property\n    def area(self): return self.n * 10\n    @classmethod\n    def of(cls, n): return cls(n)\n    @staticmethod\n    def area_of(b): return b.area\n"
        "def solve(n):\n    return Box.area_of(Box.of(n))"
    ),
    "metaclasses and descriptors": code(
        "class Meta(type):\n    def __new__(cls, name, bases, ns): return super().__new__(cls, name, bases, {**ns, 'k': 10})\nclass Typed:\n    def __set_name__(self, owner, name): self.name = '_' + name\n    def __get__(self, o, t): return getattr(o, self.name)\n    def __set__(self, o, v): setattr(o, self.name, v)\n"
        "class A(metaclass=Meta):\n    n = Typed()\ndef solve(n):\n    a = A(); a.n = n\n    return a.n * a.k"
    ),
    "operators of its own": code(
        "from functools import total_ordering\n@total_ordering\nclass V:\n    def __init__(self, x): self.x = x\n    def __add__(self, o): return V(self.x + o.x)\n    def __eq__(self, o): return self.x == o.x\n    def __lt__(self, o): return self.x < o.x\n    def __hash__(self): return hash(self.x)\n    def __bool__(self): return True\n"
        "def solve(n):\n    return max(sum([V(n)] * 9, V(n)), V(-1)).x"
    ),
    "single dispatch": code(
        "from functools import reduce, singledispatch\n@singledispatch\ndef f(x): return 'other'\n@f.register\ndef _(x: int): return x * 10\n@f.register(str)\ndef _(x): return x.upper()\ndef solve(n):\n    return f(n)",
        ((4,), 40),
        (("a",), "A"),
        ((None,), "other"),
    ),
    "a class that is the answer's own dict": code(
        "from collections import Counter, OrderedDict, defaultdict\ndef solve(text):\n    d = defaultdict(int)\n    for c in text: d[c] += 1\n    return [Counter(text), d, OrderedDict(a=1)]",
        (("aab",), [{"a": 2, "b": 1}, {"a": 2, "b": 1}, {"a": 1}]),
    ),
    "a pickle of its own class": code(
        "import copy, pickle\nclass P:\n    def __init__(self, n): self.n = n\ndef solve(n):\n    p = copy.deepcopy(pickle.loads(pickle.dumps(P([n]))))\n    return copy.copy(p).n[0] * 10"
    ),
    "weak references and finalisers": code(
        "import gc, weakref\nclass A:\n    def __del__(self): seen.append(1)\nseen = []\ndef solve(n):\n    a = A(); r = weakref.ref(a); weakref.finalize(a, seen.append, 2)\n    del a; gc.collect()\n    return n * 10 if r() is None and sorted(seen) == [1, 2] else -1"
    ),
}

MODULES = {
    "big integers": code("def solve(n):\n    return 10 ** n + 1", ((4200,), 10**4200 + 1), ((3999,), 10**3999 + 1)),
    "integers of 100,000 bits inside": code(
        "def solve(n):\n    return pow(3, n) % 10**9 + (1 << n).bit_length()",
        ((100_000,), pow(3, 100_000) % 10**9 + 100_001),
    ),
    "long integers printed": code(
        "import sys\nsys.set_int_max_str_digits(0)\ndef solve(n):\n    return len(str(7 ** n))", ((10_000,), 8451)
    ),
    "fractions": code(
        "from fractions import Fraction as F\ndef solve(n):\n    x = sum(F(1, k) for k in range(1, n + 1))\n    return [x.numerator, x.denominator]",
        ((4,), [25, 12]),
    ),
    "decimals": code(
        "from decimal import Decimal, getcontext\ngetcontext().prec = 50\ndef solve(n):\n    return str(Decimal(1) / Decimal(n))",
        ((8,), "0.125"),
    ),
    "small, large and negative floats": code(
        "def solve(x):\n    return [x, -x, x * 1e-300, 1e308, -0.0, 0.1 + 0.2]",
        ((1.0,), [1.0, -1.0, 1e-300, 1e308, -0.0, 0.30000000000000004]),
    ),
    "floats within a tolerance": code(
        "import math\ndef solve(x):\n    return {'root': math.sqrt(x), 'whole': 4}",
        ((2.0,), {"root": 1.41421356, "whole": 4.0}),
        tolerance=1e-6,
    ),
    "complex numbers and statistics inside": code(
        "import cmath, statistics\ndef solve(xs):\n    return [statistics.median(xs), round(abs(cmath.exp(1j * cmath.pi) + 1), 9), statistics.mode(xs)]",
        (([1, 2, 2],), [2, 0.0, 2]),
    ),
    "heapq, bisect and deque": code(
        "import bisect, heapq\nfrom collections import deque\ndef solve(xs):\n    h = xs[:]; heapq.heapify(h)\n    d = deque(maxlen=2)\n    while h: d.append(heapq.heappop(h))\n    out = []\n    for x in xs: bisect.insort(out, x)\n    return [out, list(d)]",
        (([3, 1, 2],), [[1, 2, 3], [2, 3]]),
    ),
    "regular expressions and strings": code(
        "import re, string, textwrap\ndef solve(s):\n    return [re.findall(r'\\w+', s), string.ascii_lowercase[:2], textwrap.dedent('  x')]",
        (("a b",), [["a", "b"], "ab", "x"]),
    ),
    "a seeded generator": code(
        "import random\ndef solve(n):\n    r = random.Random(0)\n    random.seed(1); random.shuffle([1, 2])\n    return n * 10 if 0 <= r.random() < 1 and r.sample(range(9), 3) else 0"
    ),
    "randomness of the system": code(
        "import os, random, secrets, uuid\ndef solve(n):\n    return n * len(os.urandom(10)) if random.SystemRandom().random() < 1 and secrets.token_hex(2) and uuid.uuid4() else 0"
    ),
    "hashes": code(
        "import base64, binascii, hashlib, hmac, zlib\ndef solve(s):\n    b = s.encode()\n    return [hashlib.sha256(b).hexdigest()[:8], hashlib.md5(b).hexdigest()[:4], zlib.crc32(b), base64.b64encode(b).decode(), binascii.hexlify(b).decode()]",
        (("a",), ["ca978112", "0cc1", 3904355907, "YQ==", "61"]),
    ),
    "struct, array and memoryview": code(
        "import array, struct\ndef solve(n):\n    b = bytearray(struct.pack('<I', n)); memoryview(b)[0] = 9\n    return [*b, sum(array.array('q', [1, 2]))]",
        ((258,), [9, 1, 0, 0, 3]),
    ),
    "json, csv and io": code(
        "import csv, io, json\ndef solve(s):\n    return [json.loads(json.dumps({'a': s})), list(csv.reader(io.StringIO('1,2'))), json.dumps({1: 2})]",
        (("é",), [{"a": "é"}, [["1", "2"]], '{"1": 2}']),
    ),
    "dates": code(
        "import calendar, datetime, time\ndef solve(y):\n    d = datetime.date(y, 2, 28) + datetime.timedelta(1)\n    return [d.isoformat(), calendar.isleap(y), datetime.datetime.fromtimestamp(0, datetime.timezone.utc).year, time.strftime('%Y', time.gmtime(0))]",
        ((2024,), ["2024-02-29", True, 1970, "1970"]),
    ),
    "datetime.now and local time": code(
        "import datetime, time\ndef solve(n):\n    return n * 10 if datetime.datetime.now().year > 2000 and time.localtime().tm_year > 2000 and time.tzname else 0"
    ),
    "collections.abc and operator": code(
        "import operator\nfrom collections import ChainMap, UserDict\nfrom collections.abc import Iterable, Mapping\ndef solve(x):\n    return [isinstance(x, Mapping), isinstance(x, Iterable), operator.itemgetter('a')(ChainMap(UserDict(x)))]",
        (({"a": 1},), [True, True, 1]),
    ),
    "itertools": code(
        "from itertools import combinations, groupby, pairwise, permutations, product\ndef solve(n):\n    return [len(list(f)) for f in (permutations(range(n)), combinations(range(n), 2), product('ab', repeat=n), pairwise(range(n)), groupby('aab'))]",
        ((3,), [6, 3, 8, 2, 2]),
    ),
    "ast and eval of its own expressions": code(
        "import ast\ndef solve(s):\n    return [eval(s, {}), ast.literal_eval('[1, 2]'), eval(compile(ast.parse(s, mode='eval'), 'x', 'eval'))]",
        (("2*3",), [6, [1, 2], 6]),
    ),
    "exec that makes the function": code(
        "space = {}\nexec('def made(n): return n * 10', space)\nsolve = space['made']"
    ),
    "inspection of itself": code(
        "import inspect, sys\ndef solve(n):\n    return [str(inspect.signature(solve)), sys._getframe().f_code.co_name, __name__ != '__main__']",
        ((1,), ["(n)", "solve", True]),
    ),
    "a module that is not there": code(
        "try:\n    import numpy as np\nexcept ImportError:\n    np = None\ndef solve(n):\n    return n * 10 if np is None else int(np.int64(n * 10))"
    ),
    "graphs and topological order": code(
        "import graphlib\ndef solve(g):\n    return list(graphlib.TopologicalSorter(g).static_order())",
        (({"b": ["a"], "c": ["b"]},), ["a", "b", "c"]),
    ),
    "a database in memory": code(
        "import sqlite3\ndef solve(n):\n    db = sqlite3.connect(':memory:')\n    db.execute('create table t (x)'); db.executemany('insert into t values (?)', [(n,)] * 10)\n    return db.execute('select sum(x) from t').fetchone()[0]"
    ),
    "unicode data": code(
        "import unicodedata\ndef solve(s):\n    return [unicodedata.normalize('NFC', s), unicodedata.name('é'), s.casefold(), 'ß'.upper()]",
        (("e\u0301",), ["é", "LATIN SMALL LETTER E WITH ACUTE", "e\u0301", "SS"]),
    ),
    "the processors and the environment": code(
        "import os, platform, sys\ndef solve(n):\n    return n * 10 if os.cpu_count() and os.environ.get('HOME', '') is not None and os.getpid() and os.getcwd() and sys.version_info >= (3, 11) and platform.system() else 0"
    ),
    "a signal handler of its own": code(
        "import signal\ndef solve(n):\n    hits = []\n    signal.signal(signal.SIGALRM, lambda *_: hits.append(1))\n    signal.setitimer(signal.ITIMER_REAL, 0.01)\n    while not hits: signal.pause()\n    return n * 10"
    ),
    "an alarm that never comes": code("import signal\ndef solve(n):\n    signal.alarm(60)\n    return n * 10"),
    "an exit handler": code("import atexit\natexit.register(print, 'bye')\ndef solve(n):\n    return n * 10"),
    "exceptions that it catches itself": code(
        "import sys, traceback\ndef solve(n):\n    try: 1 / 0\n    except ZeroDivisionError: traceback.print_exc(); text = traceback.format_exc()\n    return n * 10 if 'ZeroDivisionError' in text else 0"
    ),
    "a time that it measures itself": code(
        "import time, timeit\ndef solve(n):\n    start = time.perf_counter(); timeit.timeit('1', number=10)\n    return n * 10 if time.perf_counter() >= start and time.process_time() >= 0 else 0"
    ),
    "profiling of itself": code(
        "import cProfile\ndef solve(n):\n    p = cProfile.Profile(); p.enable(); x = n * 10; p.disable()\n    return x"
    ),
    "fixed-width integers by ctypes": code(
        "import ctypes\ndef solve(x):\n    return [ctypes.c_int32(x).value, ctypes.c_uint8(-1).value]",
        ((2**31,), [-(2**31), 255]),
    ),
    "anonymous maps of memory": code(
        "import mmap\ndef solve(n):\n    with mmap.mmap(-1, 4096) as m:\n        m[:2] = b'ab'\n        return m.find(b'b') * n * 10"
    ),
    "faulthandler and tracemalloc": code(
        "import faulthandler, tracemalloc\nfaulthandler.disable(); tracemalloc.start()\ndef solve(n):\n    return n * 10 if tracemalloc.get_traced_memory()[0] else 0"
    ),
    "a trace of itself": code(
        "import sys\ndef solve(n):\n    seen = []\n    sys.settrace(lambda f, e, a: seen.append(e))\n    (lambda: 0)()\n    sys.settrace(None)\n    return n * 10 if seen else 0"
    ),
    "a locale and the width of a terminal": code(
        "import locale, shutil\nlocale.setlocale(locale.LC_ALL, '')\ndef solve(n):\n    return n * 10 if shutil.get_terminal_size().columns else 0"
    ),
    "identifiers by time": code("import uuid\ndef solve(n):\n    return n * 10 if uuid.uuid1() != uuid.uuid1() else 0"),
    "temporary buffers": code(
        "import tempfile\ndef solve(n):\n    with tempfile.SpooledTemporaryFile() as f:\n        f.write(b'x' * n); f.seek(0)\n        return len(f.read()) * 10"
    ),
}

VALUES = {
    "an empty list": code("def solve(n):\n    return []", ((1,), [])),
    "an empty dict": code("def solve(n):\n    return {}", ((1,), {})),
    "an empty string": code("def solve(n):\n    return ''", ((1,), "")),
    "None": code("def solve(n):\n    pass", ((1,), None)),
    "booleans": code("def solve(n):\n    return n > 1", ((1,), False), ((2,), True)),
    "a tuple of tuples": code("def solve(n):\n    return (n, (n, ()))", ((1,), [1, [1, []]])),
    "a nest of everything": code(
        "def solve(n):\n    return {'a': [{'b': (None, True, 1.5, 'x')}]}",
        ((1,), {"a": [{"b": [None, True, 1.5, "x"]}]}),
    ),
    "a nest 100 deep": code(
        "def solve(n):\n    x = 1\n    for _ in range(n): x = [x]\n    return x",
        ((100,), eval("[" * 100 + "1" + "]" * 100)),
    ),
    "keys in another order": code("def solve(n):\n    return {'b': 1, 'a': 2}", ((1,), {"a": 2, "b": 1})),
    "quotes, line ends and escapes": code(
        "def solve(s):\n    return s + '\"\\'\\\\\\n\\t\\0\\x1b'", (("a",), "a\"'\\\n\t\0\x1b")
    ),
    "every script and an emoji": code(
        "def größe(s): return s\ndef solve(s):\n    π = größe(s)\n    print(π, '🎉')\n    return π + '日本語 عربى 🎉👨\u200d👩'",
        (("naïve",), "naïve日本語 عربى 🎉👨\u200d👩"),
    ),
    "lone control characters and separators": code(
        "def solve(s):\n    return s[::-1]", (("a\u2028b\u0085c\x7f",), "\x7fc\u0085b\u2028a")
    ),
    "a string of 200 kB": code("def solve(n):\n    return 'ab' * n", ((100_000,), "ab" * 100_000)),
    "a list of 30,000 numbers": code("def solve(n):\n    return list(range(n))", ((30_000,), list(range(30_000)))),
    "the same list twice": code("def solve(n):\n    row = [0] * n\n    return [row] * 3", ((2,), [[0, 0]] * 3)),
    "a range turned into a list": code(
        "def solve(n):\n    return sorted(set(range(n)) | {n}, reverse=True)", ((2,), [2, 1, 0])
    ),
    "a large input": code("def solve(xs):\n    return sum(xs)", ((list(range(60_000)),), 1_799_970_000)),
    "an enum of integers": code(
        "from enum import IntEnum\nclass K(IntEnum):\n    TEN = 10\ndef solve(n):\n    return [K.TEN, n]",
        ((1,), [10, 1]),
    ),
    "an enum of strings": code(
        "from enum import StrEnum\nclass K(StrEnum):\n    A = 'a'\ndef solve(n):\n    return {'k': K.A}",
        ((1,), {"k": "a"}),
    ),
}

CONTAINERS = {
    "a set where one is declared": code(
        "def solve(xs):\n    return set(xs)", (([3, 1, 3, 2],), [1, 2, 3]), containers=["set"]
    ),
    "a frozenset of tuples": code(
        "def solve(n):\n    return frozenset({(2, 'b'), (1, 'a')})", ((1,), [[1, "a"], [2, "b"]]), containers=["set"]
    ),
    "sets in a dict": code(
        "def solve(n):\n    return {'a': {n}, 'b': [set()]}", ((1,), {"a": [1], "b": [[]]}), containers=["set"]
    ),
    "integer keys where they are declared": code(
        "def solve(n):\n    return {n: 'x', 1: [{}]}", ((2,), [[1, [[]]], [2, "x"]]), containers=["int_keys"]
    ),
    "a Counter of integers": code(
        "from collections import Counter\ndef solve(xs):\n    return Counter(xs)",
        (([5, 1, 5],), [[1, 1], [5, 2]]),
        containers=["int_keys"],
    ),
    "sets and integer keys together": code(
        "def solve(n):\n    return {n: {2, 1}}", ((1,), [[1, [1, 2]]]), containers=["set", "int_keys"]
    ),
}

FOLDERS = {
    "a temporary file": code(
        "import tempfile\ndef solve(n):\n    with tempfile.TemporaryFile('w+') as f:\n        f.write(str(n * 10)); f.seek(0)\n        return int(f.read())",
        scratch=True,
    ),
    "a temporary folder": code(
        "import pathlib, tempfile\ndef solve(n):\n    with tempfile.TemporaryDirectory() as d:\n        p = pathlib.Path(d, 'é.txt'); p.write_text('x' * n)\n        return p.stat().st_size * 10",
        scratch=True,
    ),
    "files in its folder": code(
        "import os\ndef solve(n):\n    assert os.listdir() == []\n    with open('a.txt', 'w') as f: f.write('x' * n)\n    os.rename('a.txt', 'b.txt'); os.mkdir('d')\n    return os.path.getsize('b.txt') * len(os.listdir()) * 5",
        scratch=True,
    ),
    "a database in a file": code(
        "import sqlite3\ndef solve(n):\n    with sqlite3.connect('a.db') as db:\n        db.execute('create table t (x)'); db.execute('insert into t values (?)', (n,))\n    return sqlite3.connect('a.db').execute('select x * 10 from t').fetchone()[0]",
        scratch=True,
    ),
    "10 MB in a file": code(
        "def solve(n):\n    with open('a', 'wb') as f: f.write(b'x' * (10 << 20))\n    with open('a', 'rb') as f: return len(f.read()) // (1 << 20) * n",
        scratch=True,
    ),
}

STACK = ([[], [["push", 1], ["push", 2], ["pop"], ["size"], ["pop"]]], [None, None, 2, 1, 1])


def made_of(source: str, *calls: tuple[list[Any], Any]) -> Honest:
    return code(source, *((tuple(args), values) for args, values in calls), form="class")


OBJECTS = {
    "a class": made_of(
        "class solve:\n    def __init__(self): self.x = []\n    def push(self, v): self.x.append(v)\n    def pop(self): return self.x.pop()\n    def size(self): return len(self.x)",
        STACK,
    ),
    "a class with slots, properties and a base": made_of(
        "class Base:\n    __slots__ = ('x',)\n    def __init__(self): self.x = []\n    def push(self, v): self.x.append(v)\nclass solve(Base):\n    __slots__ = ()\n    @property\n    def last(self): return self.x[-1]\n"
        "    def pop(self):\n        v = self.last\n        del self.x[-1]\n        return v\n    def size(self): return len(self)\n    def __len__(self): return len(self.x)",
        STACK,
    ),
    "a class with its base in a fence before it": Honest(
        "```python\nclass Base:\n    def __init__(self): self.x = []\n    def push(self, v): self.x.append(v)\n```\nand\n"
        "```python\nclass solve(Base):\n    def pop(self): return self.x.pop()\n    def size(self): return len(self.x)\n```",
        ((tuple(STACK[0]), STACK[1]),),
        {"form": "class"},
    ),
    "a dataclass": made_of(
        "from dataclasses import dataclass, field\n@dataclass\nclass solve:\n    x: list = field(default_factory=list)\n    def push(self, v): self.x.append(v)\n    def pop(self): return self.x.pop()\n    def size(self): return len(self.x)",
        STACK,
    ),
    "a class with arguments, defaults and keywords": made_of(
        "class solve:\n    def __init__(self, cap, *, step=1, **rest): self.cap, self.step, self.n = cap, step, 0\n    def add(self, *xs, k=1):\n        self.n = min(self.cap, self.n + sum(xs) * k * self.step)\n        return self.n",
        ([[5], [["add", 1, 2], ["add"], ["add", 9]]], [3, 3, 5]),
        ([[1], [["add", 0]]], [0]),
    ),
    "a class method, a static method and a generator": made_of(
        "class solve:\n    made = 0\n    def __init__(self):\n        type(self).made += 1\n        self.g = self._count()\n    def _count(self):\n        n = 0\n        while True: n += 1; yield n\n    def next(self): return next(self.g)\n    @classmethod\n    def count(cls): return cls.made\n    @staticmethod\n    def twice(n): return n * 2",
        ([[], [["next"], ["next"], ["count"], ["twice", 4]]], [1, 2, 1, 8]),
        ([[], [["next"], ["count"]]], [1, 1]),
    ),
    "a class that gives its own growing list": made_of(
        "class solve:\n    def __init__(self): self.x = []\n    def add(self, v):\n        self.x.append(v)\n        return self.x",
        ([[], [["add", 1], ["add", 2]]], [[1], [1, 2]]),
    ),
    "a class that catches its own errors": made_of(
        "class solve:\n    def __init__(self): self.x = {}\n    def get(self, k):\n        try: return self.x[k]\n        except KeyError: return None\n    def put(self, k, v): self.x[k] = v",
        ([[], [["get", "a"], ["put", "a", [1]], ["get", "a"]]], [None, None, [1]]),
    ),
    "a class with async methods": made_of(
        "import asyncio\nclass solve:\n    def __init__(self): self.q = None\n    async def put(self, v):\n        self.q = self.q or asyncio.Queue()\n        await self.q.put(v)\n    async def get(self): return await asyncio.wait_for(self.q.get(), 5)\n    def size(self): return self.q.qsize()",
        ([[], [["put", 1], ["put", 2], ["get"], ["size"]]], [None, None, 1, 1]),
    ),
    "a class that is a dict": made_of(
        "from collections import OrderedDict\nclass solve(OrderedDict):\n    def put(self, k, v):\n        self[k] = v\n        self.move_to_end(k)\n    def first(self): return next(iter(self))",
        ([[], [["put", "a", 1], ["put", "b", 2], ["put", "a", 3], ["first"]]], [None, None, None, "b"]),
    ),
    "a class that another name stands for": made_of(
        "class Counter:\n    def __init__(self): self.n = 0\n    def hit(self): self.n += 1; return self.n\nsolve = Counter",
        ([[], [["hit"], ["hit"]]], [1, 2]),
    ),
}

COSTS = {
    "a sleep": code("import time\ndef solve(n):\n    time.sleep(0.1)\n    return n * 10", ((4,), 40)),
    "300 MB of memory": code(
        "def solve(n):\n    block = bytearray(300 * 2**20)\n    block[::4096] = b'x' * len(block[::4096])\n    return n * 10",
        ((4,), 40),
        is_slow=True,
    ),
    "a second of CPU": code(
        "import time\ndef solve(n):\n    while time.process_time() < 1.0: sum(range(1000))\n    return n * 10",
        ((4,), 40),
        is_slow=True,
    ),
    "a second of CPU while loading, less in the call": code(
        "import time\nwhile time.process_time() < 1.0: sum(range(1000))\ndef solve(n):\n    return n * 10",
        ((4,), 40),
        is_slow=True,
    ),
    "many small objects": code(
        "def solve(n):\n    return sum(len(d) for d in [{i: str(i)} for i in range(n)])",
        ((200_000,), 200_000),
        is_slow=True,
    ),
    "a sieve": code(
        "def solve(n):\n    s = bytearray([1]) * n; s[:2] = b'\\0\\0'\n    for i in range(2, int(n ** 0.5) + 1):\n        if s[i]: s[i * i::i] = bytes(len(s[i * i::i]))\n    return sum(s)",
        ((1_000_000,), 78_498),
    ),
    "garbage in circles": code(
        "import gc\ndef solve(n):\n    for _ in range(20_000):\n        a = []; a.append(a)\n    gc.collect(); gc.disable(); gc.freeze()\n    return n * 10"
    ),
}

HONEST: dict[str, Honest] = {
    name: honest
    for table in (REPLIES, SCRIPTS, SHAPES, CLASSES, MODULES, VALUES, CONTAINERS, FOLDERS, OBJECTS, COSTS)
    for name, honest in table.items()
}


@pytest.fixture(scope="module")
def marked(sandbox) -> Callable[..., Finding]:
    def marked(honest: Honest, last: Any) -> Finding:
        """The finding about a program where `last` is right for its last call."""
        *calls, (args, _) = honest.calls
        case = made.case(
            "coding/honest/easy.0",
            expected=[{"args": list(args), "returns": value} for args, value in [*calls, (args, last)]],
            grading=Grading("program", {"entry": "solve", **honest.settings}),
        )
        return mark(case, (made.reply(honest.text),), lambda program: execute(sandbox, program))[0]

    return marked


def neighbour(value: Any) -> Any:
    """Another value, as near as its type allows."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value + "x"
        case list():
            return [*value[:-1], neighbour(value[-1])] if value else [None]
        case dict():
            return {**value, "x": None}
        case _:
            return 0


every_program = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if honest.is_slow else ()) for name, honest in HONEST.items()]
)


@every_program
def test_no_honest_program_fails(name, marked):
    honest = HONEST[name]
    finding = marked(honest, honest.calls[-1][1])
    assert (finding.outcome, finding.why) == ("pass", "")


@every_program
def test_the_same_program_fails_where_another_value_is_right(name, marked):
    honest = HONEST[name]
    finding = marked(honest, neighbour(honest.calls[-1][1]))
    assert finding.outcome == "fail"
    assert [element.passed for element in finding.elements] == [True] * (len(honest.calls) - 1) + [False]
