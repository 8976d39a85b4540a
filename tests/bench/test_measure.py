import asyncio

import msgspec
import pytest
from timed_model import TimedModel

from crucibleforge.bench.measure import Measurement
from crucibleforge.bench.measured import Measured
from crucibleforge.bench.protocol import Options
from crucibleforge.errors import Trouble
from crucibleforge.speed.goodput import parse


def run(model, tell=lambda _: None, **options):
    measurement = Measurement(model, Options(options.pop("run_id", "r"), **options), tell, model.clock)
    asyncio.run(measurement.run())
    return measurement.result()


def names(found):
    return [cell.name for cell in found.cells]


def test_a_quick_run_measures_lengths_reading_and_cache_in_under_a_minute():
    found = run(TimedModel(), mode="quick")
    assert names(found) == ["warm-up", "short_50", "medium_200", "long_800", "prefill 256", "prefill 2048", "cached 2048", "again"]
    assert (found.is_whole, found.is_unsteady, found.decode.n, found.took_s < 60) == (True, False, 6, True)
    assert found.decode.median == pytest.approx(100.0)
    assert found.prefill.per_s == pytest.approx(1000.0, rel=0.01)
    assert found.prefill.overhead_s == pytest.approx(0.01, abs=0.005)
    assert found.cached[0].cached_share > 0.95
    assert found.cached[0].next_s < found.cached[0].first_s / 5
    assert "the server refuses min_p" in found.notes


def test_its_figures_agree_with_the_servers_own():
    checks = {check.what: check for check in run(TimedModel(), mode="quick").checks}
    assert checks.keys() == {"decode", "prompt tokens", "first token", "prefill"}
    assert all(check.agrees for check in checks.values())


@pytest.mark.parametrize("speed", [1000.0, 30.0, 8.0, 2.0, 1.0])
def test_quick_stays_under_a_minute_however_slow_the_model(speed):
    found = run(TimedModel(speed=lambda _: speed, reading=5 * speed), mode="quick")
    assert found.took_s < 60
    # The slowest has no time for more than to warm up, and even then there is a rate.
    rates = [cell.decode.median for cell in found.cells if cell.decode is not None]
    assert rates == [pytest.approx(speed)] * len(rates)
    assert rates


def test_sweeps_that_were_asked_for_come_on_top_of_quicks_minute():
    found = run(TimedModel(speed=lambda _: 12.0), mode="quick", concurrency=(2,), depths=(1000,))
    assert found.took_s > 60
    kinds = [cell.kind for cell in found.cells]
    assert (kinds.count("load"), kinds.count("depth"), kinds[-1]) == (2, 1, "again")


def test_what_there_was_no_time_for_is_said():
    # The machine slows down to a third after the warm-up.
    found = run(TimedModel(speed=lambda number: 40.0 if number < 2 else 15.0), mode="quick")
    assert found.took_s < 80
    assert any("out of time" in note for note in found.notes)
    # Repeats were lost, and not what comes after them.
    assert {cell.kind for cell in found.cells} >= {"length", "prefill", "cached"}


def test_a_machine_that_does_not_come_back_is_unsteady():
    count = len(Requests.of("default"))
    found = run(TimedModel(speed=lambda number: 90.0 if number >= count - 4 else 100.0))
    assert (found.is_unsteady, found.came_back.is_steady, round(found.came_back.change, 2)) == (True, False, -0.1)


def test_30_a_tenth_lost_along_the_way_is_a_drift():
    found = run(TimedModel(speed=lambda number: 100.0 * (1 - 0.10 * number / 34)))
    assert (found.drift.is_drifting, found.is_unsteady) == (True, True)


class Requests:
    """What a mode sends."""

    @staticmethod
    def of(mode, **options):
        model = TimedModel()
        run(model, mode=mode, **options)
        return model.requests


def test_the_first_words_of_every_prompt_differ():
    openings = [request.messages[0].content[:16] for request in Requests.of("default")]
    # A conversation that goes on opens as it did.
    assert len(set(openings)) == len(openings) - 1


def test_every_request_is_traced_and_asks_for_no_cache_but_to_measure_it():
    requests = Requests.of("quick")
    assert all(request.is_traced and request.extra["ignore_eos"] and request.extra["temperature"] == 0.0 for request in requests)
    assert [request.extra["cache_prompt"] for request in requests].count(True) == 2


def test_speed_only_measures_what_default_does():
    assert len(Requests.of("speed-only")) == len(Requests.of("default"))


def test_depths_are_reached_by_conversation_and_told_by_the_servers_count():
    found = run(TimedModel(), depths=(1000, 2000, 9000))
    depths = {cell.name: cell for cell in found.cells if cell.kind == "depth"}
    assert depths.keys() == {"depth 1000", "depth 2000"}
    assert depths["depth 2000"].depth_tokens == pytest.approx(2000, rel=0.1)
    assert depths["depth 2000"].decode.n == 6
    assert "depth 9000 does not fit the window and is left out" in found.notes


