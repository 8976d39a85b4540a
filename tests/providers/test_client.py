import asyncio

import made
import pytest

from crucibleforge.errors import InputError
from crucibleforge.providers._client import client, key, redactor


def headers(**fields):
    async def opened():
        async with client(made.target(**fields), "sk-1") as session:
            return session.headers

    return asyncio.run(opened())


def test_a_reply_is_asked_for_uncompressed_and_the_key_goes_in_its_header():
    sent = headers()
    assert (sent["Accept-Encoding"], sent["Authorization"]) == ("identity", "Bearer sk-1")


def test_a_header_with_a_line_break_is_refused_without_showing_it(monkeypatch):
    monkeypatch.setenv("TENANT", "secret\nvalue")
    with pytest.raises(InputError, match="X-Tenant") as caught:
        headers(headers={"X-Tenant": "${TENANT}"})
    assert "secret" not in caught.value.message


def test_a_missing_key_is_named(monkeypatch):
    monkeypatch.delenv("SOME_KEY", raising=False)
    assert key(made.target()) == ""
    with pytest.raises(InputError, match=r"\$SOME_KEY is not set"):
        key(made.target(api_key_env="SOME_KEY"))


def test_what_goes_into_a_header_is_known_to_the_redactor(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "sk-0123456789")
    monkeypatch.setenv("TENANT", "tenant-0123456789")
    hide = redactor(made.target(api_key_env="SOME_KEY", headers={"X-Tenant": "a ${TENANT}"}))
    assert not {"sk-0123456789", "tenant-0123456789"} & set(hide("sk-0123456789 of tenant-0123456789").split())
