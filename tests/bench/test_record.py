import msgspec
from recorded import answers, measured, record

from crucibleforge.bench.abilities import CHECKS
from crucibleforge.bench.record import Record


def test_a_record_comes_back_from_json_as_it_was():
    made = record(measured(), answers())
    assert msgspec.json.decode(msgspec.json.encode(made), type=Record) == made


def test_a_summary_leaves_out_no_nought():
    made = msgspec.json.decode(msgspec.json.encode(record(measured(), answers([check.key for check in CHECKS]))))
    assert (made["summary"]["ability_passed"], made["summary"]["fitness_passed"]) == (0, 0)
    assert made["summary"]["json"]["right"] == 0


def test_every_timed_request_is_kept_with_its_raw_moments():
    made = msgspec.json.decode(msgspec.json.encode(record(measured())))
    cells = {cell["name"]: cell for cell in made["speed"]["cells"]}
    for name in ("short_50", "medium_200", "long_800"):
        assert cells[name]["samples"]
        for sample in cells[name]["samples"]:
            assert sample["ttft_content_s"] > 0
            assert sample["reply"]["timing"]["total_s"] > 0
