"""The table of contrasts: each number by another route, and what it must not depend on."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from homogenization.run.parquet import read_table, table_metadata, write_table
from homogenization.statistics.contrasts import CONTRASTS_SCHEMA, contrast_table
from homogenization.statistics.resampling import (
    Resampling,
    flip_p,
    mean_interval,
    sign_flips,
)
from homogenization.tables.comparisons import BALANCE_SCHEMA, comparisons_table
from homogenization.tables.metrics import VALUES_SCHEMA
from homogenization.tables.similarity import SIMILARITY_SCHEMA
from library.statistics.shared import MARGIN, run_tabulate
from measured import wide_of

REVIEWS = [f"r{index}" for index in range(9)]
VARIANTS = ("original", "front", "end")
CELLS = [
    (point, layer, view, metric)
    for metric, views in (("effective_rank", ("raw", "unit")), ("resultant_length", ("all_tokens",)))
    for view in views
    for point, layer in (("residual_stream", 0), ("residual_stream", 2), ("final_norm", 2))
]
NAMES = ["effective_rank", "resultant_length"]
PAIRS = [("front", "original"), ("front", "end")]
DRAWS = 600
OF_DEPTH = ("yardstick", "relative_effect", "verdict")  # all originals make the yardstick
NUMBERS = ("mean", "median", "ci_low", "ci_high", "p_wilcoxon", "p_value", "p_max_t")


def metrics_table(models=("alpha",), reviews=REVIEWS, shift=0.4, seed=0):
    """Random values; those of `front` lie `shift` above the others."""
    rows = []
    for model in models:
        for variant in VARIANTS:
            for number, (point, layer, view, metric) in enumerate(CELLS):
                rng = np.random.default_rng([seed, ord(model[0]), VARIANTS.index(variant), number])
                values = rng.normal(shift * (variant == "front"), 1, len(reviews))
                rows += [
                    (model, variant, review, point, layer, layer / 4, view, metric, value)
                    for review, value in zip(reviews, values, strict=True)
                ]
    return pl.DataFrame(rows, schema=VALUES_SCHEMA, orient="row")


def similarity_of(reviews):
    """The table similarity from some of its columns."""
    return pl.concat([pl.DataFrame(schema=SIMILARITY_SCHEMA), reviews], how="diagonal_relaxed")


def contrast(*given, **named):
    """The rows of single layers."""
    return of_layers(contrasts_of(*given, **named))


def contrasts_of(metrics, pairs=PAIRS, names=NAMES, seed=1, min_reviews=0):
    reviews = metrics.select("variant", "review_id").unique()
    similarity = similarity_of(reviews.with_columns(accepted=True))
    comparisons = comparisons_table(similarity, pairs, len(REVIEWS), min_reviews)
    return contrast_table(metrics, comparisons, similarity, names, Resampling(DRAWS, 0.95, seed, MARGIN))


def of_layers(table):
    """The rows of single layers."""
    return table.filter(pl.col("layers").is_null())


def differences(metrics, variant, minus, point, layer, view, metric, model="alpha"):
    """Paired differences by review, the plain way."""
    chosen = metrics.filter(model=model, point=point, layer=layer, view=view, metric=metric)
    first, second = (
        dict(chosen.filter(variant=name).select("review_id", "value").iter_rows()) for name in (variant, minus)
    )
    return np.array([first[review] - second[review] for review in sorted(first)])


def test_a_model_that_reads_too_few_of_the_accepted_reviews_is_not_tested():
    """Long reviews can be left out for one model, and for another not: the others' numbers stay."""
    metrics = metrics_table(models=("alpha", "beta"))
    read = (pl.col("model") == "alpha") | (pl.col("variant") != "end") | pl.col("review_id").is_in(REVIEWS[:4])
    table, whole = contrast(metrics.filter(read), min_reviews=5), contrast(metrics, min_reviews=5)
    few = table.filter(model="beta", minus="end")
    assert few["reason"].unique().to_list() == ["4 of 9 accepted reviews read by beta; at least 5 are needed"]
    assert few["verdict"].unique().to_list() == ["not tested"]
    assert few["n_reviews"].unique().to_list() == [4]
    assert few["mean"].is_nan().all()
    assert_frame_equal(table.filter(model="alpha"), whole.filter(model="alpha"), check_exact=True)


