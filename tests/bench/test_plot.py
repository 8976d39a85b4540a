from recorded import measured, record

from crucibleforge.bench.plot import plotted


def test_bars_are_as_long_as_the_speeds():
    found = plotted(record(measured(concurrency=(1, 2)))).splitlines()
    assert found[0] == "tok/s by prompt"
    assert [line.split()[0] for line in found[1:4]] == ["short_50", "medium_200", "long_800"]
    one, two = (line.split()[1] for line in found[-2:])
    assert len(two) == 50
    assert 22 <= len(one) <= 28


def test_nothing_measured_draws_nothing():
    assert plotted(record()) == ""
