"""What the statistics of claims find: on the numbers of reviews that no model computed."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from examples import example_table
from homogenization.claims.statistics.component import COMPONENT_GROUPS
from homogenization.claims.terms import UnavailableError
from homogenization.names.verdicts import NOT_TESTED, SUPPORTED, UNDECIDED
from homogenization.statistics.resampling import bootstrap_weights
from homogenization.tables.pooled import POOLED_METRICS_SCHEMA
from library.statistics.shared import (
    CONFIDENCE,
    COSINE,
    DRAWS,
    MIN_REVIEWS,
    N_BLOCKS,
    N_REVIEWS,
    NORM,
    RANK,
    SEED,
    assert_mean_of,
    claim_of,
    component_changes,
    component_rows,
    evidence_of,
    found_in,
    interval_of,
    judged,
    judged_row,
    metric_rows,
    noise,
    similarity_rows,
    within_layers,
)

DEPTH = np.arange(N_BLOCKS + 1) / N_BLOCKS
MEV = "max_explainable_variance"
FRONT_LESS_ORIGINAL = {"metric": RANK, "variant": "front", "minus": "original"}
WITH_NORM = {"metric": MEV, "with_metric": NORM}


def test_a_contrast_is_paired_by_review_and_layer():
    front, original = noise(0) + 1, noise(1)
    front[0], original[1], front[2, 3] = np.nan, np.nan, np.nan
    # a review that only one variant has, and rows in no order
    rows = pl.concat([metric_rows(front, variant="front"), metric_rows(original)])
    rows = rows.filter((pl.col("variant") == "front") | (pl.col("review_id") != "r005"))
    found = found_in(evidence_of(rows.sample(fraction=1, shuffle=True, seed=0)), contrast=FRONT_LESS_ORIGINAL, above=0)
    assert_mean_of(found, np.nanmean(np.delete(front - original, [0, 1, 5], axis=0), axis=1))


@pytest.mark.parametrize("layers", ["input", "output", "all"])
def test_a_contrast_takes_its_own_metric_view_variant_point_and_layers(layers):
    cell = (COSINE, "without_first", "front", "m", "final_norm")
    others = ("resultant_length", "all_tokens", "end", "other", "residual_stream")
    rows = [metric_rows(noise(0) + 1 + DEPTH, *cell), metric_rows(noise(9), *cell[:2], "original", *cell[3:])]
    for place, other in enumerate(others):
        rows.append(metric_rows(noise(place + 1) + 9, *cell[:place], other, *cell[place + 1 :]))
    if layers == "all":  # of the residual stream alone
        rows = [table.with_columns(point=pl.lit("residual_stream")) for table in rows[:-1]]
    keys = {"metric": COSINE, "view": "without_first", "variant": "front", "minus": "original", "layers": layers}
    point = "residual_stream" if layers == "all" else "final_norm"
    found = found_in(evidence_of(*rows), contrast=keys | {"point": point}, above=0)
    difference = noise(0) + 1 + DEPTH - noise(9)
    expected = {"input": difference[:, 0], "output": difference[:, -1], "all": difference}[layers]
    assert found["estimate"] == pytest.approx(expected.mean())


class TestOverDepth:
    def test_net_change_and_slope_of_a_curve_that_turns_have_each_their_verdict(self):
        """The effective rank of Gemma 3 270M, .62 at the input, .14 after block 1 and .41 at the output."""
        curve = np.array([0.62, *np.linspace(0.14, 0.41, N_BLOCKS)])
        claims = [
            claim_of("net", net_change={"metric": RANK}, below=0),
            claim_of("after", net_change={"metric": RANK, "since": "first block"}, below=0),
            claim_of("slope", slope={"metric": RANK}, below=0),
        ]
        table = judged(claims, evidence_of(metric_rows(curve + noise(0, 0.01))))
        assert table["verdict"].to_list() == ["supported", "contradicted", "contradicted"]
        assert table["since"].to_list() == ["input", "first block", None]
        np.testing.assert_allclose(table["estimate"][:2], [-0.21, 0.27], atol=0.01)

    @pytest.mark.parametrize(
        ("since", "layers"),
        [
            ("input", pl.col("layer") == N_BLOCKS),
            ("input", pl.col("layer") > 0),
            ("input", pl.col("layer") < N_BLOCKS),
            ("first block", pl.col("layer") < 2),
        ],
    )
    def test_net_change_without_one_of_its_layers_is_not_tested(self, since, layers):
        evidence = evidence_of(metric_rows(noise(0)).filter(layers))
        with pytest.raises(UnavailableError, match=f"{RANK} has no value (at the input|after the first block)"):
            found_in(evidence, net_change={"metric": RANK, "since": since}, above=0)

    def test_one_block_has_a_net_change_from_the_input(self):
        found = found_in(evidence_of(metric_rows(noise(0)[:, :2])), net_change={"metric": RANK}, above=0)
        assert found["n_reviews"] == N_REVIEWS


class TestCorrelation:
    def found(self, x, y, without_first):
        evidence = evidence_of(
            metric_rows(x, "max_explainable_variance"),
            metric_rows(without_first, "max_explainable_variance", "raw_without_first"),
            metric_rows(y, NORM, "all_tokens"),
        )
        return found_in(evidence, correlation=WITH_NORM, above=0)

    def test_is_within_layers_and_compared_with_that_without_the_first_token(self):
        x, bare = noise(0, 1), noise(2, 1)
        y = x + 0.5 * bare + noise(1, 1) + 9 * DEPTH
        x[0], y[1, 2] = np.nan, np.nan
        found = self.found(x + 9 * DEPTH, y, bare)

        within = within_layers(x[1:], y[1:])
        assert (found["estimate"], found["n_reviews"]) == (pytest.approx(within), N_REVIEWS - 1)
        assert found["without_first"] == pytest.approx(within_layers(bare[1:], y[1:]))
        draws = []
        for weights in bootstrap_weights(N_REVIEWS - 1, DRAWS, SEED)[:300]:
            drawn = 1 + np.repeat(np.arange(N_REVIEWS - 1), np.rint(weights * (N_REVIEWS - 1)).astype(int))
            draws.append(within_layers(x[drawn], y[drawn]))
        assert interval_of(found)[1:] == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])), abs=0.03)
        assert found["beyond_low"] < within - found["without_first"] < found["beyond_high"]

    def test_of_a_metric_with_itself_is_one(self):
        evidence = evidence_of(metric_rows(noise(0), NORM, "all_tokens"))
        found = found_in(evidence, correlation={"metric": NORM, "with_metric": NORM}, above=0)
        assert interval_of(found) == pytest.approx((1, 1, 1))
        assert "beyond_low" not in found

    def test_of_what_differs_between_layers_alone_is_not_tested(self):
        with pytest.raises(UnavailableError, match="the same in every review"):
            self.found(noise(0), np.tile(9 * DEPTH, (N_REVIEWS, 1)), noise(1))


class TestComponent:
    def found(self, changes, largest, **more):
        component = {"metric": COSINE, "largest": largest} | more
        metrics = metric_rows(noise(0) + 5 * DEPTH, COSINE, "all_tokens")
        return found_in(evidence_of(metrics, components=component_rows(changes)), component=component)

    @pytest.mark.parametrize("parallel", [False, True])
    def test_is_the_lead_of_the_smallest_named_over_the_largest_other(self, parallel):
        changes = component_changes(parallel)
        found = self.found(changes, ["residual", "attention"])
        groups = {
            group: sum(changes[name] for name in names if name in changes).mean(axis=1)
            for group, names in COMPONENT_GROUPS.items()
        }

        def lead(weights):
            means = {group: np.average(values, weights=weights) for group, values in groups.items()}
            return min(means["residual"], means["attention"]) - max(means["feed_forward"], means["norm"])

        draws = [lead(weights) for weights in bootstrap_weights(N_REVIEWS, DRAWS, SEED)]
        expected = (lead(np.ones(N_REVIEWS)), *np.quantile(draws, [0.025, 0.975]))
        assert interval_of(found) == pytest.approx(expected, rel=1e-9)
        assert found["estimate"] == pytest.approx(0.15, abs=0.1)
        assert found["n_reviews"] == N_REVIEWS

    def test_influence_is_the_size_of_a_change_whatever_its_sign(self):
        changes = component_changes()
        changes["feed_forward"] = 9 * (-1) ** np.arange(N_BLOCKS) * np.ones((N_REVIEWS, 1))  # up and down, 0 on average
        found = self.found(changes, ["feed_forward"], by="influence")
        residual = np.abs(changes["attention_addition"] + changes["feed_forward_addition"]).mean()
        others = [residual, np.abs(changes["attention"]).mean(), np.abs(changes["norm_1"] + changes["norm_2"]).mean()]
        assert found["estimate"] == pytest.approx(9 - max(others))
        rise = self.found(changes, ["feed_forward"])
        assert rise["ci_high"] < 0
        # of one block, where depth has eight; sizes without a sign have no share of it
        assert np.isnan(found["yardstick"])
        assert rise["yardstick"] == pytest.approx(np.ptp(np.median(noise(0) + 5 * DEPTH, axis=0)) / N_BLOCKS)

    def test_undefined_changes_leave_a_block_out(self):
        changes = component_changes()
        changes["norm_2"][0, 3] = np.nan
        norm = np.nanmean(changes["norm_1"] + changes["norm_2"], axis=1).mean()  # the largest of the others
        residual = (changes["attention_addition"] + changes["feed_forward_addition"]).mean()
        found = self.found(changes, ["residual", "attention"])
        assert found["estimate"] == pytest.approx(min(residual, changes["attention"].mean()) - norm)

    def test_what_the_blocks_lack(self):
        changes = {name: change for name, change in component_changes().items() if not name.startswith("norm")}
        with pytest.raises(UnavailableError, match="no component 'norm'"):
            self.found(changes, ["norm"])
        with pytest.raises(UnavailableError, match="no other component"):
            self.found({"attention": changes["attention"]}, ["attention"])


def test_a_model_that_reads_too_few_accepted_reviews_tests_no_claim_on_their_variant():
    """All are accepted, and long ones left out for this model; claims on the originals stand as they are."""
    moved = metric_rows(noise(0), variant="front")
    read = moved.filter(pl.col("review_id").is_in(moved["review_id"].unique().sort()[: MIN_REVIEWS - 1].implode()))
    evidence = evidence_of(metric_rows(noise(1)), read, similarity=similarity_rows(np.full(N_REVIEWS, 0.95)))
    with pytest.raises(UnavailableError, match=f"9 of 30 accepted reviews read by m; at least {MIN_REVIEWS}"):
        found_in(evidence, contrast=FRONT_LESS_ORIGINAL, below=0)
    with pytest.raises(UnavailableError, match=f"{MIN_REVIEWS - 1} accepted reviews are read; at least {MIN_REVIEWS}"):
        found_in(evidence, slope={"metric": RANK, "variant": "front"}, below=0)
    assert found_in(evidence, slope={"metric": RANK}, above=0)["n_reviews"] == N_REVIEWS


class TestThesis:
    """Pooled tokens: a pool for each height, whose profile peaks in the middle, and `output` after the final norm."""

    def pooled(self, heights, variant="original", output=None):
        rows = []
        for shard, height in enumerate(heights):
            profile = height - np.abs(np.arange(N_BLOCKS + 1) - N_BLOCKS / 2) / N_BLOCKS
            for layer, value in enumerate(profile):
                rows.append((f"{shard:03d}", layer, "residual_stream", layer / N_BLOCKS, value))
            if output is not None:
                rows.append((f"{shard:03d}", N_BLOCKS, "final_norm", 1.0, output + 0.01 * shard))
        names = {"model": "m", "variant": variant, "view": "pooled_centred", "metric": "max_explainable_variance"}
        columns = dict(zip(("shard", "layer", "point", "depth", "value"), zip(*rows, strict=True), strict=True))
        return example_table(POOLED_METRICS_SCHEMA, **names, **columns)

    def row(self, pooled, *more, criterion=None, **measured):
        evidence = evidence_of(metric_rows(noise(0)), *more, pooled=pooled)
        return judged_row(evidence, convention="thesis", **measured, **(criterion or {"above": 0}))

    def test_pools_are_replicates_with_students_interval_and_the_output_is_that_after_the_final_norm(self):
        heights = np.array([0.84, 0.85, 0.86, 0.85])
        pooled = self.pooled(heights, output=0.2)
        row = self.row(pooled, net_change={"metric": MEV}, criterion={"between": [-0.2, -0.1]})
        assert (row["claim"], row["convention"], row["unit"], row["n_reviews"]) == ("c-thesis", "thesis", "pools", 4)
        by_pool = 0.2 + 0.01 * np.arange(4) - (heights - 0.5)
        ends = stats.t.interval(CONFIDENCE, 3, by_pool.mean(), stats.sem(by_pool))
        assert interval_of(row) == pytest.approx((by_pool.mean(), *ends))
        assert row["verdict"] == SUPPORTED
        assert np.isnan(row["p_value"])

    def test_a_contrast_is_paired_by_pool_and_a_share_of_the_pooled_depth(self):
        pooled = pl.concat([self.pooled([0.8, 0.85, 0.9]), self.pooled([0.9, 0.96, 0.99], "front")])
        contrast = FRONT_LESS_ORIGINAL | {"metric": MEV}
        row = self.row(pooled, metric_rows(noise(1), variant="front"), contrast=contrast)
        assert (row["estimate"], row["relative_effect"]) == pytest.approx((0.1, 0.2))
        assert row["verdict"] == SUPPORTED

    @pytest.mark.parametrize(
        ("statistic", "criterion"),
        [("net_change", {"above": 0}), ("steepest", {"between": [0.25, 0.75]})],
    )
    def test_one_pool_has_no_interval_and_decides_nothing(self, statistic, criterion):
        measured = {statistic: {"metric": MEV}}
        row = self.row(self.pooled([0.85]), criterion=criterion, **measured)
        assert (row["verdict"], row["reason"]) == (UNDECIDED, "one pool of texts has no interval")
        assert np.isfinite(row["estimate"])
        assert np.isnan(row["ci_low"])

    def test_components_have_their_centred_view(self):
        evidence = evidence_of(components=component_rows(component_changes(), view="centred"))
        component = {"metric": COSINE, "largest": ["residual", "attention"]}
        row = judged_row(evidence, convention="thesis", component=component)
        assert (row["verdict"], row["unit"]) == (SUPPORTED, "reviews")
        assert judged_row(evidence, component=component)["verdict"] == NOT_TESTED

    def test_without_pooled_tokens(self):
        row = self.row(None, slope={"metric": MEV})
        assert (row["verdict"], row["reason"]) == (NOT_TESTED, "the study does not pool the tokens of its texts")
