"""The table of contrasts: each number by another route, and what it must not depend on."""

from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy import stats

from examples import example_table
from homogenization.run.errors import HomogenizationError
from homogenization.statistics.contrasts import (
    CONTRASTS_SCHEMA,
    contrast_table,
    groups_of,
    tabulate,
    values_of_predictions,
)
from homogenization.statistics.estimate import Settings
from homogenization.statistics.rest import rest
from homogenization.tables.comparisons import too_few
from homogenization.tables.metrics import VALUES_SCHEMA
from homogenization.tables.predictions import PREDICTIONS_SCHEMA
from homogenization.tables.similarity import SIMILARITY_SCHEMA
from measured import wide_of

N = 9
REVIEWS = [f"r{index:03d}" for index in range(N)]
VARIANTS = ("original", "front", "end", "blocks-4", "words")
LADDER = VARIANTS[3:]
PLACES = [("residual_stream", 0), ("residual_stream", 2), ("residual_stream", 4), ("final_norm", 4)]
CELLS = [
    (*place, view, metric)
    for metric, views in (("effective_rank", ("raw", "unit")), ("resultant_length", ("all_tokens",)))
    for view in views
    for place in PLACES
]
PAIRS = [("front", "original"), ("front", "end")]
SETTINGS = Settings(draws=600, seed=1, margin=0.02)
NUMBERS = ("mean", "ci_low", "ci_high", "median", "p_wilcoxon", "p_max_t")


def metric_values(models=("alpha",)):
    """Random values; those of `front` lie .4 above the others."""
    rows = []
    for model, (place, variant), (number, cell) in product(models, enumerate(VARIANTS), enumerate(CELLS)):
        generator = np.random.default_rng([ord(model[0]), place, number])
        for review, value in zip(REVIEWS, generator.normal(0.4 * (variant == "front"), 1, N), strict=True):
            rows.append((model, variant, review, *cell[:2], cell[1] / 4, *cell[2:], value))
    return pl.DataFrame(rows, schema=VALUES_SCHEMA, orient="row")


def predicted():
    """The table predictions: the ladder costs .5 and 2 nats a word, other variants 1."""
    parts = []
    for place, variant in enumerate(VARIANTS):
        loss = {"original": 0.0, "blocks-4": 0.5, "words": 2.0}.get(variant, 1.0)
        numbers = 4 + loss + 0.1 * np.random.default_rng(place).standard_normal(N)
        named = {"model": "alpha", "variant": variant, "review_id": REVIEWS, "loss_per_word": numbers}
        parts.append(example_table(PREDICTIONS_SCHEMA, **named, entropy=numbers / 2, divergence=1.0))
    return pl.concat(parts)


def similarity_of(reviews):
    """The table similarity from some of its columns."""
    return pl.concat([pl.DataFrame(schema=SIMILARITY_SCHEMA), reviews], how="diagonal_relaxed")


def contrasts_of(values, pairs=PAIRS, min_reviews=0, similarity=None, chosen=SETTINGS, **more):
    accepted = values.select("variant", "review_id").unique().with_columns(accepted=True)
    similarity = similarity_of(accepted) if similarity is None else similarity
    reasons = {pair: too_few(similarity, pair, N, min_reviews) for pair in pairs}
    return contrast_table(values, reasons, similarity, replace(chosen, min_reviews=min_reviews), **more)


def side(values, variant, model="alpha", **cell):
    rows = values.filter(model=model, variant=variant, **cell).sort("review_id")
    return rows["value"].to_numpy()


