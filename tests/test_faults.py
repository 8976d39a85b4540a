"""A run against each fault of a server: what becomes of the row, the log, the exit code, the key, and what is left behind."""

import asyncio
import base64
import json
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from urllib.parse import quote

import endpoint
import faulty
import oracle
import psutil
import pytest
from faulty import FAULTS, KEY, Fault

from crucibleforge.cli._carry import _done, conclude
from crucibleforge.cli._progress import Counts, shown
from crucibleforge.cli._screen import say
from crucibleforge.cli._work import Wanted, _plan, prepare
from crucibleforge.errors import CrucibleError
from crucibleforge.run.ask import Patience
from crucibleforge.run.schedule import Bench, carry_out
from crucibleforge.store import folder
from crucibleforge.store.log import NAME, opened
from crucibleforge.suite.expand import suite
from crucibleforge.suite.select import select
from crucibleforge.types import Attempt, Row, Selection, Verdict

MODES = range(1, 26)
CASES = ("math/mod-ladder/L[12].*", "math/absorbing-die/L[12].*")
COUNT = 4
MOST_BYTES = 300 * 1024 * 1024
KEY_FORMS = [
    KEY,
    base64.b64encode(KEY.encode()).decode(),
    base64.urlsafe_b64encode(KEY.encode()).decode(),
    base64.b64encode(b"Bearer " + KEY.encode()).decode(),
    quote(KEY, safe=""),
    KEY.encode().hex(),
    json.dumps(KEY).strip('"').replace("/", "\\/"),
]


@pytest.fixture(scope="module")
def known():
    """The right words for each question."""
    chosen = select(suite(), Selection(cases=CASES))
    return {oracle.first_message(case): oracle.right_replies(case)[-1].text for case in chosen}


@dataclass
class Server:
    """Strikes the case that comes up as number `place`; remembers what each case was asked with."""

    fault: Fault | None
    place: int
    known: dict[str, str]
    other: str

    def __post_init__(self):
        self.asked = Counter()

    def __call__(self, request: dict) -> Iterator[endpoint.Step]:
        first = next(message["content"] for message in request["messages"] if message["role"] == "user")
        self.asked[first] += 1
        words = self.known[first]
        is_struck = list(self.asked).index(first) == self.place
        if is_struck and self.fault is not None and not (self.fault.once and self.asked[first] > 1):
            return self.fault.steps(words, self.other)
        return endpoint.stream(endpoint.chat([{"content": words}], "stop", 40, "fake"))

    @property
    def struck(self) -> int:
        """How often the struck case was asked."""
        return list(self.asked.values())[self.place]


def configured(url: str, fault: Fault) -> None:
    timeout, stall = fault.settings.get("timeout", 30), fault.settings.get("stall_timeout_s", 30)
    verify = "true" if fault.settings.get("verify_model") else "false"
    Path("models.yaml").write_text(
        f"providers: {{p: {{base_url: '{url}', api_key_env: THE_KEY, concurrency: 1, timeout: {timeout}, verify_model: {verify}}}}}\n"
        "models: [{name: m, provider: p, model_id: fake, thinking: false}]\n"
        f"defaults: {{stall_timeout_s: {stall}}}\n"
    )


def carried(patience: Patience) -> tuple[int, list[Row]]:
    """What `crucibleforge run` does, with this much patience; its exit code and the rows."""
    want = Wanted(
        models=("m",),
        selection=Selection(cases=CASES),
        form="canonical",
        repeats=None,
        max_cost=None,
        max_minutes=None,
        fresh=False,
        plan_only=False,
        yes=True,
        allow_unsandboxed=False,
        results_path=Path("results"),
        config_path=None,
        as_json=False,
    )
    ready = prepare(want)
    plan = _plan(ready, "not needed")
    run = folder.find(ready.results, plan.key) or folder.create(ready.results, plan, ready.cases)
    try:
        with opened(run.folder) as log, shown(Counts(0, COUNT)) as watch:
            bench = Bench(run=run, log=log, execute=None, halt=lambda: None, watch=watch, patience=patience)
            unfinished = asyncio.run(carry_out(bench))
    except CrucibleError as error:
        say(f"{error.message} {error.hint}")
        return error.exit_code, run.rows()
    return conclude(_done(run, unfinished)), run.rows()


