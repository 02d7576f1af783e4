from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homogenization.corpus.sentences import sentence_spans, word_spans, words


def sentences(text):
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    "expected",
    [
        ["It is good.", "Is it?", "It is!"],
        ["Ms. Gurie is unhappy.", "She leaves Dr. Bock."],
        ['He said "Run! Now!" and ran.', "Then it ended."],
        ["I liked it (who wouldn't?).", "Next."],
        ["Shot in the U.S. by J. Smith.", "It shows."],
        ["no capitals here."],
    ],
)
def test_sentences(expected):
    assert sentences(" ".join(expected)) == expected


def test_a_stray_bracket_does_not_swallow_the_review():
    several = [f"This is sentence number {n} of a long review." for n in range(12)]
    assert len(sentences("2) First. " + " ".join(several) + " It ends (here).")) > 10


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't stop", ["don't", "stop"]),
        ("it’s light-hearted", ["it's", "light-hearted"]),
        ("U.S.A. in 3.5 years, 1,000 times", ["u.s.a", "in", "3.5", "years", "1,000", "times"]),
        ("and/or film.The end--now", ["and", "or", "film", "the", "end", "now"]),
        ("... & ---", []),
    ],
)
def test_words(text, expected):
    assert words(text) == expected


@given(st.text(alphabet=st.sampled_from("aB.!?\"'() \u00e9\U0001f600\n-"), max_size=200))
def test_sentences_cover_the_text_in_order(text):
    spans = sentence_spans(text)
    assert "".join("".join(text[start:end].split()) for start, end in spans) == "".join(text.split())
    assert all(before[1] < after[0] for before, after in pairwise(spans))
    inside = [span for start, end in spans for span in word_spans(text, start, end)]
    assert inside == word_spans(text)
