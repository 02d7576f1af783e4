"""Secrets of the process, and text without them: what is logged, told or kept goes through `masked`."""

import os
import re
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

#: A shorter key ("none", "EMPTY") keeps nobody out, and may be a word of a text.
SHORTEST = 8
MASK = "[key]"
# ends of the names of environment variables that hold a secret, and of those that hold an address, which may have one
_SECRETS = ("API_KEY", "TOKEN", "SECRET", "PASSWORD", "ACCESS_KEY")
_ADDRESSES = ("_PROXY", "_proxy", "_URL", "_ENDPOINT")
_hidden: set[str] = set()


def hide(secret: str | None) -> None:
    """Let `masked` replace a secret, also as an address writes it; one of fewer than `SHORTEST` characters is none."""
    if secret and len(secret) >= SHORTEST:
        _hidden.update((secret, quote(secret, safe="")))


def secrets_of(address: str) -> list[str]:
    """The password of an address, and the values of its query that are named like a key, a token or a password."""
    try:
        parts = urlsplit(address)
        query = parse_qsl(parts.query)
    except ValueError:
        return []
    named = [value for name, value in query if re.search("key|token|secret|passw|sig", name, re.IGNORECASE)]
    return [secret for secret in (parts.password, *named) if secret]


def masked(value: Any) -> Any:
    """A text, or the texts of a list or dict (keys too), with `MASK` for each secret; any other value as it is.

    Secrets are those that were hidden, and those in environment variables that are named like a key, a token or a
    password, or hold an address with a password.
    """
    if isinstance(value, dict):
        return {masked(key): masked(one) for key, one in value.items()}
    if isinstance(value, list):
        return [masked(one) for one in value]
    if not isinstance(value, str):
        return value
    for name, held in list(os.environ.items()):
        if name.endswith(_SECRETS):
            hide(held.strip())
        elif name.endswith(_ADDRESSES):
            for secret in secrets_of(held):
                hide(secret)
    for secret in sorted(_hidden, key=len, reverse=True):  # one may be part of another
        value = value.replace(secret, MASK)
    return value


def first_line(error: BaseException) -> str:
    """The first line of an error's message without secrets, or the error's type."""
    return masked(str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
