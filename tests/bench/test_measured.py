import pytest
import timed

from crucibleforge.bench.measured import Course, Kept, cell, measured, row_of
from crucibleforge.bench.protocol import Options, Planned
from crucibleforge.speed.client import verdict
from crucibleforge.speed.sample import failed, sample

S = 1_000_000_000


def taken(at_s=0.0, gap_s=0.01, **fields):
    return sample(timed.replied(timed.every(gap_s, 64, fields.pop("first_s", 0.1)), sent_ns=int(at_s * S), **fields))


def one(name, kind, samples, **fields):
    plan = Planned(name, kind, 1, len(samples), 64, 200, streams=fields.pop("streams", 1))
    sent = fields.pop("sent", [200] * len(samples))
    lanes = fields.pop("lanes", [0] * len(samples))
    return cell(Kept(plan=plan, samples=samples, lanes=lanes, sent_characters=sent, **fields), 4.0)


def found(*cells, is_whole=True, limits=((), 0.0, 1.0)):
    return measured(Options("r"), cells, Course(1.0, verdict(*limits), is_whole))


def test_22_a_warm_reply_is_kept_and_told_but_is_in_no_figure():
    got = one("medium_200", "length", [taken(), taken(gap_s=0.02, prompt=300, cached=290)])
    assert (len(got.samples), got.warm, got.decode.n, got.decode.median) == (2, 1, 1, pytest.approx(100.0))
    assert "medium_200: 1 of 2 prompts came out of a cache and are left out" in found(got).notes


def test_a_failure_is_counted_with_its_reason():
    got = one("medium_200", "length", [failed("timeout: x"), taken()])
    assert (got.failures, got.decode.n) == (1, 1)
    assert found(got).notes[0] == "medium_200: 1 of 2 requests failed, the first: timeout: x"


def test_23_a_prompt_counted_far_shorter_than_sent_was_cut():
    assert one("depth", "depth", [taken(prompt=500)], sent=[4000]).is_cut
    assert not one("depth", "depth", [taken(prompt=690)], sent=[4000]).is_cut


def test_a_trend_is_seen_across_cells_of_different_speed():
    short = one("short_50", "length", [taken(at_s, 0.010 * (1 + at_s / 100)) for at_s in range(0, 20, 2)])
    long = one("long_800", "length", [taken(at_s, 0.015 * (1 + at_s / 100)) for at_s in range(1, 20, 2)])
    got = found(short, long)
    assert (got.drift.n, got.drift.is_drifting, got.is_unsteady) == (20, True, True)


def test_a_first_cell_that_does_not_come_back_is_a_trend_as_well():
    got = found(one("medium_200", "length", [taken(n) for n in range(6)]), one("again", "again", [taken(90 + n, 0.011) for n in range(6)]))
    assert (got.came_back.is_steady, got.drift.is_drifting, got.is_unsteady) == (False, True, True)


def test_a_load_is_read_lane_by_lane():
    got = one("load 2", "load", [taken(0), taken(0.2), taken(0.8), taken(1.0)], streams=2, lanes=[0, 1, 0, 1])
    row = row_of(got, None, Options("r"))
    assert (row.streams, row.requests, row.steady_s) == (2, 4, pytest.approx(0.8 + 0.731 - 0.3))


def test_34_lag_that_grows_with_the_streams_alone_is_the_clients():
    timings = timed.stated()
    loads = [one(f"load {n}", "load", [taken(timings=timings)], streams=n, lag_p99_s=lag) for n, lag in ((1, 0.001), (8, 0.004))]
    assert found(*loads).client.limits == ("client-limited: its lag grew with the streams while the server kept its pace",)
    assert not found(*loads[:1]).client.is_limited


def test_a_doubt_is_said_once_and_none_of_the_warm_up():
    assert found(one("warm-up", "warm-up", [taken(source="timings")])).notes == ()
    assert found(one("medium_200", "length", [taken(source="timings")] * 2)).notes == ("counted by timings",)


def test_what_was_ended_early_says_so():
    assert (found(is_whole=False).is_whole, found().decode, found().prefill, found().checks) == (False, None, None, ())
