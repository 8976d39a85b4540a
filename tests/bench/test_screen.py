import msgspec
from recorded import SUBJECT, answers, measured, record

from crucibleforge.bench.record import Answer, Resident
from crucibleforge.bench.screen import compared, shown, table


def lines(*parts, **more):
    return shown(record(*parts, **more)).splitlines()


def test_it_begins_with_model_size_and_quant():
    assert lines(measured())[0] == "fake: 16.50 GB, Q4_K_M; on openai"


def test_speed_is_told_for_each_prompt_length_with_mean_beside_median():
    found = lines(measured())
    at = next(number for number, line in enumerate(found) if line.startswith("Speed"))
    assert found[at].split() == ["Speed", "tok/s", "95%", "interval", "mean", "TTFT", "s", "TTFT", "mean", "TTFT", "content", "n"]
    assert [line.split()[0] for line in found[at + 1 : at + 4]] == ["short_50", "medium_200", "long_800"]
    assert found[at + 1].split()[1] == "100.0"


def test_every_check_says_why():
    found = lines(measured(), answers(wrong={"pets", "brevity"}))
    assert "Ability: 4/5" in found
    assert "Agent fitness: 2/3" in found
    assert "  FAIL       Logic Puzzle (Pet Ownership): not as asked" in found
    assert "  pass       JSON Compliance: as asked" in found
    assert "  output/input length 0.40: brief enough" in found


def test_a_question_that_was_lost_is_no_failure():
    found = lines(measured(), [Answer(("shape",), (), failure="connection reset")])
    assert "  not asked  JSON Compliance: connection reset" in found


def test_the_verdict_stands_with_its_reason():
    found = lines(measured())
    at = next(number for number, line in enumerate(found) if line.startswith("Plausibility: "))
    assert "implies 1.65 TB/s" in found[at + 1]


def test_what_was_resident_is_said():
    found = lines(measured(), resident=Resident(("a", "b"), ("a",), ("b",)))
    assert "in memory before: a, b" in found
    assert "unloaded for the time: a" in found
    assert "in memory beside it: b (`--yes` unloads them for the time)" in found


def test_one_that_ended_early_says_so():
    assert lines(measured(), is_whole=False)[-1] == "note: ended early; this is what had been measured"


def test_streams_and_depths_have_tables():
    found = lines(measured(concurrency=(2,), depths=(1000,)))
    assert any(line.startswith("Streams") for line in found)
    assert any(line.startswith("Depth") for line in found)


def test_unknown_size_and_hardware_are_said():
    found = lines(subject=msgspec.structs.replace(SUBJECT, size_bytes=None, quant=None), hardware=None)
    assert found[0] == "fake: size not known, quant not known; on openai"
    assert found[1] == "hardware: not known (`--hardware` says it)"


def test_several_models_are_compared_in_one_table():
    header, rows = compared([record(measured(), answers()), record()])
    assert rows[0][:2] == ("fake", "16.50 GB")
    assert rows[0][6:] == ("5/5", "3/3", "2/2")
    assert rows[1][2:5] == ("-", "-", "-")
    assert len(table(header, rows)) == 3
