from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from homogenization.states.packs import pack_reviews


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 80))
def test_packs_hold_whole_reviews_in_order_under_the_budget(lengths, budget):
    packs = pack_reviews(lengths, budget)
    assert [index for pack in packs for index in pack] == list(range(len(lengths)))
    for pack in packs:
        assert len(pack) == 1 or sum(lengths[index] for index in pack) <= budget


@given(st.lists(st.integers(1, 50), min_size=2, max_size=40), st.integers(1, 80))
def test_no_pack_could_have_taken_the_next_review(lengths, budget):
    packs = pack_reviews(lengths, budget)
    for pack, following in pairwise(packs):
        assert sum(lengths[index] for index in pack) + lengths[following.start] > budget


def test_a_review_longer_than_the_budget_makes_its_own_pack():
    assert pack_reviews([3, 20, 4, 5], 10) == [range(0, 1), range(1, 2), range(2, 4)]


def test_no_reviews_make_no_packs():
    assert pack_reviews([], 10) == []
