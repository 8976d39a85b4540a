import pytest

from crucibleforge.wire.fault import fault


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


def test_a_page_instead_of_json_is_quoted_in_one_line():
    message = fault(502, b"<html>\n<b>bad</b>\n" + b"x" * 1000).message
    assert message == "the server answered HTTP 502: <html> <b>bad</b> " + "x" * 1000


@pytest.mark.parametrize(("header", "seconds"), [("7", 7.0), ("-3", 0.0), ("soon", None), (None, None)])
def test_retry_after_is_read_in_seconds(header, seconds):
    assert fault(429, b"", header).retry_after_s == seconds