def test_every_number_by_another_route():
    values = metric_values()
    table = contrasts_of(values)
    assert dict(table.schema) == CONTRASTS_SCHEMA
    assert len(table) == len(PAIRS) * (len(CELLS) + 3 * 4)
    for row in table.iter_rows(named=True):
        cell = {name: row[name] for name in ("point", "view", "metric")}
        layers = {None: [row["layer"]], "all": [0, 2, 4], "first": [0], "middle": [2], "last": [4]}[row["layers"]]
        sides = [
            np.mean([side(values, row[of], layer=layer, **cell) for layer in layers], 0) for of in ("variant", "minus")
        ]
        sample = sides[0] - sides[1]
        interval = stats.ttest_1samp(sample, 0).confidence_interval()
        assert [row[name] for name in NUMBERS[:4]] == pytest.approx([sample.mean(), *interval, np.median(sample)])
        assert row["n_reviews"] == N
        assert row["depth"] == (None if row["layers"] else row["layer"] / 4)
        of = {"point": "residual_stream", "metric": cell["metric"], "view": cell["view"].replace("unit", "raw")}
        originals = [side(values, "original", layer=layer, **of) for layer in (0, 2, 4)]
        apart = [np.std(of_layer, ddof=1) for of_layer in originals]
        assert row["yardstick"] == pytest.approx(max(np.ptp(np.median(originals, axis=1)), np.median(apart)))


def test_families_are_the_layers_and_the_parts_of_the_depth():
    table = contrasts_of(metric_values())
    alone = contrasts_of(metric_values().filter(pl.col("layer") == 4))
    last = {"layer": 4, "view": "raw", "minus": "end"}
    for point, same in (("final_norm", True), ("residual_stream", False)):
        p = [one.filter(point=point, **last)["p_max_t"].item() for one in (table, alone)]
        assert (p[0] == p[1]) == same
    assert (table["p_max_t"] >= 2 / 2**N).all()


def test_rows_models_and_order_do_not_matter():
    values = metric_values(("alpha", "beta"))
    table = contrasts_of(values)
    assert_frame_equal(table, contrasts_of(values.sample(fraction=1, shuffle=True, seed=3)), check_exact=True)
    assert_frame_equal(table, contrasts_of(values, pairs=PAIRS[::-1]), check_exact=True)
    assert_frame_equal(table.filter(model="beta"), contrasts_of(values.filter(model="beta")), check_exact=True)


@settings(max_examples=25)
@given(data=st.data())
def test_a_contrast_is_that_of_the_reviews_accepted_in_both_whose_texts_differ(data):
    """Whatever is rejected or unchanged where: each contrast is that of a study of these reviews."""
    drawn = {name: data.draw(st.sets(st.sampled_from(REVIEWS))) for name in ("front", "end", "same")}
    whole = metric_values()
    gone = {"original": set(), **{name: drawn[name] for name in ("front", "end")}}
    missing = ((pl.col("variant") == name) & pl.col("review_id").is_in(of) for name, of in gone.items())
    kept = whole.filter(~pl.any_horizontal(missing))
    texts = kept.select("variant", "review_id").unique().filter(pl.col("variant") != "original")
    unchanged = pl.col("review_id").is_in(drawn["same"])
    hashes = pl.when(unchanged).then(pl.lit("same")).otherwise(pl.col("variant"))
    similarity = similarity_of(texts.with_columns(accepted=True, changed=~unchanged, words_hash=hashes))
    table = contrasts_of(kept, similarity=similarity, min_reviews=6)
    for variant, minus in PAIRS:
        left = [one for one in REVIEWS if one not in gone[variant] | gone[minus] | drawn["same"]]
        rows = table.filter(variant=variant, minus=minus)
        assert set(rows["n_reviews"]) == {len(left)}
        if len(left) < 6:
            assert rows.select(NUMBERS).unpivot()["value"].is_nan().all()
            assert set(rows["verdict"]) == {"not tested"}
            assert rows["reason"].null_count() == 0
        else:
            alone = contrasts_of(whole.filter(pl.col("review_id").is_in(left)), [(variant, minus)])
            of_yardstick = ("yardstick", "verdict")  # all originals make it
            assert_frame_equal(rows.drop(of_yardstick), alone.drop(of_yardstick), check_exact=True)


