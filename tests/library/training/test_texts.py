"""Which reviews a model is trained on: never sampled ones or their near-duplicates; the order."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import LLAMA
from homogenization.run.errors import HomogenizationError
from homogenization.run.parquet import write_table
from homogenization.training.texts import Batches, near_duplicates, reviews_to_train_on
from script import run_script

REVIEW = "The acting was splendid, the plot thin, and the music far too loud for a film about monks in the snow."


@pytest.mark.parametrize(
    ("text", "alike"),
    [
        (REVIEW.upper(), True),
        ("I saw it twice! " + REVIEW, True),
        (REVIEW[:60], True),
        (REVIEW.replace("splendid", "dull"), True),
        ("A film about monks in the desert, which nobody needs, has music that nobody hears and no plot.", False),
        ("", False),
    ],
)
def test_near_duplicates_share_rows_of_words(text, alike):
    assert near_duplicates([text], ["Another review of five words.", REVIEW]) == [alike]


def test_nobody_trains_on_the_sample(reviews):
    clean, sampled = reviews
    copied = pl.DataFrame({"review_id": ["f" * 12], "text": ["Well, well. " + sampled["text"][3]]})
    training, held_out = reviews_to_train_on(pl.concat([clean, copied]), sampled, held_out=6, batch_size=4)
    parts = [set(part["review_id"]) for part in (training, held_out, sampled, copied)]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 41
    assert len(held_out) == 6
    smaller = reviews_to_train_on(
        clean.filter(~pl.col("review_id").is_in(training["review_id"][:5].implode())), sampled, 6, 4
    )
    assert smaller[1].equals(held_out), "what is held out does not depend on the others"


def test_nobody_trains_on_a_near_duplicate_of_what_is_held_out(reviews):
    clean, sampled = reviews
    _, held_out = reviews_to_train_on(clean, sampled, held_out=6, batch_size=4)
    copies = pl.DataFrame({"review_id": [f"{n:x}" * 12 for n in range(10, 16)], "text": "Well. " + held_out["text"]})
    training, of_both = reviews_to_train_on(pl.concat([clean, copies]), sampled, held_out=6, batch_size=4)
    assert not any(near_duplicates(training["text"].to_list(), of_both["text"].to_list()))
    assert len(of_both) == 6
    assert len(training) + 6 < len(clean) + len(copies) - len(sampled)
    with pytest.raises(
        HomogenizationError, match=r"near-duplicates of sampled ones, and [1-6] of these of held-out ones"
    ):
        reviews_to_train_on(pl.concat([clean, copies]), sampled, held_out=6, batch_size=30)


def test_the_tokenizer_of_a_trained_model_has_not_seen_the_sample(reviews, tmp_path):
    clean, sampled = reviews
    paths = {name: str(tmp_path / f"{name}.parquet") for name in ("clean", "rest", "sampled")}
    for name, table in (
        ("clean", clean),
        ("rest", clean.join(sampled, on="review_id", how="anti")),
        ("sampled", sampled),
    ):
        write_table(table, paths[name])
    params = {"random": LLAMA, "seed": 0, "vocab_size": 300, "positions": "own", "head": True}
    tokenizers = {}
    for name, inputs in (
        ("seen", {"corpus": paths["clean"], "sampled": []}),
        ("unseen", {"corpus": paths["clean"], "sampled": [paths["sampled"]]}),
        ("rest", {"corpus": paths["rest"]}),
    ):
        output = {"config": str(tmp_path / name / "config.json")}
        run_script("build_random_model", tmp_path / "log", inputs, output, params)
        tokenizers[name] = (tmp_path / name / "tokenizer.json").read_text()
    assert tokenizers["unseen"] == tokenizers["rest"] != tokenizers["seen"]


def test_too_few_reviews_are_counted(reviews):
    with pytest.raises(
        HomogenizationError, match=r"sample of 10 leaves 30 reviews of 40 .* 31 are needed: 27 held out"
    ):
        reviews_to_train_on(*reviews, held_out=27, batch_size=4)


@given(st.integers(1, 30), st.integers(1, 8), st.integers(0, 5), st.integers(0, 40))
def test_the_reviews_of_a_step_follow_from_seed_and_step(number, size, seed, step):
    names = [f"review {place}" for place in range(number)]
    asked = Batches(names, seed, size)
    all_steps = [asked.of(earlier) for earlier in range(step + 1)]
    assert Batches(names, seed, size).of(step) == all_steps[-1]
    read = [place for of_step in all_steps for place in of_step]
    for epoch in range(len(read) // number):
        assert sorted(read[epoch * number : (epoch + 1) * number]) == list(range(number))
    others = [f"review {place}" for place in range(30)]
    assert Batches(others, seed, 8).of(step) != Batches(others, seed + 1, 8).of(step)
