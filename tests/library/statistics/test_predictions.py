"""Variants' effects beside what steering predicts of them."""

import numpy as np
import polars as pl
import pytest

from homogenization.statistics import causes_in_words
from homogenization.statistics.mechanism import MECHANISM_SCHEMA
from homogenization.statistics.predictions import PREDICTIONS_SCHEMA, doses, predictions_table, tabulate
from library.statistics.shared import COSINE, metric_rows, similarity_rows, slope_rows, words_of
from measured import written

N, N_BLOCKS = 20, 3
NO_MECHANISM = pl.DataFrame(schema=MECHANISM_SCHEMA)
SETTINGS = {"confidence": 0.95, "min_reviews": 6}
TEMPLATES = ("first", "second", "self", "previous", "next", "recency_2", "recency_8", "recency_32", "uniform")


def positional_rows(weights, variant="original", model="m", heads=2):
    """Rows of tables/positional.parquet; heads differ about the weights of their block."""
    rows = []
    for block, of_block in enumerate(weights, start=1):
        for head in range(heads):
            columns = {f"weight_{name}": 0.0 for name in TEMPLATES}
            spread = 0.02 * (head - (heads - 1) / 2)
            columns |= {f"weight_{name}": value + spread for name, value in of_block.items()}
            rows.append({"model": model, "variant": variant, "block": block, "head": head + 1, **columns})
    return pl.DataFrame(rows)


def dose_of(table, template):
    return table.filter(template=template).sort("block")["dose"].to_numpy()


def test_doses_turn_the_attention_of_the_original_into_that_of_the_variant():
    """A = (1 - λ) C + sum w P, with any content and templates, gives A' by A + sum c (P - A)."""
    generator = np.random.default_rng(0)
    content, first, recency = generator.dirichlet(np.ones(6), 3)
    own, other = {"first": 0.3, "recency_2": 0.2}, {"first": 0.15, "recency_2": 0.25}
    table = doses(pl.concat([positional_rows([own]), positional_rows([other], "front")]), "m", "front")

    def attention(weights):
        return (1 - sum(weights.values())) * content + weights["first"] * first + weights["recency_2"] * recency

    before = attention(own)
    changed = before + sum(
        dose_of(table, name) * (place - before) for name, place in (("first", first), ("recency_2", recency))
    )
    np.testing.assert_allclose(changed, attention(other), atol=1e-12)
    assert table["positional"].unique().to_list() == pytest.approx([0.5])


def study(effect=1.0, noise=0.0):
    """Slopes, positions and metrics of a variant whose effect is `effect` times what doses predict."""
    generator = np.random.default_rng(1)
    slopes = {name: generator.normal(1, 0.3, (N, N_BLOCKS)) for name in ("first", "recency")}
    own = [{"first": 0.2, "recency_2": 0.1, "recency_8": 0.1}] * N_BLOCKS
    other = [{"first": 0.2 + 0.02 * block, "recency_2": 0.1, "recency_8": 0.1} for block in range(N_BLOCKS)]
    positional = pl.concat([positional_rows(own), positional_rows(other, "front")])
    table = doses(positional, "m", "front")
    predicted = slopes["first"] @ dose_of(table, "first")
    predicted = predicted + slopes["recency"] @ (dose_of(table, "recency_2") + dose_of(table, "recency_8"))
    levels = generator.normal(0.5, 0.1, (N, N_BLOCKS + 1))
    moved = levels + effect * predicted[:, None] + noise * generator.standard_normal((N, 1))
    metrics = pl.concat(
        [metric_rows(levels, COSINE, "all_tokens"), metric_rows(moved, COSINE, "all_tokens", variant="front")]
    )
    return slope_rows(slopes), positional, metrics, predicted


def answer_of(**keys):
    slopes, positional, metrics, _ = study(**keys)
    table = predictions_table(slopes, positional, metrics, **SETTINGS)
    return causes_in_words.tabulate(NO_MECHANISM, table, ["m"], words_of("causes"))["answer"].item()


