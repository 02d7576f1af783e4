from hashlib import blake2b

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homogenization.corpus.cleaning import review_id
from homogenization.corpus.sampling import sample_reviews, sample_size
from homogenization.run.errors import HomogenizationError


def corpus(n_per_label, labels=("neg", "pos"), n_words=100):
    names = [f"{label}{n}" for label in labels for n in range(n_per_label)]
    return pl.DataFrame(
        {
            "review_id": [review_id(name) for name in names],
            "text": names,
            "label": [name[:3] for name in names],
            "n_words": [n_words] * len(names),
        }
    )


def test_the_sample_is_balanced_and_seeded():
    clean = corpus(50)
    first, again, other = (sample_reviews(clean, seed, 0, 40, balance_by="label") for seed in (0, 0, 1))
    assert first.equals(again)
    assert set(first["review_id"]) != set(other["review_id"])
    assert first["label"].to_list() == ["neg", "pos"] * 20
    assert first["rank"].to_list() == list(range(40))
    assert first.columns == ["review_id", "text", "label", "rank"]
    three = sample_reviews(corpus(4, ["aaa", "bbb", "ccc"]), 0, 3, 9, balance_by="label")
    assert three["label"].to_list() == ["aaa", "bbb", "ccc"] * 2


@settings(max_examples=30)
@given(st.integers(0, 5), st.integers(1, 20), st.integers(1, 15), st.randoms())
def test_shards_are_nested_and_know_no_row_order(seed, size, more, random):
    clean = corpus(20)
    shuffled = clean[random.sample(range(len(clean)), len(clean))]
    for column in ("label", None):
        whole = sample_reviews(clean, seed, 0, size + more, balance_by=column)
        assert sample_reviews(shuffled, seed, 0, size, balance_by=column).equals(whole.head(size))
        assert sample_reviews(shuffled, seed, size, size + more, balance_by=column).equals(whole.tail(more))


FEW = pl.concat([corpus(3, ["neg"]), corpus(9, ["pos"])])


@pytest.mark.parametrize(
    ("clean", "stop", "options", "said"),
    [
        (FEW, 8, {"balance_by": "label"}, r"8 reviews are wanted.*'neg' has 3, label 'pos' has 9.*balance_by: null"),
        (corpus(5), 5, {"min_words": 200}, r"5 reviews are wanted.*of 200 to .*the corpus has 0"),
    ],
)
def test_too_few_reviews_are_counted_by_label(clean, stop, options, said):
    with pytest.raises(HomogenizationError, match=said):
        sample_reviews(clean, 0, 0, stop, **options)
    assert len(sample_reviews(FEW, 0, 0, 8)) == sample_size(FEW, None, 0, 999) - 4 == 8
    assert sample_size(FEW, "label", 0, 999) == 6
    assert sample_size(FEW, "label", 200, 999) == sample_size(FEW, None, 200, 999) == 0


def test_ranks_are_those_of_the_hashes():
    sample = sample_reviews(corpus(9, ["neg"]), 5, 0, 9)
    expected = sorted(sample["review_id"], key=lambda name: blake2b(f"5:{name}".encode(), digest_size=16).hexdigest())
    assert sample["review_id"].to_list() == expected


def test_another_column_than_the_label_may_balance_and_its_gaps_are_left_out():
    clean = corpus(6).with_columns(year=pl.Series([1990, 2000, None] * 4))
    sample = sample_reviews(clean, 0, 0, 8, balance_by="year")
    assert sample["year"].to_list() == [1990, 2000] * 4
    assert sample_size(clean, "year", 0, 999) == 8
