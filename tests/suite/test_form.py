import pytest

from crucibleforge.errors import InputError
from crucibleforge.suite.form import commitment, new_key, resolved


def test_canonical_and_a_key_mean_themselves():
    assert [resolved(form) for form in ("canonical", "my-key_1.0")] == ["canonical", "my-key_1.0"]


def test_fresh_is_another_key_each_time():
    keys = {resolved("fresh") for _ in range(100)}
    assert len(keys) == 100
    assert all(resolved(key) == key for key in keys)


def test_a_new_key_has_128_bits():
    assert len(bytes.fromhex(new_key())) == 16


@pytest.mark.parametrize("form", ["", "a b", "a/b", "\u00e9", "x" * 65, "k\n"])
def test_what_is_no_key_is_refused(form):
    with pytest.raises(InputError, match="is no form"):
        resolved(form)


def test_a_commitment_is_the_sha_256_of_the_key():
    assert commitment("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