def test_23_a_prompt_that_the_server_cut_is_told():
    found = run(TimedModel(cut=300), depths=(2000,))
    assert [cell.name for cell in found.cells if cell.is_cut] == ["prefill 2048", "cached 2048", "depth 2000"]
    assert any(note.startswith("depth 2000: the server read far fewer tokens") for note in found.notes)


def test_21_a_queue_of_four_requests_on_two_slots_is_seen():
    found = run(TimedModel(), mode="quick", concurrency=(4,), slo=parse("ttft=800ms"))
    rows = {row.streams: row for row in found.loads}
    assert rows.keys() == {1, 4}
    assert (rows[1].queue_s, rows[4].queue_s is not None, rows[4].failures) == (None, True, 0)
    assert rows[4].wait.most == pytest.approx(1.01, abs=0.02)
    assert rows[4].requests >= 12
    assert 0 < rows[4].goodput.met < rows[4].goodput.total


def test_more_streams_than_gain_anything_are_left_out_and_that_is_said():
    found = run(TimedModel(slots=1), concurrency=(2, 4, 8))
    assert [row.streams for row in found.loads] == [1, 2]
    assert {"load 4", "load 8"} == {note.split(" is ")[0] for note in found.notes if "gain nothing" in note}


@pytest.mark.slow
def test_a_full_run_adds_texts_depths_loads_soak_and_the_users_sampling():
    found = run(TimedModel(window=40_000), mode="full")
    kinds = {cell.kind for cell in found.cells}
    assert kinds == {"warm-up", "length", "prefill", "text", "sampling", "cached", "depth", "load", "soak", "again"}
    assert next(cell for cell in found.cells if cell.kind == "soak").samples[-1].is_whole
    assert len(found.prefill.segments) == 2
    assert [cell.decode.n for cell in found.cells if cell.kind == "text"] == [10, 10, 10]


def test_a_lost_reply_is_counted_and_no_figure_is_made_of_it():
    found = run(TimedModel(lose=lambda number: number == 4), mode="quick")
    lost = [cell for cell in found.cells if cell.failures]
    assert [(cell.name, cell.failures, cell.decode.n) for cell in lost] == [("long_800", 1, 1)]
    assert "long_800: 1 of 2 requests failed, the first: transport: gone" in found.notes
    assert found.decode.n == 5


def test_what_quick_itself_cuts_off_is_no_failure_of_the_server():
    model = TimedModel()

    def lose(number):
        if number == 4:
            model.now_s += 60
        return "timeout" if number == 4 else False

    model._lose = lose
    found = run(model, mode="quick")
    assert sum(cell.failures for cell in found.cells) == 0
    assert "long_800 is left out, or in part: out of time" in found.notes


def test_a_server_that_is_gone_is_not_asked_for_ever():
    model = TimedModel(lose=lambda number: number >= 5)
    found = run(model, mode="quick")
    assert len(model.requests) == 8
    assert "3 requests in a row failed: the rest is left out" in found.notes


def test_a_model_that_does_not_even_warm_up_is_trouble():
    with pytest.raises(Trouble, match="gone"):
        run(TimedModel(lose=lambda _: True))


def test_progress_tells_each_request_before_and_after_with_the_time_left():
    heard = []
    run(TimedModel(), heard.append, mode="quick")
    assert [progress.sample is None for progress in heard[:4]] == [True, False, True, False]
    assert (heard[4].cell, heard[4].rep, heard[4].reps) == ("short_50", 1, 2)
    lefts = [progress.left_s for progress in heard[4:] if progress.sample is None]
    assert lefts[0] == pytest.approx(28, rel=0.25)
    assert lefts[-1] < lefts[0] / 5


def test_an_interrupted_run_keeps_what_it_had():
    async def interrupted():
        model = TimedModel()

        def tell(progress):
            if progress.cell == "prefill 256" and progress.sample is None:
                asyncio.current_task().cancel()

        measurement = Measurement(model, Options("r"), tell, model.clock)
        with pytest.raises(asyncio.CancelledError):
            await measurement.run()
        return measurement.result()

    found = asyncio.run(interrupted())
    assert (found.is_whole, found.decode.n, found.took_s > 0) == (False, 18, True)


def test_what_was_measured_survives_being_written():
    found = run(TimedModel(), mode="quick", concurrency=(2,))
    written = msgspec.json.encode(found)
    assert msgspec.json.decode(written, type=Measured) == found
    assert b'"ttft_content_s"' in written
    assert b'"stamps_s"' in written