def held() -> tuple[int, int, int, int]:
    """What this process holds: children, threads, sockets, descriptors."""
    here = psutil.Process()
    return len(here.children(recursive=True)), threading.active_count(), len(here.net_connections()), here.num_fds()


def peak_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return 1024 * int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))


def check_log(run_folder: Path) -> None:
    """Each line can be read; no job was answered twice or marked twice."""
    run = folder.load(run_folder)
    events, problems = run.events()
    assert problems == []
    assert (run_folder / NAME).read_bytes().endswith(b"\n")
    answered = Counter(event.job for event in events if isinstance(event, Attempt) and event.failure is None)
    marked = Counter(event.job for event in events if isinstance(event, Verdict))
    assert set((answered | marked).values()) <= {1}
    assert len(run.rows()) == COUNT


def check_key(said: str) -> None:
    written = [path.read_bytes().decode("utf-8", "replace") for path in Path("results").rglob("*") if path.is_file()]
    assert len(written) >= 3
    for text in (said, *written):
        assert not [form for form in KEY_FORMS if form in text]


def cells():
    for mode in MODES:
        for is_streamed in (True, False):
            faults = [fault for fault in FAULTS if (fault.mode, fault.is_streamed) == (mode, is_streamed)]
            for place in (0, 2):
                name = f"{mode:02}-{'stream' if is_streamed else 'plain'}-{'first' if place == 0 else 'middle'}"
                yield pytest.param(faults, place, id=name)


def test_there_are_a_hundred_cells_and_none_is_empty():
    assert len(list(cells())) == 100
    assert all(cell.values[0] for cell in cells())
    assert len({str(fault) for fault in FAULTS}) == len(FAULTS)


@pytest.mark.slow
@pytest.mark.parametrize(("faults", "place"), list(cells()))
def test_a_fault_costs_its_own_row_at_most_and_nothing_else(faults, place, known, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("THE_KEY", KEY)
    before = held()
    Path("/proc/self/clear_refs").write_text("5")
    rss = psutil.Process().memory_info().rss
    for fault in faults:
        (tmp_path / str(fault)).mkdir()
        monkeypatch.chdir(tmp_path / str(fault))
        one_fault(fault, place, known, capfd)
    assert peak_bytes() - rss < MOST_BYTES
    until = monotonic() + 5
    while held() != before and monotonic() < until:
        pass
    assert held() == before


def one_fault(fault: Fault, place: int, known: dict[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    with endpoint.serving(lambda _: endpoint.text("trapped")) as trap:
        server = Server(fault, place, known, trap.url)
        with endpoint.serving(server) as serving:
            configured(serving.url, fault)
            code, rows = carried(fault.patience)
            serving.back()
            (run_folder,) = Path("results/runs").iterdir()
            check_log(run_folder)
            check_row(fault, server, code, rows, place)
            asked = sum(server.asked.values())
            owed = sum(not row.is_settled for row in rows)
            server.fault = None
            if owed:
                code, rows = carried(faulty.QUICK)
                check_log(run_folder)
                assert (code, [row.verdict.outcome for row in rows]) == (0, ["pass"] * COUNT), fault
                assert sum(server.asked.values()) - asked == owed, fault
        assert trap.headers == []
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err, fault
    check_key(out + err)


def check_row(fault: Fault, server: Server, code: int, rows: list[Row], place: int) -> None:
    first = list(server.asked)[place]
    (row,) = [row for row in rows if row.case.dialogue.messages[-1].content == first]
    others = [other.verdict.outcome if other.verdict else "owed" for other in rows if other is not row]
    requests = fault.first_requests if fault.first_requests and place == 0 else fault.requests
    assert server.struck == requests, (fault, row.attempt)
    if fault.kind is None:
        assert row.attempt.failure is None, fault
        assert (code, row.verdict.outcome) == (0, fault.outcome), (fault, row)
        assert fault.holds(row.attempt.replies[-1]), (fault, row.attempt.replies)
    else:
        failure = row.attempt.failure
        assert failure is not None, (fault, row)
        assert (code, row.verdict, failure.kind, failure.tries) == (1, None, fault.kind, fault.tries or fault.requests), (fault, failure)
    if fault.gives_up:
        assert others.count("pass") == place, fault
    else:
        assert others == ["pass"] * (COUNT - 1), fault
