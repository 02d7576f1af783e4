import numpy as np
import polars as pl
import pytest
from scipy import stats

from homogenization.claims.component_evidence import COMPONENT_GROUPS
from homogenization.claims.judgement import measure
from homogenization.claims.measurement import Interval, UnavailableError
from homogenization.names.verdicts import KEPT, ROBUST
from homogenization.statistics.resampling import bootstrap_weights, mean_interval
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
    judged,
    metric_rows,
    noise,
    similarity_rows,
)

DEPTH = np.arange(N_BLOCKS + 1) / N_BLOCKS
FRONT_LESS_ORIGINAL = {"metric": RANK, "variant": "front", "minus": "original"}
WITH_NORM = {"metric": "max_explainable_variance", "with_metric": NORM}


class TestLevel:
    @pytest.mark.parametrize(
        ("layers", "counted"),
        [
            ("all", range(9)),
            ("first", [0, 1]),
            ("middle", [2, 3, 4, 5]),
            ("last", [6, 7, 8]),
            ("input", [0]),
            ("output", [8]),
        ],
    )
    def test_is_averaged_over_the_layers_that_are_named(self, layers, counted):
        values = DEPTH**2 + noise(0)
        found = measure(
            claim_of(level={"metric": RANK, "layers": layers}, above=0), "m", evidence_of(metric_rows(values))
        )
        by_review = values[:, list(counted)].mean(axis=1)
        low, high = mean_interval(by_review[:, None], CONFIDENCE)
        assert (found.interval.estimate, found.interval.low, found.interval.high) == pytest.approx(
            (by_review.mean(), low[0], high[0]), rel=1e-9
        )
        assert found.n == N_REVIEWS
        assert_mean_of(found, by_review)

    def test_takes_its_own_metric_view_variant_point_and_model(self):
        wanted = metric_rows(noise(0) + 1, COSINE, "without_first", "front", "m", "final_norm")
        others = [
            metric_rows(noise(1) + 9, "resultant_length", "without_first", "front", "m", "final_norm"),
            metric_rows(noise(2) + 9, COSINE, "all_tokens", "front", "m", "final_norm"),
            metric_rows(noise(3) + 9, COSINE, "without_first", "end", "m", "final_norm"),
            metric_rows(noise(4) + 9, COSINE, "without_first", "front", "other", "final_norm"),
            metric_rows(noise(5) + 9, COSINE, "without_first", "front", "m", "residual_stream"),
        ]
        level = {"metric": COSINE, "view": "without_first", "variant": "front", "point": "final_norm"}
        found = measure(claim_of(level=level, above=0), "m", evidence_of(wanted, *others))
        assert found.interval.estimate == pytest.approx((noise(0) + 1).mean())

    def test_undefined_values_are_left_out(self):
        values = noise(0) + 1
        values[0], values[1, :4] = np.nan, np.nan
        found = measure(claim_of(level={"metric": RANK}, above=0), "m", evidence_of(metric_rows(values)))
        assert found.n == N_REVIEWS - 1
        assert found.interval.estimate == pytest.approx(np.nanmean(values[1:], axis=1).mean())


class TestContrast:
    def test_is_paired_by_review_and_layer(self):
        front, original = noise(0) + 1, noise(1)
        front[0], original[1] = np.nan, np.nan
        front[2, 3] = np.nan
        rows = [metric_rows(front, variant="front"), metric_rows(original)]
        # a review that only one variant has, and rows in no order
        rows = pl.concat(rows).filter((pl.col("variant") == "front") | (pl.col("review_id") != "r005"))
        evidence = evidence_of(rows.sample(fraction=1, shuffle=True, seed=0))
        found = measure(claim_of(contrast=FRONT_LESS_ORIGINAL, above=0), "m", evidence)
        by_review = np.nanmean(np.delete(front - original, [0, 1, 5], axis=0), axis=1)
        assert_mean_of(found, by_review)

    def test_without_a_review_in_both(self):
        front = metric_rows(noise(0), variant="front").with_columns(pl.col("review_id") + " elsewhere")
        with pytest.raises(UnavailableError, match="0 of 30 accepted reviews read by m"):
            measure(claim_of(contrast=FRONT_LESS_ORIGINAL, above=0), "m", evidence_of(front, metric_rows(noise(1))))


