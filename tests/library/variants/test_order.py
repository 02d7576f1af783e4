"""Variants in another order: what moves, what is kept, and that each review has an order of its own."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homogenization.corpus.cleaning import clean_text
from homogenization.corpus.sentences import sentence_spans
from homogenization.variants.order import move_sentence, permute_blocks
from homogenization.variants.rules import rewrite_reviews
from homogenization.variants.schemas import VARIANT_SCHEMA
from moving import phrases_of

TEXT = "First came the plot. Nothing in it was new! The dead zombie sang well (twice). Was the zombie real? It was."
ORDERS = {
    "blocks-4": {"blocks": 4},
    "words": {"blocks": "words"},
    "key-first": {"move": {"sentence": "key", "to": "first"}},
    "other-last": {"move": {"sentence": "other", "to": "last"}},
}


def sentences(text):
    return [text[start:end] for start, end in sentence_spans(text)]


@given(st.lists(st.sampled_from(["a", "B.", "(c", "d-e,", "f's", "“g”"]), max_size=40), st.integers(2, 12), st.text())
def test_blocks_of_equally_many_words_change_places(pieces, blocks, review):
    """Numbered words: the text falls into blocks, each as it was; one of fewer words than blocks stays as it is."""
    own = [f"{number}{piece}" for number, piece in enumerate(pieces)]
    permuted = permute_blocks(" ".join(own), blocks, 0, review).split(" ")
    if len(own) < blocks:
        assert permuted == (own or [""])
        return
    bounds = [len(own) * block // blocks for block in range(blocks + 1)]
    parts = [own[start:end] for start, end in pairwise(bounds)]
    assert {len(part) for part in parts} <= {len(own) // blocks, -(-len(own) // blocks)}
    assert sorted(permuted) == sorted(own)
    assert permuted != own
    at = {word: place for place, word in enumerate(permuted)}
    assert all(permuted[at[part[0]] :][: len(part)] == part for part in parts)


def test_every_order_but_that_of_the_text_is_as_likely():
    drawn = Counter(permute_blocks("a b c", 3, 0, str(review)) for review in range(2000))
    assert set(drawn) == {"a c b", "b a c", "b c a", "c a b", "c b a"}
    assert all(count == pytest.approx(400, abs=80) for count in drawn.values())  # four standard deviations
    assert permute_blocks("a b c", "words", 0, "7") == permute_blocks("a b c", 3, 0, "7")
    assert len({permute_blocks(TEXT, "words", seed, "r") for seed in range(5)}) == 5


@pytest.mark.parametrize(
    ("key", "sentence", "to", "order"),
    [
        ("zombie", "key", "first", "20134"),
        ("zombie", "key", "last", "01342"),
        ("zombie", "other", "first", "10234"),  # not the other sentence with the phrase
        ("plot", "key", "last", "12340"),
        ("plot", "key", "first", "01234"),  # stands there already
        ("plot", "other", "first", "01234"),  # and so nothing else moves
        ("plot", "other", "last", "02341"),
        (None, "key", "first", "01234"),
    ],
)
def test_a_whole_sentence_moves(key, sentence, to, order):
    phrases = phrases_of(TEXT, key) if key else []
    expected = [sentences(TEXT)[int(number)] for number in order]
    assert sentences(move_sentence(TEXT, phrases, sentence, to)) == expected


@pytest.mark.parametrize("name", ORDERS)
def test_real_reviews_keep_their_words_and_do_not_depend_on_their_shard(embedded, name):
    clean, keyphrases, _ = embedded
    made = rewrite_reviews(clean, keyphrases, None, name, "order", seed=3, **ORDERS[name])
    assert made.schema == VARIANT_SCHEMA
    changed = 0
    for text, other in zip(clean["text"], made["text"], strict=True):
        assert Counter(other.split(" ")) == Counter(text.split(" "))
        assert other == clean_text(other)
        changed += other != text
    assert changed >= 0.7 * len(clean)
    part = rewrite_reviews(clean[10:20].reverse(), keyphrases, None, name, "order", seed=3, **ORDERS[name])
    assert part.reverse().equals(made[10:20])
    assert made["placements"].list.len().sum() == 0
