import base64
import json
import re
from time import perf_counter
from urllib.parse import quote, quote_plus

import made
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.redact import MARK, Redactor

KEY = 'sk-canary/7+"q\\ \u20ac-0123'
KEYS = st.text(st.characters(exclude_categories=["Cs"]), min_size=12, max_size=40)
BYTES = st.binary(max_size=5)


@given(KEYS, BYTES, BYTES)
def test_a_key_is_found_in_each_guise_wherever_it_stands(key, before, after):
    redact = Redactor([key])
    whole = before + key.encode() + after
    ends = base64.b64encode(before), base64.b64encode(after)
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        left = redact(f"<{encode(whole).decode()}>")
        assert MARK in left
        assert len(left) <= len("<>") + len(MARK) + sum(map(len, ends)) + 2
    for form in (whole.hex(), whole.hex().upper()):
        assert redact(form) == form[: 2 * len(before)] + MARK + form[2 * (len(before) + len(key.encode())) :]


@given(KEYS, st.sampled_from(["", "x", " \u20ac", "%", "\\", "=="]))
def test_a_key_is_found_escaped_as_urls_and_json_escape(key, around):
    redact = Redactor([key])
    percent = [quote(key, safe=""), quote(key), quote_plus(key)]
    percent.append(re.sub("%..", lambda found: found[0].lower(), percent[0]))
    percent += ["".join(f"%{byte:02X}" for byte in key.encode()), quote(quote(key))]
    escapes = [json.dumps(key)[1:-1], json.dumps(key, ensure_ascii=False)[1:-1], json.dumps(json.dumps(key))[3:-3]]
    escapes.append("".join(f"\\u{unit:04X}" for unit in units(key)))
    for form in [key, *percent, *escapes]:
        left = redact(f"{around}|{form}|{around}")
        assert left == f"{around}|{MARK}|{around}", form


def units(key):
    raw = key.encode("utf-16-be")
    return [int.from_bytes(raw[at : at + 2]) for at in range(0, len(raw), 2)]


def test_a_key_in_small_or_capital_letters_only_goes_too():
    redact = Redactor([KEY])
    for form in (KEY, quote(KEY), base64.b64encode(KEY.encode()).decode()):
        assert redact(f"<{form.lower()}> <{form.upper()}>") == f"<{MARK}> <{MARK}>"


def test_what_is_not_the_key_stays():
    text = "Nothing here: sk-canary, c2stY2FuYXJ5, 736b2d63, %73%6b, \\u0073\\u006b"
    assert Redactor([KEY])(text) == text
    assert Redactor([])(text) == text


def test_a_key_that_a_cut_left_in_part_at_the_end_goes_too():
    redact = Redactor(["sk-0123456789abcdef"])
    assert redact("no such key: sk-0123456789ab \u2026") == f"no such key: {MARK} \u2026"
    assert redact("no such key: sk-01234") == f"no such key: {MARK}"
    assert redact("no such key: sk-0123") == "no such key: sk-0123"


def test_of_two_keys_the_longer_goes_first():
    assert Redactor(["secret-1", "secret-1-and-more"])("secret-1-and-more secret-1") == f"{MARK} {MARK}"


@pytest.mark.parametrize("short", ["", "p1", "abc"])
def test_a_value_too_short_to_be_a_secret_is_left(short):
    assert Redactor([short])("abc p1 abc") == "abc p1 abc"


def test_a_placeholder_goes_out_of_messages_and_stays_in_replies():
    redact = Redactor(["none"])
    assert redact("no such key: none") == f"no such key: {MARK}"
    assert redact.within(made.reply("there are none")).text == "there are none"


def test_every_string_of_a_reply_is_cleared():
    reply = made.reply(
        f"it is {KEY}", reasoning=quote(KEY), served_model=KEY, tool_calls=(made.call(KEY, json.dumps({"a": KEY})),)
    )
    cleared = Redactor([KEY]).within(reply)
    assert cleared == made.reply(
        f"it is {MARK}", reasoning=MARK, served_model=MARK, tool_calls=(made.call(MARK, json.dumps({"a": MARK})),)
    )
    assert Redactor([KEY]).within(made.reply()) == made.reply()
    assert Redactor([KEY]).within({KEY: [KEY, None, 1.5]}) == {MARK: [MARK, None, 1.5]}


def test_bytes_that_are_no_text_are_cleared_all_the_same():
    assert Redactor([KEY]).body(b"\xff\xfe" + KEY.encode() + b"\x80") == b"\xff\xfe[key]\x80"
    assert Redactor([]).body(b"\xff") == b"\xff"


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["\\", "%73", "s", "c2stY2Fu", "736b2d63", "\\u0073", "sk-canary/7"])
def test_time_is_linear_in_the_text(unit):
    redact = Redactor([KEY])

    def took_s(size):
        text = unit * (size // len(unit))
        began = perf_counter()
        redact(text)
        return perf_counter() - began

    assert min(took_s(2_000_000) for _ in range(2)) < 12 * min(took_s(400_000) for _ in range(3)) + 0.05