def test_every_number_by_another_route():
    metrics = metrics_table()
    table = contrast(metrics)
    assert dict(table.schema) == CONTRASTS_SCHEMA
    assert len(table) == len(PAIRS) * len(CELLS)
    for row in table.iter_rows(named=True):
        values = differences(metrics, *(row[key] for key in ("variant", "minus", "point", "layer", "view", "metric")))
        assert row["depth"] == row["layer"] / 4
        assert row["n_reviews"] == 9
        assert row["mean"] == pytest.approx(values.mean())
        assert row["median"] == pytest.approx(np.median(values))
        low, high = mean_interval(values[:, None])
        assert (row["ci_low"], row["ci_high"]) == (pytest.approx(low[0]), pytest.approx(high[0]))
        # 2^9 flips are fewer than the draws: the test is exact
        exact = flip_p(values[:, None], sign_flips(9, 2**9, seed=0))[0]
        assert row["p_value"] == pytest.approx(exact[0], rel=1e-12)


@pytest.mark.parametrize(("n_reviews", "verdict"), [(15, "undecided"), (16, "negligible")])
def test_where_depth_does_less_than_reviews_differ_the_margin_is_a_share_of_that(n_reviews, verdict):
    """Front is some .014 higher. Depth moves the metric by .02, of which .02 is less; reviews lie 1.1 apart."""
    metrics = metrics_table(reviews=[f"r{index:03d}" for index in range(n_reviews)])
    own = dict(zip(sorted(set(metrics["review_id"])), np.linspace(-1.6, 1.6, n_reviews), strict=True))
    shift = 0.01 * (pl.col("variant") == "front") + 0.01 * pl.col("layer")
    metrics = metrics.with_columns(value=pl.col("review_id").replace_strict(own) + shift)
    jitter = pl.col("review_id").replace_strict({review: 5e-4 * index for index, review in enumerate(own)})
    metrics = metrics.with_columns(value=pl.col("value") + pl.when(variant="front").then(jitter).otherwise(0.0))
    table = contrast(metrics).filter(minus="original", point="residual_stream")
    assert table["yardstick"].to_list() == pytest.approx([np.std(list(own.values()), ddof=1)] * len(table))
    assert (table["ci_low"] > 0.02 * 0.02).all()  # of the range
    assert (table["p_max_t"] < 0.05).all()
    assert table["verdict"].unique().to_list() == [verdict]  # fewer than 16 reviews are too few for equivalence


def test_max_t_is_over_the_layers_of_the_residual_stream():
    """By all 512 flips of both layers; the state after the final norm is a family of its own."""
    metrics = metrics_table()
    table = contrast(metrics)
    for variant, minus in PAIRS:
        layers = np.column_stack(
            [differences(metrics, variant, minus, "residual_stream", n, "unit", NAMES[0]) for n in (0, 2)]
        )
        expected = flip_p(layers, sign_flips(9, 512, seed=0))[1]
        rows = table.filter(variant=variant, minus=minus, view="unit", point="residual_stream").sort("layer")
        np.testing.assert_allclose(rows["p_max_t"], expected)
    alone = table.filter(point="final_norm")
    np.testing.assert_array_equal(alone["p_max_t"], alone["p_value"])
    assert (table["p_max_t"] >= table["p_value"]).all()


@pytest.mark.parametrize(("part", "layers"), [("all", (0, 2)), ("first", (0,)), ("middle", (2,)), ("last", ())])
def test_a_part_of_the_depth_is_the_mean_of_its_layers_and_a_family_with_the_others(part, layers):
    table = contrasts_of(metrics_table()).filter(pl.col("layers").is_not_null(), view="unit")
    assert set(table["point"]) == {"residual_stream"}
    for variant, minus in PAIRS:
        of_pair = table.filter(variant=variant, minus=minus)
        chosen = of_pair.filter(layers=part)
        assert len(chosen) == bool(layers)
        if not layers:
            continue
        of_layers = [
            differences(metrics_table(), variant, minus, "residual_stream", n, "unit", NAMES[0]) for n in (0, 2)
        ]
        parts = np.column_stack([np.mean(of_layers, axis=0), *of_layers])  # all, first, middle
        place = ["all", "first", "middle"].index(part)
        row, (low, high) = chosen.row(0, named=True), mean_interval(parts)
        expected = [parts.mean(axis=0), low, high, *flip_p(parts, sign_flips(9, 512, seed=0))]
        names = ("mean", "ci_low", "ci_high", "p_value", "p_max_t")
        assert [row[name] for name in names] == pytest.approx([column[place] for column in expected])