def test_slope_is_that_of_scipy():
    values = noise(0) + 3 * DEPTH
    values[0, 4] = np.nan
    found = measure(claim_of(slope={"metric": RANK}, above=0), "m", evidence_of(metric_rows(values)))
    expected = [stats.linregress(DEPTH[~np.isnan(row)], row[~np.isnan(row)]).slope for row in values]
    assert_mean_of(found, expected)


@pytest.mark.parametrize(("since", "layer"), [("input", 0), ("first block", 1)])
def test_net_change_is_the_output_less_a_layer(since, layer):
    values = noise(0) + 3 * DEPTH
    values[0, layer] = np.nan
    found = measure(
        claim_of(net_change={"metric": RANK, "since": since}, above=0), "m", evidence_of(metric_rows(values))
    )
    assert_mean_of(found, (values[:, -1] - values[:, layer])[1:])
    assert found.size.depth_range == pytest.approx(np.ptp(np.nanmedian(values, axis=0)))
    assert found.size.review_sd == pytest.approx(np.median(np.nanstd(values, axis=0, ddof=1)))


def test_net_change_and_slope_of_a_curve_that_turns_have_each_their_verdict():
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


def test_net_change_of_one_layer_or_without_the_layer_is_not_tested():
    at_input = {"metric": RANK, "since": "input"}
    after_first = {"metric": RANK, "since": "first block"}
    rows = metric_rows(noise(0))
    one_block = metric_rows(noise(0)[:, :2])
    for keys, table in (
        (at_input, rows.filter(pl.col("layer") == N_BLOCKS)),
        (at_input, rows.filter(pl.col("layer") > 0)),
        (at_input, rows.filter(pl.col("layer") < N_BLOCKS)),
        (after_first, one_block),
    ):
        with pytest.raises(UnavailableError, match=f"{RANK} has no value (at the input|after the first block)"):
            measure(claim_of(net_change=keys, above=0), "m", evidence_of(table))
    assert measure(claim_of(net_change=at_input, above=0), "m", evidence_of(one_block)).n == N_REVIEWS


def test_steepest_follows_homogenization_and_not_the_size_of_the_change():
    profile = np.array([0, 0, 5, 5, 4, 2, 2, 2, 2.0])  # the rank rises most at block 2, falls most at block 5
    evidence = evidence_of(
        metric_rows(profile + noise(0, 0.01)), metric_rows(profile + noise(1, 0.01), COSINE, "all_tokens")
    )
    falling = measure(claim_of(steepest={"metric": RANK}, between=[0, 1]), "m", evidence)
    rising = measure(claim_of(steepest={"metric": COSINE}, between=[0, 1]), "m", evidence)
    assert falling.interval == Interval(4.5 / 8, 4 / 8, 5 / 8)
    assert rising.interval.estimate == 1.5 / 8
    assert falling.n == N_REVIEWS


class TestPeak:
    def test_is_where_the_mean_is_largest(self):
        profile = np.array([0, 1, 2, 5, 9, 5, 2, 1, 0.0])
        evidence = evidence_of(metric_rows(profile + noise(0)))
        depth = measure(claim_of(peak={"metric": RANK}, between=[0, 1]), "m", evidence)
        assert depth.interval == Interval(0.5, 0.5, 0.5)
        height = measure(claim_of(peak={"metric": RANK, "of": "height"}, between=[0, 1]), "m", evidence)
        at_peak = (profile + noise(0))[:, 4]
        low, high = np.quantile(bootstrap_weights(N_REVIEWS, DRAWS, SEED) @ at_peak, [0.025, 0.975])
        assert height.interval.estimate == pytest.approx(at_peak.mean())
        assert (height.interval.low, height.interval.high) == pytest.approx((low, high), abs=1e-6)

    def test_an_uncertain_place_spans_the_layers_that_draws_find(self):
        profile = np.array([0, 0, 1, 0, 0, 0, 1, 0, 0.0])
        evidence = evidence_of(metric_rows(profile + noise(0, 0.5)))
        found = measure(claim_of(peak={"metric": RANK}, between=[0, 1]), "m", evidence).interval
        assert (found.low, found.high) == (2 / 8, 6 / 8)


