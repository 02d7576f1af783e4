import numpy as np
import pytest

from homogenization.statistics.verdicts import NOT_TESTED, SUPPORTED, criterion_in_words, in_words


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((-0.0123456, -0.015, -0.009, 0.000312), "supported: −0.0123 [−0.015, −0.009], n 499, q .00031"),
        ((0.65, 0.6, 0.701, np.nan), "supported: 0.65 [0.6, 0.701], n 499"),
        ((1234567.0, 1e-5, 2.34567e7, 1.0), "supported: 1.23e6 [1e−5, 2.35e7], n 499, q 1"),
        ((0.0, -1.5e-10, 0.0, 1e-9), "supported: 0 [−1.5e−10, 0], n 499, q < .0001"),
        ((100.0, 99.9, 100.1, 0.5), "supported: 100 [99.9, 100], n 499, q .5"),
    ],
)
def test_a_verdict_in_words(numbers, words):
    row = dict(zip(("estimate", "ci_low", "ci_high", "q_value"), numbers, strict=True))
    assert in_words(row | {"verdict": SUPPORTED, "n_reviews": 499, "reason": None}) == words


def test_what_was_not_tested_in_words():
    assert in_words({"verdict": NOT_TESTED, "reason": "no such metric"}) == "not tested: no such metric"


@pytest.mark.parametrize(
    ("criterion", "words"),
    [({"above": -0.5}, "> −0.5"), ({"below": 1e-5}, "< 1e−5"), ({"between": [0.6, 0.7]}, "0.6 to 0.7")],
)
def test_a_criterion_in_words(criterion, words):
    assert criterion_in_words(criterion) == words
