"""Inward places: within the sentence, and as far away as the side that they are like."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homogenization.variants.positions import Layout, inward


@st.composite
def layouts(draw):
    n_phrases = draw(st.integers(0, 3))
    others = draw(st.lists(st.integers(1, 4), min_size=0 if n_phrases else 1, max_size=25))
    slots = sorted(draw(st.lists(st.integers(0, len(others)), min_size=n_phrases, max_size=n_phrases)))
    lengths = draw(st.lists(st.integers(1, 4), min_size=n_phrases, max_size=n_phrases))
    return Layout(slots, lengths, others, frozenset(draw(st.sets(st.integers(1, 25), max_size=5))))


def test_displacement_is_that_of_the_phrases_in_fractions_of_the_sentence():
    layout = Layout([1, 3], [2, 1], [1, 1, 1])
    assert layout.positions(layout.slots) == [1 / 4, 1]
    assert layout.positions([0, 0]) == [0, 2 / 5]
    assert layout.displacement(0) == pytest.approx(1 / 4 + 3 / 5)
    assert layout.broken(0) == 3  # the first word and 0, 0 and the second word, the last word and 1


@given(st.lists(layouts(), max_size=8), st.sampled_from(["front", "end"]))
def test_inward_is_within_the_sentence(review, like):
    for layout, slot in zip(review, inward(review, like), strict=True):
        if len(layout.others) < 2 or not layout.slots:
            assert slot is None
        else:
            assert 0 < slot < len(layout.others)


def test_what_one_sentence_cannot_match_others_make_up_for():
    """A phrase at the end moves to the front by 1, and inward by less; a sentence beside it makes up the difference."""
    last, early = Layout([4], [1], [1] * 4), Layout([8], [1], [1] * 40)
    slots = inward([last, early], "front")
    assert last.displacement(slots[0]) == pytest.approx(0.75)
    assert early.displacement(slots[1]) > early.displacement(inward([early], "front")[0])
