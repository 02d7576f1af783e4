"""Which rewritten reviews are accepted, what rewriting changed in them, and which reviews a comparison has."""

import math

import polars as pl
import pytest

from examples import example_table
from homogenization.tables.comparisons import same_texts
from homogenization.tables.similarity import ACCEPTANCE_SCHEMA, SIMILARITY_SCHEMA, tabulate
from homogenization.variants.schemas import FLUENCY_SCHEMA, SCORE_SCHEMA, VARIANT_SCHEMA
from measured import written

RANDOM = example_table(SCORE_SCHEMA, variant="random_pairs", review_id=["a", "b", "c"], f1=[0.3, 0.4, 0.5])


def scores(variant, **f1):
    return example_table(SCORE_SCHEMA, variant=variant, review_id=list(f1), f1=list(f1.values()))


def losses(variant, **values):
    return example_table(FLUENCY_SCHEMA, variant=variant, review_id=list(values), loss_per_word=list(values.values()))


def placed(sentence, before, after):
    return {"phrase": "house", "sentence": sentence, "original_position": before, "position": after}


def texts(variant, placements=(), **reviews):
    rows = [(variant, name, text, None, list(placements)) for name, text in reviews.items()]
    return pl.DataFrame(rows, schema=VARIANT_SCHEMA, orient="row")


ORIGINALS = texts("original", **{name: f"The house of {name} burns." for name in "abcd"})


def tables_of(folder, *scored, variants=("front",), fluency=(), rewritten=(), threshold=0.8, **more):
    """The tables similarity and acceptance of a study of four reviews."""
    files = {"similarity": scored, "random_pairs": [RANDOM], "fluency": fluency, "originals": [ORIGINALS]}
    files = {name: written(folder, *parts) or None for name, parts in files.items()}
    files["rewritten"] = written(folder, *rewritten)
    return tabulate(list(variants), threshold, 4, **files, **more)


def test_a_review_is_accepted_in_each_variant_by_itself(tmp_path):
    parts = scores("front", b=0.8, a=0.9, c=math.nan), scores("end", a=0.92, b=0.7), scores("words", a=0.1)
    similarity, _ = tables_of(tmp_path, *parts, always_accepted=["words"], max_excess=None)
    assert dict(similarity.schema) == SIMILARITY_SCHEMA
    assert similarity.select("variant", "review_id", "accepted").rows() == [
        *[("front", "b", True), ("front", "a", True), ("front", "c", False)],  # the threshold itself is enough
        *[("end", "a", True), ("end", "b", False), ("words", "a", True)],
        *[("random_pairs", name, None) for name in "abc"],
    ]


def test_the_excess_is_that_over_the_same_review_and_can_bound_acceptance(tmp_path):
    """Of four reviews, one is too unlike, one too clumsy, one lies at the bound, one has no loss."""
    f1, original = scores("front", a=0.7, b=0.9, c=0.9, d=0.9), losses("original", a=3.0, b=4.0, c=5.0)
    fluency = [original, losses("front", a=3.5, b=5.0, c=5.75)]
    similarity, acceptance = tables_of(tmp_path, f1, fluency=fluency, max_excess=0.75)
    rows = similarity.filter(variant="front").select("loss_per_word", "excess_loss", "accepted").rows()
    assert rows == [(3.5, 0.5, False), (5.0, 1.0, False), (5.75, 0.75, True), (None, None, False)]
    numbers = acceptance.select("n_accepted", "mean_loss_per_word", "median_excess_loss", "max_excess_loss").rows()
    assert numbers == [(1, 4.75, 0.75, 0.75)]


def test_acceptance_lists_every_variant(tmp_path):
    """One review could not be rewritten as front, and none as end. Words in their order decide what changed."""
    front = texts(
        "front",
        [placed(0, 0.5, 0.0), placed(1, 0.0, 0.0)],
        a="House, the, of a burns!",
        b=ORIGINALS["text"][1].lower() + "!",
    )
    more = {"variants": ["end", "front"], "rewritten": [front]}
    similarity, acceptance = tables_of(tmp_path, scores("front", a=0.9, b=0.9, c=0.3), **more)
    assert dict(acceptance.schema) == ACCEPTANCE_SCHEMA
    none, some = acceptance.iter_rows(named=True)
    assert list(none.values())[:7] == ["end", 4, 0, 0, 0.0, 0, None]
    assert [some[name] for name in ("n_rewritten", "n_accepted", "acceptance_rate", "n_changed")] == [3, 2, 0.5, 1]
    assert [some[name] for name in ("n_without_phrases", "n_sentences", "n_sentences_moved")] == [0, 4, 2]
    assert some["baseline_median_f1"] == pytest.approx(0.4)
    assert similarity.filter(variant="front")["changed"].to_list() == [True, False, None]
    assert similarity.filter(variant="front")["first_word_changed"].to_list() == [True, False, None]


def similar(**hashes):
    """Accepted texts of each variant: a letter for each review; `o` is as the original."""
    names = [(name, f"r{number:02d}", one) for name, texts in hashes.items() for number, one in enumerate(texts)]
    variants, reviews, words = zip(*names, strict=True)
    columns = {"variant": variants, "review_id": reviews, "words_hash": words, "changed": [one != "o" for one in words]}
    return example_table(SIMILARITY_SCHEMA, accepted=True, **columns)


def test_a_comparison_has_the_reviews_whose_texts_differ():
    """A review that changed in one of two variants differs; one that changed alike in both does not."""
    table = similar(front="aaaaoooo", inward="bbaoooob")
    assert same_texts(table, "front", "inward")["review_id"].sort().to_list() == ["r02", "r04", "r05", "r06"]
    assert same_texts(table, "original", "front")["review_id"].sort().to_list() == ["r04", "r05", "r06", "r07"]
    assert same_texts(table, "front", "typo").is_empty()
