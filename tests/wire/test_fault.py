import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.errors import Malformed
from crucibleforge.wire.fault import fault, refused_parameter


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, "auth"), (403, "auth"), (429, "overload"), (503, "overload"), (500, "transport"), (400, "rejected"), (404, "rejected"), (408, "timeout"), (504, "timeout"), (302, "rejected")],
)
def test_a_status_tells_whose_trouble_it_is(status, kind):
    assert fault(status, b"{}").kind == kind


def test_a_prompt_over_the_window_is_named_by_its_type_not_its_words():
    body = b'{"error": {"code": 400, "message": "too long", "type": "exceed_context_size_error"}}'
    assert (fault(400, body).kind, fault(400, body).message) == ("context", "the server answered HTTP 400: too long")


def test_an_error_inside_a_stream_brings_its_own_status():
    assert fault(None, b'{"error": {"code": 503, "message": "busy"}}').kind == "overload"


def test_an_error_without_any_status_is_transport():
    trouble = fault(None, b'{"error": "it broke"}')
    assert (trouble.kind, trouble.message) == ("transport", "the server reported an error: it broke")


def test_a_page_instead_of_json_is_quoted_in_one_short_line():
    message = fault(502, b"<html>\n<b>bad</b>\n" + b"x" * 1000).message
    assert message.startswith("the server answered HTTP 502: <html> <b>bad</b> xxx")
    assert len(message) < 400
    assert "\n" not in message


NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        (None, None),
        ("Thu, 01 Jan 2026 12:01:30 GMT", 90.0),
        ("Thu, 01 Jan 2026 12:01:30 -0000", 90.0),
        ("Thursday, 01-Jan-26 11:00:00 GMT", 0.0),
        ("Thu, 99 Jan 2026 12:01:30 GMT", None),
        ("Thu, 01 Jan 99999999999999999999 12:01:30 GMT", None),
    ],
)
def test_retry_after_is_read_in_seconds_or_as_a_date(header, seconds):
    assert fault(429, b"", header, now=NOW).retry_after_s == seconds


@pytest.mark.parametrize("status", [500, 400, None])
@pytest.mark.parametrize(
    "words",
    [
        "Failed to parse input at pos 12: </tool_call> and jinja, out of memory, maximum context length",
        "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] x",
        "Invalid diff: now finding less tool calls!",
        "error parsing tool call: raw='{', err=unexpected end of JSON input",
        "XML syntax error on line 35: element <parameter> closed by </function>",
    ],
)
def test_a_call_that_the_server_could_not_parse_is_the_models(status, words):
    made = fault(status, json.dumps({"error": {"message": words, "type": "server_error"}}).encode())
    assert (type(made), made.message) == (Malformed, words)


def test_a_plain_status_is_never_the_models():
    assert fault(401, b'{"error": "Failed to parse tool call"}').kind == "auth"


@pytest.mark.parametrize("status", [500, 400, None])
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("template", "Unable to generate parser for this template. Automatic parser generation failed: x"),
        ("template", "cannot build a parser for this chat template"),
        ("template", "Jinja Exception: System message must be at the beginning."),
        ("context", "This model's maximum context length is 4096 tokens"),
        ("context", "the request exceeds the available context size"),
        ("context", "input length exceeds the context length"),
        ("context", "The decoder prompt (length 88049) is longer than the maximum model length of 32768."),
        ("rejected", "model requires more system memory (9 GiB) than is available (2 GiB)"),
        ("rejected", "CUDA error: out of memory"),
    ],
)
def test_words_tell_where_the_status_does_not(status, kind, words):
    for body in ({"error": {"message": words}}, {"error": words}, {"message": words}, {"detail": words}):
        assert fault(status, json.dumps(body).encode()).kind == kind


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (404, {"message": "model 'm' not found", "type": "not_found_error"}, "rejected"),
        (507, {"message": "no room"}, "rejected"),
        (529, {"message": "busy"}, "overload"),
        (429, {"message": "pay", "code": "insufficient_quota"}, "rejected"),
        (400, {"message": "no", "code": "context_length_exceeded"}, "context"),
        (None, {"message": "no", "type": "authentication_error"}, "auth"),
        (None, {"message": "no", "code": 7}, "transport"),
        (None, {"message": "no", "code": "503"}, "transport"),
        (400, {"message": "chat_template_kwargs is not supported"}, "rejected"),
    ],
)
def test_types_and_codes_tell_too(status, error, kind):
    assert fault(status, json.dumps({"error": error}).encode()).kind == kind


@pytest.mark.parametrize(
    ("error", "name"),
    [
        ({"param": "stream_options", "message": "no"}, "stream_options"),
        ({"param": "stream_options.include_usage", "message": "no"}, "stream_options"),
        ({"message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}, "max_tokens"),
        ({"message": "Unsupported value: 'temperature' does not support 0 with this model."}, "temperature"),
        ({"message": "Unrecognized request argument supplied: chat_template_kwargs"}, "chat_template_kwargs"),
        ({"message": "property `seed` is unsupported"}, "seed"),
        ({"message": "the seed of doubt"}, None),
        ({"message": "'max_tokens' is too large: 64. This model's maximum context length is 32 tokens"}, None),
        ({"param": "messages", "message": "no"}, None),
        ({"param": 3, "message": 4}, None),
    ],
)
def test_a_refused_parameter_is_known_by_name(error, name):
    assert refused_parameter(json.dumps({"error": error}).encode()) == name


def test_a_validation_error_names_its_place():
    assert refused_parameter(b'{"detail": [{"loc": ["body", "top_p"], "msg": "extra fields not permitted"}]}') == "top_p"


@given(st.binary(max_size=60) | st.sampled_from([b"[" * 100_000, b'{"error":' * 5000, b'{"error": {"code": 1e999, "message": {}}}']), st.none() | st.integers(100, 599), st.none() | st.text(max_size=30))
def test_any_body_is_classified(body, status, header):
    fault(status, body, header)
    refused_parameter(body)


@pytest.mark.parametrize(
    "error",
    [{"param": "cache_prompt", "message": "no"}, {"message": "Unrecognized request arguments supplied: cache_prompt, ignore_eos"}],
)
def test_an_extra_parameter_is_known_by_name_where_it_was_sent(error):
    refusal = json.dumps({"error": error}).encode()
    assert refused_parameter(refusal, {"ignore_eos", "cache_prompt"}) == "cache_prompt"
    assert refused_parameter(refusal) is None