def test_a_squared_level_is_the_mean_of_squares():
    values = noise(0) + 1
    claim = claim_of(level={"metric": "cosine_dispersion", "view": "all_tokens", "squared": True}, above=0)
    found = measure(claim, "m", evidence_of(metric_rows(values, "cosine_dispersion", "all_tokens")))
    assert_mean_of(found, (values**2).mean(axis=1))


class TestCorrelation:
    def rows(self, x, y, without_first):
        return [
            metric_rows(x, "max_explainable_variance"),
            metric_rows(without_first, "max_explainable_variance", "raw_without_first"),
            metric_rows(y, NORM, "all_tokens"),
        ]

    def test_is_within_layers_and_compared_with_that_without_the_first_token(self):
        x, bare = noise(0, 1), noise(2, 1)
        y = x + 0.5 * bare + noise(1, 1) + 9 * DEPTH
        x[0], y[1, 2] = np.nan, np.nan
        found = measure(claim_of(correlation=WITH_NORM, above=0), "m", evidence_of(*self.rows(x + 9 * DEPTH, y, bare)))

        def within(x, y):
            there = ~np.isnan(x + y)
            layers = [(x[there[:, layer], layer], y[there[:, layer], layer]) for layer in range(N_BLOCKS + 1)]
            return np.mean([stats.pearsonr(*pair).statistic for pair in layers])

        assert found.interval.estimate == pytest.approx(within(x, y))
        assert found.n == N_REVIEWS - 1
        assert found.without_first == pytest.approx(within(bare[1:], y[1:]))
        assert found.beyond.estimate == pytest.approx(found.interval.estimate - found.without_first)
        draws = []
        for weights in bootstrap_weights(N_REVIEWS - 1, DRAWS, SEED)[:300]:
            drawn = 1 + np.repeat(np.arange(N_REVIEWS - 1), np.rint(weights * (N_REVIEWS - 1)).astype(int))
            draws.append(within(x[drawn], y[drawn]))
        expected = tuple(np.quantile(draws, [0.025, 0.975]))
        assert (found.interval.low, found.interval.high) == pytest.approx(expected, abs=0.03)

    def test_its_checks_are_ranks_and_fewer_reviews(self):
        x = noise(0, 1)
        y = noise(1, 1)
        x[7] += 60  # one review makes the correlation
        y[7] += 60
        found = measure(claim_of(correlation=WITH_NORM, above=0), "m", evidence_of(*self.rows(x, y, noise(2, 1))))
        assert found.interval.estimate > 0.8
        assert abs(found.checks[ROBUST].estimate) < 0.2
        assert abs(found.checks[KEPT].estimate) < 0.2

    def test_of_a_metric_with_itself_is_one(self):
        evidence = evidence_of(metric_rows(noise(0), NORM, "all_tokens"))
        found = measure(claim_of(correlation={"metric": NORM, "with_metric": NORM}, above=0), "m", evidence)
        assert (found.interval.estimate, found.interval.low, found.interval.high) == pytest.approx((1, 1, 1))
        assert found.beyond is None

    def test_of_what_differs_between_layers_alone_is_not_tested(self):
        evidence = evidence_of(*self.rows(noise(0), np.tile(9 * DEPTH, (N_REVIEWS, 1)), noise(1)))
        with pytest.raises(UnavailableError, match="the same in every review"):
            measure(claim_of(correlation=WITH_NORM, above=0), "m", evidence)


