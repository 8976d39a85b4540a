import pytest

from crucibleforge.suite.form import commitment


def test_a_new_key_is_printed_with_its_commitment(crucible):
    ended = crucible("cases", "seal")
    key = ended.out.splitlines()[0].removeprefix("key:        ")
    assert (ended.code, ended.out) == (0, f"key:        {key}\ncommitment: {commitment(key)}\n")
    assert len(bytes.fromhex(key)) == 16
    assert ended.err == (
        "publish the commitment now and the key with the results; whoever has the key knows the questions\n"
        f"`crucibleforge run --form {key}` asks this form\n"
    )
    assert crucible("cases", "seal").out != ended.out


def test_a_key_of_one_s_own_is_committed_to(crucible):
    assert crucible("cases", "seal", "--key", "abc").out == f"key:        abc\ncommitment: {commitment('abc')}\n"


@pytest.mark.parametrize(
    ("key", "code", "out"),
    [
        ("abc", 0, "the key is the one that was committed to\n"),
        ("abd", 1, "the key is not the one that was committed to\n"),
    ],
)
def test_a_published_key_is_checked_against_its_commitment(crucible, key, code, out):
    ended = crucible("cases", "seal", "--key", key, "--commitment", commitment("abc").upper())
    assert (ended.code, ended.out, ended.err) == (code, out, "")


@pytest.mark.parametrize("published", ["", "abc", "\u00e9" * 64])
def test_what_is_no_commitment_is_not_that_of_a_key(crucible, published):
    assert crucible("cases", "seal", "--key", "abc", "--commitment", published).code == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--commitment", "0"], "error: a commitment alone cannot be checked\n"),
        (["--key", "canonical"], "error: 'canonical' is no key\n"),
        (["--key", "fresh"], "error: 'fresh' is no key\n"),
        (["--key", "a b"], "error: 'a b' is no form\n"),
    ],
)
def test_what_cannot_be_sealed_is_one_line_and_a_hint(crucible, words, message):
    ended = crucible("cases", "seal", *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"{message}hint: ")
