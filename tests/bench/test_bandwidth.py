from crucibleforge.bench.bandwidth import read_gb_per_s


def test_all_cores_read_at_the_pace_of_some_memory():
    measured = read_gb_per_s(None, seconds=0.02, least_bytes=1 << 20)
    assert 0.05 < measured < 20_000


def test_at_least_one_pass_is_made_however_short_the_time():
    assert read_gb_per_s(1, seconds=0.0, least_bytes=1 << 16) > 0


def test_no_more_is_read_than_a_part_of_the_free_memory():
    # Four times this L3 is more than any machine has.
    assert read_gb_per_s(1 << 62, seconds=0.0, least_bytes=1, most_bytes=1 << 20) > 0