class TestComponent:
    def measured(self, changes, largest, **more):
        component = {"metric": "cosine_anisotropy", "largest": largest}
        return measure(claim_of(component=component), "m", evidence_of(components=component_rows(changes), **more))

    @pytest.mark.parametrize("parallel", [False, True])
    def test_is_the_lead_of_the_smallest_named_over_the_largest_other(self, parallel):
        changes = component_changes(parallel)
        found = self.measured(changes, ["residual", "attention"])
        groups = {
            group: sum(changes[name] for name in names if name in changes).mean(axis=1)
            for group, names in COMPONENT_GROUPS.items()
        }

        def lead(weights):
            means = {group: np.average(values, weights=weights) for group, values in groups.items()}
            return min(means["residual"], means["attention"]) - max(means["feed_forward"], means["norm"])

        draws = [lead(weights) for weights in bootstrap_weights(N_REVIEWS, DRAWS, SEED)]
        expected = (lead(np.ones(N_REVIEWS)), *np.quantile(draws, [0.025, 0.975]))
        assert (found.interval.estimate, found.interval.low, found.interval.high) == pytest.approx(expected, rel=1e-9)
        assert found.interval.estimate == pytest.approx(0.15, abs=0.1)
        assert found.n == N_REVIEWS

    def test_influence_is_the_size_of_a_change_whatever_its_sign(self):
        changes = component_changes()
        changes["feed_forward"] = 9 * (-1) ** np.arange(N_BLOCKS) * np.ones((N_REVIEWS, 1))  # up and down, 0 on average
        component = {"metric": "cosine_anisotropy", "by": "influence", "largest": ["feed_forward"]}
        metrics = metric_rows(noise(0) + 5 * DEPTH, COSINE, "all_tokens")
        evidence = evidence_of(metrics, components=component_rows(changes))
        found = measure(claim_of(component=component), "m", evidence)
        residual = np.abs(changes["attention_addition"] + changes["feed_forward_addition"]).mean()
        others = [residual, np.abs(changes["attention"]).mean(), np.abs(changes["norm_1"] + changes["norm_2"]).mean()]
        assert found.interval.estimate == pytest.approx(9 - max(others))
        rise = measure(claim_of(component=component | {"by": "rise"}), "m", evidence)
        assert rise.interval.high < 0
        # of one block, where depth has eight; sizes without a sign have no share of it
        assert np.isnan(found.size.depth_range)
        assert rise.size.depth_range == pytest.approx(np.ptp(np.median(noise(0) + 5 * DEPTH, axis=0)) / N_BLOCKS)

    def test_undefined_changes_leave_a_block_out(self):
        changes = component_changes()
        changes["norm_2"][0, 3] = np.nan
        norm = np.nanmean(changes["norm_1"] + changes["norm_2"], axis=1).mean()  # the largest of the others
        residual = (changes["attention_addition"] + changes["feed_forward_addition"]).mean()
        found = self.measured(changes, ["residual", "attention"])
        assert found.interval.estimate == pytest.approx(min(residual, changes["attention"].mean()) - norm)

    def test_what_the_blocks_lack(self):
        changes = {name: change for name, change in component_changes().items() if not name.startswith("norm")}
        with pytest.raises(UnavailableError, match="no component 'norm'"):
            self.measured(changes, ["norm"])
        with pytest.raises(UnavailableError, match="no other component"):
            self.measured({"attention": changes["attention"]}, ["attention"])


