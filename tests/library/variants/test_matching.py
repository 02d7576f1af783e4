"""Other phrases: as many, as long and in the same places as the key phrases."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from homogenization.variants.matching import others_like
from homogenization.variants.phrases import Phrase, overlap


def phrase(start, n_words=1, sentence=0):
    return Phrase(" ".join(["w"] * n_words), sentence, start, start + 2 * n_words - 1)


def test_each_key_phrase_gets_the_other_phrase_that_fits():
    keys, places = [phrase(0, 2), phrase(40)], [0.0, 0.9]
    pool = [phrase(10), phrase(20, 2), phrase(30), phrase(60)]
    assert others_like(keys, places, pool, [0.1, 0.2, 0.5, 0.8]) == [pool[1], pool[3]]


def test_the_assignment_is_the_best_in_sum():
    """The first key phrase takes the second best, since the other has no other choice."""
    keys, pool = [phrase(0), phrase(10)], [phrase(20), phrase(30)]
    assert others_like(keys, [0.5, 0.9], pool, [0.6, 0.3]) == pool
    chosen = others_like(keys, [0.5, 0.9], [*pool, phrase(40)], [0.6, 0.3, 0.95])
    assert [other.start for other in chosen] == [20, 40]


def test_an_overlap_is_chosen_again():
    keys = [phrase(0, 2), phrase(10, 2)]
    pool = [phrase(20, 2), phrase(22, 2), phrase(50, 1)]
    assert others_like(keys, [0.2, 0.8], pool, [0.2, 0.7, 0.5]) == [pool[0], pool[2]]


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 4), st.floats(0, 1)), max_size=6),
    st.lists(st.tuples(st.integers(100, 200), st.integers(1, 4), st.floats(0, 1)), max_size=20),
)
def test_others_lie_apart_and_are_no_more_than_key_phrases(keys, pool):
    key_phrases, others = ([phrase(start, length) for start, length, _ in given] for given in (keys, pool))
    chosen = others_like(key_phrases, [place for *_, place in keys], others, [place for *_, place in pool])
    assert chosen == others_like(key_phrases, [place for *_, place in keys], others, [place for *_, place in pool])
    assert len(chosen) <= len(keys)
    assert set(chosen) <= set(others)
    assert not any(overlap(one, two) for one, two in pairwise(chosen))
    if len(chosen) < len(keys):  # nothing is left that lies apart
        assert all(any(overlap(other, taken) for taken in chosen) for other in others)
