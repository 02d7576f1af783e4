"""Which reviews a model is trained on: never sampled ones or copies of them."""

import polars as pl
import pytest

from homogenization.run.errors import HomogenizationError
from homogenization.training.texts import reviews_to_train_on, without_copies

REVIEW = "The acting was splendid, the plot thin, and the music far too loud for a film about monks in the snow."


@pytest.mark.parametrize(
    ("text", "copied"),
    [
        (REVIEW.upper(), True),
        ("I saw it twice! " + REVIEW, True),
        (REVIEW.replace("splendid", "dull"), True),
        ("A dull film", True),
        ("A dull film about monks in the snow.", False),
        (REVIEW[:60], False),
        ("", False),
    ],
)
def test_copies_share_thirteen_words_in_a_row_or_all_of_fewer(text, copied):
    table = pl.DataFrame({"review_id": ["a"], "text": [text]})
    assert without_copies(table, ["A dull film.", REVIEW]).is_empty() == copied


def test_nobody_trains_on_the_sample_or_what_is_held_out_or_on_copies(reviews):
    clean, sampled = reviews
    _, held_out = reviews_to_train_on(clean, sampled)
    copies = pl.DataFrame(
        {
            "review_id": [f"{n:x}" * 12 for n in range(10, 14)],
            "text": ["Well, well. " + text for text in [sampled["text"][3], *held_out["text"]]],
        }
    )
    training, of_both = reviews_to_train_on(pl.concat([clean, copies]), sampled)
    parts = [set(part["review_id"]) for part in (training, of_both, sampled, copies[:1])]
    assert sum(map(len, parts)) == len(set.union(*parts))
    assert len(without_copies(training, [*of_both["text"], *sampled["text"]])) == len(training) > 20
    smaller = clean.filter(~pl.col("review_id").is_in(training["review_id"][:5].implode()))
    assert reviews_to_train_on(smaller, sampled)[1].equals(held_out), "it does not depend on what is trained on"


def test_too_few_reviews_are_counted(reviews):
    with pytest.raises(
        HomogenizationError,
        match="of 18 reviews, a sample of 10 and its copies leave 7 to train on, and a step reads 8",
    ):
        reviews_to_train_on(pl.concat([reviews[1], reviews[0][1::4][:8]]), reviews[1])