def test_a_model_that_reads_too_few_accepted_reviews_tests_no_claim_on_their_variant():
    """All are accepted, and long ones left out for this model; claims on the originals stand as they are."""
    moved = metric_rows(noise(0), variant="front")
    read = moved.filter(pl.col("review_id").is_in(moved["review_id"].unique().sort()[: MIN_REVIEWS - 1].implode()))
    accepted = similarity_rows(np.full(N_REVIEWS, 0.95))
    evidence = evidence_of(metric_rows(noise(1)), read, similarity=accepted)
    with pytest.raises(UnavailableError, match=f"9 of 30 accepted reviews read by m; at least {MIN_REVIEWS}"):
        measure(claim_of(contrast={"metric": RANK, "variant": "front", "minus": "original"}, below=0), "m", evidence)
    with pytest.raises(UnavailableError, match=f"{MIN_REVIEWS - 1} accepted reviews are read; at least {MIN_REVIEWS}"):
        measure(claim_of(slope={"metric": RANK, "variant": "front"}, below=0), "m", evidence)
    assert measure(claim_of(level={"metric": RANK}, above=0), "m", evidence).n == N_REVIEWS


class TestArms:
    """Three seeds of two arms: the replicate is the seed."""

    def evidence(self, with_start=False):
        shifts = {"a-0": 1.0, "a-1": 2.0, "a-2": 4.0, "b-0": 0.0, "b-1": 0.5, "b-2": 0.0}
        rows = [
            metric_rows(noise(seed) + np.arange(9) + shift, model=name)
            for seed, (name, shift) in enumerate(shifts.items())
        ]
        trained = [[f"{arm}-{seed}", arm, seed, 9] for arm in ("a", "b") for seed in (0, 1, 2)]
        losses = pl.DataFrame(
            [{"arm": arm, "seed": seed, "step": 9, "held_out_loss": 2.0 + (arm == "b")} for _, arm, seed, _ in trained]
        )
        if with_start:
            trained += [[f"a-{seed}-step0", "a", seed, 0] for seed in range(3)]
            rows += [metric_rows(noise(seed) + np.arange(9), model=f"a-{seed}-step0") for seed in range(3)]
            before = [{"arm": "a", "seed": seed, "step": 0, "held_out_loss": 4.0} for seed in range(3)]
            losses = pl.concat([losses, pl.DataFrame(before)])
        return evidence_of(*rows, trained=trained, training=losses)

    def test_at_equal_loss_the_other_arm_is_taken_between_its_snapshots(self):
        """Arm a went from a loss of 4 to 2 while its rank went from 0 to 1, 2 and 4; b stands at a loss of 3."""
        arms = {"arm": "a", "minus": "b", "metric": RANK, "layers": "output", "at": "loss"}
        found = measure(claim_of(arms=arms, above=0), None, self.evidence(with_start=True))
        last = [noise(seed)[:, -1].mean() for seed in range(6)]
        values = np.array([0.5, 0.5, 2.0]) + last[:3] - np.array(last[3:])
        assert found.n == 3
        assert found.interval.estimate == pytest.approx(values.mean())

    def test_the_interval_is_students_over_seeds(self):
        claim = claim_of(arms={"arm": "a", "minus": "b", "metric": RANK, "layers": "output"}, above=0)
        found = measure(claim, None, self.evidence())
        last = [noise(seed)[:, -1].mean() for seed in range(6)]
        values = np.array([1.0, 1.5, 4.0]) + last[:3] - np.array(last[3:])
        expected = stats.t.interval(CONFIDENCE, 2, values.mean(), stats.sem(values))
        assert (found.n, found.unit) == (3, "seeds")
        np.testing.assert_allclose([found.interval.low, found.interval.high], expected)
        assert found.size.depth_range == pytest.approx(8, abs=0.2)

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"arm": "c"}, "no trained arm 'c'"),
            ({"step": 5}, "no snapshot after 5 steps; it has 9"),
            ({"metric": COSINE}, f"no metric '{COSINE}'"),
            ({"minus": "nothing"}, "no seed of 'a' beside one of 'nothing'"),
            ({"at": "loss"}, "no snapshots around an equal held-out loss"),
        ],
    )
    def test_what_is_lacking_is_named(self, changes, reason):
        claim = claim_of(arms={"arm": "a", "minus": "b", "metric": RANK} | changes, above=0)
        with pytest.raises(UnavailableError, match=reason):
            measure(claim, None, self.evidence())
