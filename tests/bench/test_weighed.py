import pytest
from recorded import measured

from crucibleforge.bench.weighed import Weighed, decode_plausibility, prefill_plausibility, weighed
from crucibleforge.providers._local import Offered
from crucibleforge.speed.bounds import Model
from crucibleforge.speed.hardware import parse_hardware


def test_a_file_says_most(builtin_gguf):
    known = weighed("builtin", builtin_gguf, Offered("other", size_bytes=1), None)
    assert (known.file, known.size_bytes, known.size_from, known.quant) == (builtin_gguf.name, 98_362_432, "file", "Q4_1")
    assert known.model.source == "header"


def test_without_a_file_the_servers_word_counts():
    known = weighed("qwen3-30b-a3b", None, Offered("qwen3-30b-a3b", size_bytes=18_000_000_000, params="30B-A3B"), None)
    assert (known.size_bytes, known.size_from, known.model.source) == (18_000_000_000, "server", "name")
    assert known.model.dense_bytes == pytest.approx(1.8e9)


def test_a_file_that_cannot_be_read_is_not_known(tmp_path):
    assert weighed("m", tmp_path / "none.gguf", None, None).model is None


@pytest.mark.parametrize(("device", "word"), [("RTX 5090", "plausible"), ("RTX 4090", "impossible")])
def test_what_is_measured_is_held_against_the_hardware(device, word):
    known = Weighed(Model(dense_bytes=16.5e9), parse_hardware([device]))
    assert decode_plausibility(known, measured()).word == word


def test_nothing_known_still_gives_a_verdict_in_words():
    speed = measured()
    assert decode_plausibility(Weighed(), speed).word == "unknown"
    assert prefill_plausibility(Weighed(), speed).word == "unknown"


def test_high_confidence_takes_steadiness_repeats_and_the_servers_agreement():
    known = Weighed(Model(dense_bytes=10e9), parse_hardware(["RTX 5090"]))
    assert decode_plausibility(known, measured()).confidence == "HIGH"