def test_predictions_are_slopes_times_doses_review_by_review():
    slopes, positional, metrics, predicted = study(effect=3.0)
    table = predictions_table(slopes, positional, metrics.filter(pl.col("review_id") != "r004"), **SETTINGS)
    assert table.schema == pl.Schema(PREDICTIONS_SCHEMA)
    (row,) = table.iter_rows(named=True)
    predicted = np.delete(predicted, 4)
    assert row["predicted"] == pytest.approx(predicted.mean())
    assert row["measured"] == pytest.approx(3 * predicted.mean())
    assert row["unexplained"] == pytest.approx(2 * predicted.mean())
    assert (row["n_reviews"], row["layer"], row["covered"]) == (N - 1, N_BLOCKS, 1.0)
    assert row["predicted_low"] < row["predicted"] < row["predicted_high"]
    assert row["positional"] == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"effect": 4.0}, ": 25 % of it."),
        ({"effect": -1.0}, ": the opposite."),
        ({"effect": 1.0, "noise": 0.02}, ": the two agree within their error."),
        ({"effect": 0.0, "noise": 0.3}, ": the two agree within their error, as would no change."),
        ({"effect": 0.0, "noise": 0.02}, ": the measured change is undecided, and is another than the predicted one."),
    ],
)
def test_answers_say_what_the_numbers_say(keys, said):
    answer = answer_of(**keys)
    assert answer.startswith("Position has 40 % of the attention, and `front` moves ")
    assert "It changes the cosine anisotropy of all tokens at layer 3 by " in answer
    assert answer.endswith(said)


def test_templates_without_a_slope_are_counted():
    slopes, positional, metrics, _ = study()
    table = predictions_table(slopes.filter(pattern="first"), positional, metrics, **SETTINGS)
    moved = doses(positional, "m", "front")
    first = np.abs(dose_of(moved, "first")).sum()
    assert table["covered"].item() == pytest.approx(first / moved["dose"].abs().sum())
    assert (
        "are predicted from"
        in causes_in_words.tabulate(NO_MECHANISM, table, ["m"], words_of("causes"))["answer"].item()
    )


def test_spectral_views_are_those_of_the_residual_stream():
    slopes, positional, metrics, predicted = study(effect=2.0)
    rank = "normalized_effective_rank"
    slopes = slopes.with_columns(metric=pl.lit(rank), view=pl.lit("centred"))
    metrics = metrics.with_columns(metric=pl.lit(rank), view=pl.lit("centred"))
    others = metrics.with_columns(view=pl.lit("raw"), value=pl.lit(9.0))
    table = predictions_table(slopes, positional, pl.concat([others, metrics]), **SETTINGS)
    assert table["measured"].item() == pytest.approx(2 * predicted.mean())


def test_a_model_without_predictions_says_so():
    slopes, positional, metrics, _ = study()
    table = predictions_table(slopes, positional, metrics.filter(variant="original"), **SETTINGS)
    assert table.is_empty()
    assert causes_in_words.tabulate(NO_MECHANISM, table, ["m", "x"], words_of("causes")).rows() == [
        (name, "No variant's effect was predicted, and what the first token delivers was not measured.")
        for name in "mx"
    ]


def test_from_the_slopes_of_all_jobs_to_the_answer(tmp_path):
    slopes, positional, metrics, _ = study()
    table = tabulate(written(tmp_path, slopes), similarity_rows(np.ones(N)), positional, metrics, **SETTINGS)
    assert len(table) == 1
    for predictions, said in ((table, "Position has"), (table.clear(), "No variant's effect was predicted")):
        ((model, answer),) = causes_in_words.tabulate(NO_MECHANISM, predictions, ["m"], words_of("causes")).rows()
        assert model == "m"
        assert answer.startswith(said)
