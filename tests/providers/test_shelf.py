import json
from pathlib import Path

import pytest

from crucibleforge.chat import Reply, ToolCall
from crucibleforge.errors import InputError
from crucibleforge.providers._shelf import MAX_REPEATS, read
from crucibleforge.types import Failure

CASE, HASH = "math/f/L1.1", "00ff"
NAME = f"{CASE}#{HASH}"
HINT = (
    '`{"id": "CASE#HASH", "text": "..."}`, or a line of a batch output file; `crucibleforge cases export` has the ids'
)


def shelf(*lines, path="a.jsonl"):
    Path(path).write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return read(Path(path))


def batch(text="ok", name=NAME, **more):
    body = {"model": "big-1", "choices": [{"index": 0, "message": {"content": text}, "finish_reason": "stop"}]}
    body["usage"] = {"prompt_tokens": 3, "completion_tokens": 5}
    return {
        "id": "batch_req_1",
        "custom_id": name,
        "response": {"status_code": 200, "request_id": "r", "body": body},
        "error": None,
    } | more


def said(of, repeat=1, case_hash=HASH):
    return [each.text if isinstance(each, Reply) else each.kind for each in of.dialogue(CASE, case_hash, repeat)]


def refusal(*lines):
    with pytest.raises(InputError) as caught:
        shelf(*lines)
    return caught.value.message, caught.value.hint


def test_a_line_with_a_hash_answers_that_question_only():
    found = shelf({"id": NAME, "text": "x"})
    assert (said(found), said(found, case_hash="0000")) == (["x"], [])
    assert (found.has_other(CASE, HASH), found.has_other(CASE, "0000")) == (False, True)
    assert found.has_other("math/f/L1.2", HASH) is False


def test_a_line_without_a_hash_answers_whatever_the_case_asks():
    found = shelf({"id": CASE, "text": "x"})
    assert (said(found), said(found, case_hash="0000"), found.has_other(CASE, HASH)) == (["x"], ["x"], False)


def test_a_line_holds_all_that_a_reply_can():
    (got,) = shelf(
        {
            "id": NAME,
            "text": "t",
            "reasoning": "r",
            "tool_calls": [{"name": "f", "arguments": {"a": 1}}],
            "finish": "length",
        }
    ).dialogue(CASE, HASH)
    assert (got.text, got.reasoning, got.finish) == ("t", "r", "length")
    assert got.tool_calls == (ToolCall("call_0", "f", '{"a":1}'),)


@pytest.mark.parametrize(
    ("line", "finish"),
    [
        ({"text": ""}, "stop"),
        ({"tool_calls": [{"name": "f"}]}, "tool_calls"),
        ({"reasoning": "r", "text": None}, "stop"),
    ],
)
def test_how_a_reply_ended_follows_from_what_it_holds(line, finish):
    (got,) = shelf({"id": NAME} | line).dialogue(CASE, HASH)
    assert got.finish == finish


def test_lines_of_one_id_are_repeats():
    found = shelf({"id": NAME, "text": "a"}, {"id": NAME, "text": "b"}, batch("c"))
    assert [said(found, repeat) for repeat in (1, 2, 3, 4)] == [["a"], ["b"], ["c"], []]


def test_replies_of_several_rounds_come_in_one_line_or_in_several():
    one = shelf({"id": NAME, "replies": [{"text": "a"}, {"text": "b"}]})
    two = shelf({"id": NAME, "text": "a"}, {"id": f"{NAME}#2", "text": "b"})
    assert said(one) == said(two) == ["a", "b"]


def test_a_later_round_belongs_to_the_first_repeat_that_lacks_it():
    found = shelf(
        *({"id": f"{NAME}{end}", "text": text} for end, text in [("", "a"), ("", "b"), ("#2", "c"), ("#2", "d")])
    )
    assert (said(found, 1), said(found, 2)) == (["a", "c"], ["b", "d"])


def test_a_line_of_a_batch_brings_usage_and_served_model():
    (got,) = shelf(batch("ANSWER: 1")).dialogue(CASE, HASH)
    assert (got.text, got.served_model, got.usage.completion_tokens) == ("ANSWER: 1", "big-1", 5)


@pytest.mark.parametrize(
    ("more", "kind", "status"),
    [
        ({"response": None, "error": {"code": "batch_expired", "message": "too late"}}, "transport", None),
        ({"response": {"status_code": 429, "body": {"error": {"message": "slow down"}}}}, "overload", 429),
        ({"response": {"status_code": 500, "body": "oops"}}, "transport", 500),
        ({"response": {"status_code": 400, "body": {"error": {"code": "context_length_exceeded"}}}}, "context", 400),
        ({"response": {"status_code": 200, "body": {}}}, "protocol", None),
        ({"response": {"status_code": 200, "body": None}}, "protocol", None),
    ],
)
def test_trouble_of_the_server_is_a_failure_and_no_answer(more, kind, status):
    (got,) = shelf(batch(**more)).dialogue(CASE, HASH)
    assert isinstance(got, Failure)
    assert (got.kind, got.status, got.tries) == (kind, status, 1)