def test_rows_models_and_order_do_not_matter():
    metrics = metrics_table(("alpha", "beta"))
    table = contrast(metrics)
    assert_frame_equal(table, contrast(metrics.sample(fraction=1, shuffle=True, seed=3)), check_exact=True)
    assert_frame_equal(table, contrast(metrics, pairs=PAIRS[::-1], names=NAMES[::-1]), check_exact=True)
    alone = contrast(metrics.filter(model="beta"))
    assert_frame_equal(table.filter(model="beta"), alone, check_exact=True)
    keys = ["model", "variant", "minus", "point", "layer", "view", "metric"]
    assert table.select(keys).rows() == table.select(keys).sort(keys).rows()


def test_seed_decides_p_and_no_interval():
    metrics = metrics_table(reviews=[f"r{index:03d}" for index in range(20)])
    one, other = (contrast(metrics, seed=seed) for seed in (1, 2))
    assert (one["p_value"] != other["p_value"]).any()
    assert_frame_equal(one.select("ci_low", "ci_high"), other.select("ci_low", "ci_high"), check_exact=True)


def test_swapped_contrast_is_its_mirror():
    metrics = metrics_table()
    one, other = contrast(metrics, pairs=[("front", "end")]), contrast(metrics, pairs=[("end", "front")])
    np.testing.assert_allclose(one["mean"], -other["mean"])
    np.testing.assert_allclose(one["ci_low"], -other["ci_high"])
    np.testing.assert_array_equal(one["p_max_t"], other["p_max_t"])


def test_missing_values_are_left_out_of_their_cell_alone():
    metrics = metrics_table()
    cell = (pl.col("view") == "unit") & (pl.col("layer") == 0)
    gone = cell & (pl.col("review_id") == "r3") & (pl.col("variant") == "front")
    nowhere = (pl.col("view") == "unit") & (pl.col("point") == "final_norm") & (pl.col("variant") == "end")
    value = pl.when(gone | nowhere).then(float("nan")).otherwise(pl.col("value")).alias("value")
    table, whole = contrast(metrics.with_columns(value)), contrast(metrics)
    touched = (pl.col("view") == "unit") & ((pl.col("layer") == 0) | (pl.col("minus") == "end"))
    kept = pl.exclude("p_max_t")  # which is of all layers
    assert_frame_equal(table.filter(~touched).select(kept), whole.filter(~touched).select(kept), rel_tol=1e-12)
    row = table.filter(cell, minus="original").row(0, named=True)
    values = np.delete(differences(metrics, "front", "original", "residual_stream", 0, "unit", "effective_rank"), 3)
    assert row["n_reviews"] == 8
    assert row["mean"] == pytest.approx(values.mean())
    empty = table.filter(view="unit", point="final_norm", minus="end").row(0, named=True)
    assert empty["n_reviews"] == 0
    assert np.isnan([empty[name] for name in NUMBERS]).all()


def test_variants_that_agree_are_no_effect():
    """A layer that position can't reach, up to what rounding adds to one of them in every review."""
    same = 1.5 + 1e-12 * (pl.col("variant") == "front")
    metrics = metrics_table().with_columns(
        pl.when(pl.col("layer") == 0).then(same).otherwise(pl.col("value")).alias("value")
    )
    same = contrast(metrics).filter(layer=0)
    assert (same["mean"] == 0).all()
    assert (same["ci_low"] == 0).all()
    assert (same["p_value"] == 1).all()
    assert (same["p_max_t"] == 1).all()


