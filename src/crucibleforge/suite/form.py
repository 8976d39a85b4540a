"""Forms: other draws of the same suite, each from a key. Pure but for the key that is drawn at random.

`canonical` is everybody's. A fresh form shows whether a model knows the published questions; its key is kept with the
run, so that anyone can ask it again. A sealed form is published by its commitment first and by its key afterwards:
nobody can train on it, and nobody can have chosen a lucky key.
"""

from __future__ import annotations

import re
import secrets
from hashlib import sha256

from crucibleforge.errors import InputError
from crucibleforge.suite.expand import CANONICAL_NAME

FRESH = "fresh"
_KEY = re.compile(r"[0-9A-Za-z._-]{1,64}")


def resolved(form: str) -> str:
    """The form that an option means: `canonical`, a key, or for `fresh` a new key.

    Raises:
        InputError: this is no key.
    """
    if form == FRESH:
        return new_key()
    if form != CANONICAL_NAME and not _KEY.fullmatch(form):
        raise InputError(f"'{form}' is no form", hint="`canonical`, `fresh`, or a key of letters, digits and `._-`")
    return form


def new_key() -> str:
    """128 random bits in 32 hex digits."""
    return secrets.token_hex(16)


def commitment(key: str) -> str:
    """The SHA-256 of a key in hex: to be published before the key is."""
    return sha256(key.encode()).hexdigest()
