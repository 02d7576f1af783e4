import pytest

from homogenization.vocabulary.numbers import probability, significant, typeset


@pytest.mark.parametrize(
    ("formatted", "words"),
    [("-1.5e-05", "−1.5e−5"), ("2e+06", "2e6"), ("-0.30", "−0.30"), ("100", "100"), ("nan", "nan")],
)
def test_a_formatted_number_is_typeset(formatted, words):
    assert typeset(formatted) == words


@pytest.mark.parametrize(("value", "words"), [(-0.0123456, "−0.0123"), (0.7, "0.7"), (1234567.0, "1.23e6"), (0.0, "0")])
def test_three_significant_digits(value, words):
    assert significant(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [(1.0, "1"), (0.5, ".5"), (0.0499, ".05"), (0.000312, ".00031"), (1e-4, ".0001"), (9e-5, "< .0001")],
)
def test_a_probability(value, words):
    assert probability(value) == words