@given(data=st.data())
def test_a_contrast_is_that_of_the_reviews_accepted_in_both_and_of_no_other_variant(data):
    """Whatever is rejected where: each contrast is that of a study of its two variants and their common reviews."""
    rejected = {variant: data.draw(st.sets(st.sampled_from(REVIEWS))) for variant in ("front", "end")}
    whole, kept = metrics_table(), metrics_table()
    for variant, reviews in rejected.items():
        kept = kept.filter((pl.col("variant") != variant) | ~pl.col("review_id").is_in(reviews))
    pairs = [*PAIRS, ("end", "original")]
    table = contrast(kept, pairs=pairs, min_reviews=6)
    for variant, minus in pairs:
        gone = set().union(*(rejected.get(name, set()) for name in (variant, minus)))
        rows = table.filter(variant=variant, minus=minus).drop(OF_DEPTH)
        if len(REVIEWS) - len(gone) < 6:
            assert (rows["n_reviews"] == len(REVIEWS) - len(gone)).all()
            assert rows["reason"].str.contains(f"{len(REVIEWS) - len(gone)} of 9 reviews accepted").all()
            assert rows.select(NUMBERS).unpivot()["value"].is_nan().all()
            continue
        alone = whole.filter(~pl.col("review_id").is_in(gone), pl.col("variant").is_in([variant, minus]))
        assert_frame_equal(rows, contrast(alone, pairs=[(variant, minus)]).drop(OF_DEPTH))


@pytest.mark.parametrize(("pairs", "names"), [([], NAMES), (PAIRS, ["participation_ratio"])])
def test_nothing_to_contrast(pairs, names):
    table = contrast(metrics_table(), pairs=pairs, names=names)
    assert dict(table.schema) == CONTRASTS_SCHEMA
    assert table.is_empty()


def test_one_review_has_no_interval():
    table = contrast(metrics_table(reviews=["only"]))
    assert (table["n_reviews"] == 1).all()
    assert table["mean"].is_finite().all()
    for name in ("ci_low", "ci_high", "p_value", "p_max_t"):
        assert table[name].is_nan().all()


def test_planted_effect_is_found_and_nothing_else():
    metrics = metrics_table(reviews=[f"r{index}" for index in range(80)], shift=1.0)
    table = contrast(metrics, pairs=[("front", "original"), ("end", "original")])
    assert (table.filter(variant="front")["p_max_t"] < 0.05).all()
    assert 6 * table.filter(variant="end")["p_max_t"].min() > 0.05  # of six families


def test_the_script_writes_the_table(tmp_path):
    """From tables on the disk to the table with its metadata."""
    metrics = metrics_table()
    outputs = [tmp_path / "contrasts.parquet", tmp_path / "comparisons.csv"]
    paths = {name: str(tmp_path / f"{name}.parquet") for name in ("metrics", "similarity")}
    write_table(wide_of(metrics), paths["metrics"])
    accepted = (
        metrics.select("variant", "review_id")
        .unique()
        .with_columns(accepted=(pl.col("variant") == "front") | pl.col("review_id").is_in(REVIEWS[:3]))
    )
    write_table(similarity_of(accepted), paths["similarity"])
    paths["balance"] = str(tmp_path / "balance.csv")
    unlike = ("front", "end", None, None, "order", 1.0, 0.5, 3.0, 3, False)
    pl.DataFrame([unlike], schema=BALANCE_SCHEMA, orient="row").write_csv(paths["balance"])
    arguments = {"contrasts": PAIRS, "names": NAMES, "n_reviews": len(REVIEWS), "min_reviews": 6}
    arguments["resampling"] = {"draws": DRAWS, "confidence": 0.95, "seed": 1, "margin": MARGIN}
    run_tabulate(tmp_path, "statistics.contrasts", paths, outputs, **arguments)
    written, comparisons = of_layers(read_table(outputs[0])), pl.read_csv(outputs[1])
    assert_frame_equal(written.filter(minus="original"), contrast(metrics, pairs=PAIRS[:1]), check_exact=True)
    assert written.filter(minus="end")["reason"].unique().item().startswith("3 of 9 reviews accepted in both;")
    assert comparisons.select("minus", "n_accepted", "tested").rows() == [("original", 9, True), ("end", 3, False)]
    assert comparisons["imbalance"].to_list() == [None, "order"]
    assert "front minus end is not tested: 3 of 9" in (tmp_path / "log").read_text()
    assert table_metadata(outputs[0])["resampling"] == arguments["resampling"]
    run_tabulate(tmp_path, "statistics.contrasts", {**paths, "balance": []}, outputs, **arguments)
    assert pl.read_csv(outputs[1])["imbalance"].to_list() == [None, None]
