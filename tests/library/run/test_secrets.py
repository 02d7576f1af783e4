"""Text without the secrets of the process."""

import pytest

from homogenization.run import secrets
from homogenization.run.hub import hub_advice
from homogenization.run.secrets import hide, masked, secrets_of

KEY = "sk-of/this+process"


@pytest.fixture(autouse=True)
def nothing_hidden(monkeypatch):
    monkeypatch.setattr(secrets, "_hidden", set())


@pytest.mark.parametrize("value", [KEY, f"Bearer {KEY}", "http://h?k=sk-of%2Fthis%2Bprocess", {KEY: [KEY, {"a": KEY}]}])
def test_a_hidden_key_is_in_no_value(value):
    assert KEY in masked(str(value)) or "%2F" in str(value)
    hide(KEY)
    assert "process" not in str(masked(value))
    assert "[key]" in str(masked(value))


def test_other_values_stay_as_they_are():
    for held in (None, "", "none", "EMPTY"):
        hide(held)
    value = {"tokens": 7, "texts": ["none of it is EMPTY", None, 1.5]}
    assert masked(value) == value


@pytest.mark.parametrize(
    ("name", "held", "secret"),
    [
        ("HF_TOKEN", "hf_abcdefgh", "hf_abcdefgh"),
        ("AWS_SECRET_ACCESS_KEY", "abcdefghij", "abcdefghij"),
        ("OPENAI_API_KEY", "sk-abcdefgh\n", "sk-abcdefgh"),
        ("HTTPS_PROXY", "http://me:password1@proxy:80", "password1"),
        ("OPENAI_BASE_URL", "https://host/v1?api-version=2024-02-01&api_key=abcdefghij", "abcdefghij"),
    ],
)
def test_secrets_of_the_environment_are_hidden(monkeypatch, name, held, secret):
    monkeypatch.setenv(name, held)
    assert masked(f"2024-02-01 {secret}") == "2024-02-01 [key]"


def test_of_two_keys_the_longer_goes_first():
    hide("abcdefgh")
    hide("abcdefghijkl")
    assert masked("abcdefghijkl abcdefgh") == "[key] [key]"


def test_secrets_of_an_address():
    assert secrets_of("https://me:pass@host/v1?token=t&page=3&Sig=s") == ["pass", "t", "s"]
    assert secrets_of("https://me@host/v1") == secrets_of("http://[") == []


def test_a_message_of_the_hub_holds_no_token(monkeypatch):
    """Where it lies in a file, no variable has it."""
    monkeypatch.setattr("huggingface_hub.get_token", lambda: "hf_from_a_file")
    assert "(no [key] here)" in hub_advice(ConnectionError("no hf_from_a_file here"), "a/b", "give a path")
    assert hub_advice(ValueError("odd hf_from_a_file"), "a/b", "give a path").startswith("odd [key].")
