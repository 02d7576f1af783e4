from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from homogenization.states.network import pack_reviews


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