def test_a_call_that_the_server_could_not_parse_is_the_models_own():
    error = {"error": {"message": "Failed to parse tool call arguments as JSON"}}
    (got,) = shelf(batch(response={"status_code": 500, "body": error})).dialogue(CASE, HASH)
    assert (got.finish, got.text) == ("malformed", "Failed to parse tool call arguments as JSON")


def test_a_failure_is_made_good_by_the_next_line_of_its_id():
    bad = batch(response={"status_code": 500, "body": "oops"})
    found = shelf(bad, batch("a"), bad, batch("b", f"{NAME}#2"))
    assert [said(found, repeat) for repeat in (1, 2, 3)] == [["a", "b"], ["transport"], []]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not JSON: Expecting property name enclosed in double quotes: line 2 column 1 (char 2)"),
        ("[1]", "not a JSON object"),
        ("{}", "neither an `id` nor a `custom_id`"),
        ('{"id": 3}', "Expected `str`, got `int` - at `$.id`"),
        ('{"id": "", "text": "x"}', "'' is no case id: CASE, CASE#HASH or CASE#HASH#ROUND"),
        ('{"id": "a#b#c", "text": "x"}', "'a#b#c' is no case id: CASE, CASE#HASH or CASE#HASH#ROUND"),
        ('{"id": "a#b#0", "text": "x"}', "'a#b#0' is no case id: CASE, CASE#HASH or CASE#HASH#ROUND"),
        ('{"id": "a#b#2", "text": "x"}', "round 2 of 'a#b#2' and no round 1 before it"),
        ('{"id": "a"}', "no `text`, `reasoning`, `tool_calls` or `replies`"),
        ('{"id": "a", "txt": "x"}', "Object contains unknown field `txt`"),
        ('{"id": "a", "text": "x", "finish": "eos"}', "Invalid enum value 'eos' - at `$.finish`"),
        (
            '{"id": "a", "text": "x", "replies": [{"text": "y"}]}',
            "`replies` must hold all that was said, one for each round",
        ),
        ('{"id": "a", "replies": []}', "`replies` must hold all that was said, one for each round"),
        (
            '{"id": "a", "tool_calls": [{"arguments": "{}"}]}',
            "Object missing required field `name` - at `$.tool_calls[0]`",
        ),
        ('{"custom_id": "a", "response": null, "error": null}', "neither a response nor an error"),
        (
            '{"custom_id": "a", "response": {"status_code": "200"}}',
            "Expected `int`, got `str` - at `$.response.status_code`",
        ),
        ("[" * 200_000, "nested too deeply"),
    ],
)
def test_a_malformed_line_is_one_error_with_its_number(line, reason):
    assert refusal({"id": NAME, "text": "x"}, "", line) == (f"a.jsonl line 3: {reason}", HINT)


def test_more_answers_than_any_run_asks_for_are_refused():
    lines = [{"id": NAME, "text": "x"}] * (MAX_REPEATS + 1)
    assert refusal(*lines)[0] == f"a.jsonl line 101: more than 100 answers to '{NAME}'"


def test_a_mark_at_the_start_blank_lines_and_windows_endings_are_no_fault():
    Path("w.jsonl").write_bytes(
        b'\xef\xbb\xbf{"id": "math/f/L1.1", "text": "a"}\r\n\r\n{"id": "math/f/L1.1", "text": "b"}'
    )
    found = read(Path("w.jsonl"))
    assert (said(found, 1), said(found, 2), found.count) == (["a"], ["b"], 2)


def test_half_a_surrogate_pair_is_read():
    assert said(shelf('{"id": "' + NAME + '", "text": "a\\ud800b"}')) == ["a\ufffdb"]


def test_the_digest_is_of_the_bytes():
    one, other = shelf({"id": NAME, "text": "a"}), shelf({"id": NAME, "text": "b"})
    assert one.digest != other.digest
    assert shelf({"id": NAME, "text": "a"}, path="b.jsonl").digest == one.digest


def test_an_empty_file_holds_nothing():
    assert shelf().count == 0


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(InputError) as caught:
        read(Path("none.jsonl"))
    assert caught.value.message == f"no such file: {tmp_path / 'none.jsonl'}"
    with pytest.raises(InputError) as caught:
        read(tmp_path)
    assert caught.value.message == f"{tmp_path} is a folder, not a file of replies"
