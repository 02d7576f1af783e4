"""Words on training: losses beside baselines, differences over seeds, and what is open about their sign."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from homogenization.statistics.training_in_words import TRAINING_ANSWERS_SCHEMA, over_seeds, tabulate
from homogenization.tables.arms import ARMS_SCHEMA
from homogenization.tables.training import TRAINING_SCHEMA
from library.statistics.shared import words_of

COSINE, RANK = ("cosine_anisotropy", "without_first"), ("normalized_effective_rank", "centred_without_first")
BLOCKS, STEPS = 5, 9


def losses(arm, start, ends, layers=None):
    """Losses before and after training, of a seed for each end; steps between them are not evaluated."""
    rows = [
        {"arm": arm, "seed": seed, "step": step, "loss": 9.0, "held_out_loss": loss, "unigram": 5.0, "bigram": 3.0}
        | {"n_training": 50, "n_held_out": 10, "layers": layers}
        for seed, end in enumerate(ends)
        for step, loss in ((0, start), (4, None), (STEPS, end))
    ]
    return pl.DataFrame(rows, schema=TRAINING_SCHEMA)


def differences(arm, minus, by_layer, cell=COSINE, step=STEPS, n=3, loss=None):
    """Rows of the table `arms`: by layer the difference, in every seed the same distance from it."""
    (metric, view), spread = cell, 0.01
    rows = [
        {"arm": arm, "minus": minus, "step": step, "variant": "original", "point": "residual_stream", "layer": layer}
        | {
            "at": "step" if loss is None else "loss",
            "loss": loss,
            "depth": layer / BLOCKS,
            "view": view,
            "metric": metric,
            "n_seeds": n,
            "mean": mean,
        }
        | {"lowest": mean - spread, "highest": mean + spread, "ci_low": mean - 2 * spread, "ci_high": mean + 2 * spread}
        for layer, mean in by_layer.items()
    ]
    return pl.DataFrame(rows, schema=ARMS_SCHEMA)


def answers(training, *arms, pairs=(("a", "b"),), with_start=()):
    compared = pl.concat([pl.DataFrame(schema=ARMS_SCHEMA), *arms])
    table = tabulate(training, compared, pairs, with_start, words_of("training"))
    assert dict(table.schema) == TRAINING_ANSWERS_SCHEMA
    return {(arm, minus): answer for arm, minus, answer in table.rows()}


def test_an_arm_is_told_by_its_losses_beside_those_of_counts():
    ends = [2.0, 2.5, 3.5]
    told = answers(losses("a", 4.0, ends), pairs=())["a", None]
    low, high = stats.t.interval(0.95, 2, np.mean(ends), stats.sem(ends))
    assert told.startswith(
        "3 seeds, 9 steps on 50 texts. The loss of 10 held-out texts goes from 4 nats in every seed "
    )
    assert f"to 2.67 nats [{low:.3g}, {high:.3g}] (seeds 2 to 3.5)." in told
    assert told.endswith(
        "A unigram model has 5, which every seed is below. A bigram model has 3, which some seeds are below."
    )
    worse = answers(losses("a", 4.0, [5.0]), pairs=())["a", None]
    assert worse.startswith("One seed, which has no interval, 9 steps")
    assert "goes from 4 nats to 5 nats." in worse
    assert worse.endswith("which no seed is below. It does not fall in 1 of 1 seeds.")


def test_a_pair_is_told_at_the_penalised_layers_a_layer_later_and_at_the_output():
    training = pl.concat([losses("a", 4.0, [2.0, 2.2, 2.1], [2, 3]), losses("b", 4.0, [1.9, 2.0, 2.0])])
    by_layer = dict.fromkeys(range(BLOCKS + 1), 1.0) | {2: -0.2, 3: -0.3, 4: -0.03, 5: 0.005}
    earlier = differences("a", "b", dict.fromkeys(range(BLOCKS + 1), 7.0), step=4)
    others = differences("a", "c", dict.fromkeys(range(BLOCKS + 1), 8.0))
    told = answers(training, differences("a", "b", by_layer), earlier, others)["a", "b"]
    difference = stats.t.interval(0.95, 2, 0.4 / 3, stats.sem([0.1, 0.2, 0.1]))
    assert told == (
        "3 seeds, after 9 steps. The mean cosine without the first token differs "
        "by −0.2 [−0.22, −0.18] (seeds −0.21 to −0.19; all of one sign) after block 2, which is penalised; "
        "by −0.3 [−0.32, −0.28] (seeds −0.31 to −0.29; all of one sign) after block 3, which is penalised; "
        "by −0.03 [−0.05, −0.01] (seeds −0.04 to −0.02; all of one sign) a layer later; "
        "by +0.005 [−0.015, 0.025] (seeds −0.005 to 0.015; of both signs; the interval includes 0) at the output. "
        f"The held-out loss differs by +0.133 nats [{difference[0]:.3g}, {difference[1]:.3g}] "
        "(seeds 0.1 to 0.2; all of one sign; the interval includes 0)."
    ).replace("[-", "[−")


def test_twins_are_compared_at_the_output_alone_and_the_last_block_has_none_later():
    training = pl.concat([losses("a", 4.0, [2.0] * 3), losses("b", 4.0, [2.0] * 3, [BLOCKS])])
    by_layer = dict.fromkeys(range(BLOCKS + 1), 0.5)
    told = answers(pl.concat([training.filter(arm="a"), losses("b", 4.0, [2.0] * 3)]), differences("a", "b", by_layer))
    assert told["a", "b"].count("differs by +0.5") == 1
    assert "all of one sign) at the output." in told["a", "b"]
    assert "The held-out loss differs by 0 nats [0, 0] (seeds 0 to 0; the interval includes 0)." in told["a", "b"]
    # the penalty is that of the arm which is subtracted
    of_other = answers(training, differences("a", "b", by_layer, RANK))["a", "b"]
    assert "The centred effective rank without the first token differs by +0.5" in of_other
    assert "after block 5, which is penalised, at the output." in of_other
    assert "a layer later" not in of_other


def test_what_is_lacking_is_said():
    training = losses("a", 4.0, [2.0])
    without_seeds = differences("a", "plain", {0: 0.5, BLOCKS: 0.5}, n=1)
    told = answers(training, without_seeds, pairs=[["a", "plain"], ["a", "b"]])
    assert told["a", "plain"] == (
        "One seed, which has no interval, after 9 steps. The mean cosine without the first token differs by +0.5 at "
        "the output. What it costs is not known: plain has no held-out loss."
    )
    of_start = answers(training, without_seeds, pairs=[["a", "plain"]], with_start=[["a", "plain"]])["a", "plain"]
    assert of_start.endswith("The held-out loss differs by −2 nats.")  # 4 before any step
    assert told["a", "b"] == "The two have no seed and step in common."
    other = differences("a", "b", {0: 0.5}, ("stable_rank", "raw"))
    assert "Neither the mean cosine nor the centred effective rank is measured." in answers(training, other)["a", "b"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([-1.0, -1.1, -0.9], "all of one sign)"),
        ([1.0, 3.0, 0.1], "all of one sign; the interval includes 0)"),
        ([1.0, 3.0, -0.1], "of both signs; the interval includes 0)"),
        ([0.0, 1.0], "seeds 0 to 1; the interval includes 0)"),
    ],
)
def test_the_sign_is_as_settled_as_seeds_and_interval_are(values, said):
    found = over_seeds(pl.Series(values))
    assert (found["ci_low"], found["ci_high"]) == pytest.approx(
        stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
    )
    training = losses("a", 4.0, [2.0] * len(values))
    compared = differences("a", "b", {BLOCKS: 0.0}, n=len(values)).with_columns(**found).cast(ARMS_SCHEMA)
    assert f"{said} at the output." in answers(training, compared)["a", "b"]


def test_two_arms_are_also_compared_where_they_have_learnt_as_much():
    at_loss = [
        differences("a", "b", {1: 0.5, BLOCKS: difference}, cell, None, loss=2.25)
        for cell, difference in ((COSINE, -0.2), (RANK, 0.005))
    ]
    training = pl.concat([losses("a", 4.0, [2.0] * 3), losses("b", 4.0, [2.2] * 3)])
    told = answers(training, differences("a", "b", {BLOCKS: -0.1}), *at_loss)["a", "b"]
    assert told.endswith(
        "Where both have the same held-out loss (2.25 nats, mean over seeds), they differ at the output: the "
        "mean cosine without the first token by −0.2 [−0.22, −0.18] (seeds −0.21 to −0.19; all of one sign); the "
        "centred effective rank without the first token by +0.005 [−0.015, 0.025] (seeds −0.005 to 0.015; of both "
        "signs; the interval includes 0)."
    )
    assert "same held-out" not in answers(training, differences("a", "b", {BLOCKS: -0.1}))["a", "b"]
