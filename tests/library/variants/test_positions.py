"""Inward places: within the sentence, and as far away as the side that they are like."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homogenization.variants.positions import JOIN, Layout, inward


@st.composite
def layouts(draw):
    n_phrases = draw(st.integers(0, 3))
    n_others = draw(st.integers(0 if n_phrases else 1, 25))
    order = [-1] * n_others
    for phrase in reversed(range(n_phrases)):
        order.insert(draw(st.integers(0, order.index(phrase + 1) if phrase + 1 in order else n_others)), phrase)
    lengths = draw(st.lists(st.integers(1, 4), min_size=len(order), max_size=len(order)))
    return Layout(order, lengths, frozenset(draw(st.sets(st.integers(1, 25), max_size=5))))


def test_displacement_is_that_of_the_phrases_in_fractions_of_the_sentence():
    layout = Layout([-1, 0, -1, -1, 1], [1, 2, 1, 1, 1])
    assert layout.positions(layout.order) == [1 / 4, 1]
    assert layout.positions([0, 1, -1, -1, -1]) == [0, 2 / 5]
    assert layout.displacement([0, 1, -1, -1, -1]) == pytest.approx(1 / 4 + 3 / 5)
    assert layout.broken([0, 1, -1, -1, -1]) == 3  # the first word and 0, 0 and the second word, the last word and 1
    assert layout.broken(layout.order) == 0


@given(st.lists(layouts(), max_size=8), st.sampled_from(["front", "end"]))
def test_inward_groups_the_phrases_in_order_within_the_sentence(review, like):
    orders = inward(review, like)
    for layout, order in zip(review, orders, strict=True):
        assert sorted(order) == sorted(layout.order)
        if layout.n_others < 2 or not layout.n_phrases:
            assert order == layout.order
        else:
            assert order[0] == order[-1] == -1
            first = order.index(0)
            assert order[first : first + layout.n_phrases] == list(range(layout.n_phrases))


def test_inward_moves_as_far_where_it_can():
    """A phrase in the first half of a long sentence: a place on its other side is as far as the front."""
    random = Random(0)
    for _ in range(50):
        places = [random.randrange(1, 18) for _ in range(6)]
        review = [Layout([-1] * place + [0] + [-1] * (40 - place), [1] * 41) for place in places]
        targets = sum(layout.displacement(layout.at("front")) for layout in review)
        moves = sum(layout.displacement(order) for layout, order in zip(review, inward(review, "front"), strict=True))
        # to leave a sentence as it is saves three pairs of neighbours
        assert moves == pytest.approx(targets, abs=3 * JOIN + 1 / 40)


def test_what_one_sentence_cannot_match_others_make_up_for():
    """A phrase at the end moves to the front by 1, and inward by less; a sentence beside it makes up the difference."""
    last = Layout([-1, -1, -1, -1, 0], [1] * 5)
    early = Layout([-1] * 8 + [0] + [-1] * 32, [1] * 41)
    alone = inward([early], "front")[0]
    orders = inward([last, early], "front")
    assert last.displacement(orders[0]) == pytest.approx(0.75)
    assert early.displacement(orders[1]) > early.displacement(alone)
