"""The mildest changes of a text: exactly one typo, exactly one word less, the same at every call."""

from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homogenization.consequences.perturbations import PERTURBED, perturb, perturbed_reviews
from homogenization.corpus.sentences import word_spans, words
from homogenization.names.consequences import DELETED_WORD, PERTURBATIONS, TYPO
from tiny_blocks import EMBEDDED

TEXTS = st.lists(st.sampled_from(["the", "film", "don't", "oo", "A", "I'm", "3.5", "(well)", "end."]), min_size=1).map(
    " ".join
)


@given(text=TEXTS, seed=st.integers(0, 9))
def test_a_typo_swaps_two_neighbouring_letters_of_one_word(text, seed):
    typo = perturb(text, TYPO, seed, "r")
    if typo is None:
        return
    (first, second) = [place for place in range(len(text)) if text[place] != typo[place]]
    assert second == first + 1
    assert (typo[first], typo[second]) == (text[second], text[first])
    assert any(start <= first and second < end for start, end in word_spans(text))


@given(text=TEXTS, seed=st.integers(0, 9))
def test_a_deleted_word_is_all_that_is_gone(text, seed):
    shorter = perturb(text, DELETED_WORD, seed, "r")
    if shorter is None:
        assert len(words(text)) < 2
        return
    gone = Counter(words(text)) - Counter(words(shorter))
    assert sum(gone.values()) == 1
    assert Counter(words(shorter)) <= Counter(words(text))
    assert "  " not in shorter
    assert shorter == shorter.strip()


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_the_place_depends_on_seed_and_review_and_is_drawn_from_all_places(name):
    text = EMBEDDED[0]
    assert perturb(text, name, 0, "a") == perturb(text, name, 0, "a")
    drawn = {perturb(text, name, seed, review) for seed in range(3) for review in map(str, range(600))}
    places, changed = PERTURBED[name](text)
    assert drawn == {changed(place) for place in places}


def test_a_review_without_a_place_is_left_out():
    reviews = pl.DataFrame({"review_id": ["a", "b"], "text": ["OK", "a fine film"], "rank": [0, 1]})
    assert perturbed_reviews(reviews, TYPO, 0)["review_id"].to_list() == ["b"]