def test_predictions_are_contrasted_and_the_rest_is_beyond_the_ladder():
    values = pl.concat([metric_values(("alpha", "encoder")), values_of_predictions(predicted())])
    more = {"models": ["encoder", "alpha"], "ladder": LADDER}
    table = contrasts_of(values, [("front", "original"), ("words", "original")], **more)
    losses = table.filter(point="predictions", metric="loss_per_word", variant="front")
    assert losses["minus"].to_list() == ["original"]  # which has no rest
    assert losses["mean"].item() == pytest.approx(1, abs=0.1)
    own = side(values, "original", metric="loss_per_word")
    assert losses["yardstick"].item() == pytest.approx(own.std(ddof=1))
    assert table.filter(minus="disorder")["variant"].unique().to_list() == ["front"]
    cell = {"point": "residual_stream", "layer": 2, "view": "raw", "metric": "effective_rank"}
    change = {name: side(values, name, metric="loss_per_word") - own for name in VARIANTS}
    for model in more["models"]:  # the encoder is compared at the loss of the language model
        at = {name: side(values, name, model, **cell)[:, None] for name in VARIANTS}
        sides = [(at[name] - at["original"], change[name]) for name in ("front", *LADDER)]
        expected = rest(sides[0], sides[1:])
        row = table.filter(model=model, minus="disorder", **cell).row(0, named=True)
        assert row["mean"] == pytest.approx(expected.mean())
        assert row["ci_high"] == pytest.approx(stats.ttest_1samp(expected[:, 0], 0).confidence_interval().high)


def test_groups_stand_beside_the_whole():
    """A group is as a study of its own, but for the yardstick, which is that of all originals."""
    values = pl.concat([metric_values(), values_of_predictions(predicted())])
    more = {"min_reviews": 6, "models": ["alpha"], "ladder": LADDER}
    corpus = pl.DataFrame({"review_id": REVIEWS, "stars": [1, 2, 1, 2, 1, 1, 1, 1, None]})
    groups = groups_of(corpus, "stars")
    assert groups == {"1": [REVIEWS[place] for place in (0, 2, 4, 5, 6, 7)], "2": [REVIEWS[1], REVIEWS[3]]}
    table, whole = contrasts_of(values, groups=groups, **more), contrasts_of(values, **more)
    assert_frame_equal(table.filter(pl.col("group").is_null()), whole, check_exact=True)
    alone = contrasts_of(values.filter(pl.col("review_id").is_in(groups["1"])), **more)
    assert "disorder" in alone["minus"]
    dropped = ("group", "yardstick", "verdict")
    assert_frame_equal(table.filter(group="1").drop(dropped), alone.drop(dropped), check_exact=True)
    assert set(table.filter(group="2")["verdict"]) == {"not tested"}
    with pytest.raises(HomogenizationError, match=r"contrasts\.by: .*'genre'.*stars"):
        groups_of(corpus, "genre")


def test_tables_are_read_and_what_has_too_few_reviews_is_said(caplog):
    values = metric_values()
    accepted = values.select("variant", "review_id").unique()
    accepted = accepted.with_columns(accepted=(pl.col("variant") != "end") | pl.col("review_id").is_in(REVIEWS[:3]))
    tables = {"metrics": wide_of(values), "predictions": predicted(), "similarity": similarity_of(accepted)}
    chosen = {"contrasts": PAIRS, "names": ["effective_rank"], "n_reviews": N, "min_reviews": 6}
    more, resampling = {"models": ["alpha"], "ladder": LADDER}, {"draws": 600, "seed": 1, "margin": 0.02}
    found = tabulate(**chosen, **tables, **more, resampling=resampling)
    everything = pl.concat([values.filter(metric="effective_rank"), values_of_predictions(predicted())])
    expected = contrasts_of(everything, PAIRS[:1], **more)
    assert_frame_equal(found.filter(pl.col("minus") != "end"), expected, check_exact=True)
    assert "front minus end is not tested: 3 of 9 reviews" in caplog.text
