"""The figures of trained models: losses, and metrics over seeds."""

from functools import cache

import numpy as np
import polars as pl

from drawings import line, require_house_style, require_refusal, shown, texts
from homogenization.figures import arms, training
from homogenization.tables.arms import arms_table
from homogenization.tables.training import TRAINING_SCHEMA

ARMS = [["diverse", "Diverse"], ["tuned", "Tuned"]]
SEEDS, STEPS, LAYERS = (0, 1, 2), (0, 10), 5


def losses() -> pl.DataFrame:
    rows = [
        {"arm": arm, "seed": seed, "step": step, "loss": None if step == 10 else 4 - 0.1 * step + 0.01 * seed}
        | {
            "held_out_loss": 4 - 0.1 * step + 0.02 * seed * (step == 10) if step % 5 == 0 else None,
            "unigram": 5.0,
            "bigram": 3.3,
        }
        | {"n_training": 1800, "n_held_out": 100}
        for arm, _ in ARMS
        for seed in SEEDS
        for step in range(11)
    ]
    empty = dict.fromkeys(TRAINING_SCHEMA)
    return pl.DataFrame([empty | row for row in rows], schema=TRAINING_SCHEMA)


def value(arm: str, seed: int, step: int, layer: int) -> float:
    return 0.1 * layer + 0.02 * step * (arm == "tuned") + 0.01 * seed


@cache
def over_seeds() -> pl.DataFrame:
    models = [[f"{arm}-{seed}-step{step}", arm, seed, step] for arm, _ in ARMS for seed in SEEDS for step in STEPS]
    rows = [
        {"model": model, "variant": "original", "point": "residual_stream", "layer": layer, "depth": layer / 4}
        | {"view": view, "metric": "cosine_anisotropy", "mean": value(arm, seed, step, layer)}
        for model, arm, seed, step in models
        for layer in range(LAYERS)
        for view in ("all_tokens", "without_first")
    ]
    losses = [
        {"arm": arm, "seed": seed, "step": step, "held_out_loss": 4 - 0.1 * step - 0.2 * (step > 0) * (arm == "tuned")}
        for _, arm, seed, step in models
    ]
    summary = pl.DataFrame(rows, schema_overrides={"layer": pl.Int32})
    return arms_table(summary, models, [["diverse", "tuned"]], pl.DataFrame(losses))


def told(**fields):
    pairs = [["diverse", "tuned", "Diverse less Tuned"]]
    return shown(arms=ARMS, arm_pairs=pairs, metric="cosine_anisotropy", label="cosine", **fields)


def test_losses_of_every_seed_beside_those_of_counts():
    figure = training.draw({"training": losses()}, told())
    require_house_style(figure, "3 seeds; 1,800 texts to train on, 100 held out")
    held_out = line(figure.axes[0], "held-out")
    np.testing.assert_allclose(held_out.get_xdata(), [0, 5, 10])
    np.testing.assert_allclose(held_out.get_ydata(), [4, 3.5, 3])
    assert [text.get_text() for text in figure.axes[0].texts] == ["3.02"]  # the mean over seeds
    np.testing.assert_allclose(line(figure.axes[1], "bigram").get_ydata(), 3.3)


def test_arms_their_snapshots_and_their_difference():
    figure = arms.draw({"arms": over_seeds()}, told(views=["all_tokens"]))
    require_house_style(figure, "3 seeds")
    for title in ("at the end of training", "Diverse, by step", "Tuned, by step", "Diverse less Tuned"):
        assert title in texts(figure)
    assert "Diverse less Tuned, where both have a held-out loss of 3.00 nats" in texts(figure).replace("\n", " ")
    at_end, _, by_step, difference, at_loss = figure.axes
    np.testing.assert_allclose(
        line(at_end, "tuned").get_ydata(), [value("tuned", 1, 10, layer) for layer in range(LAYERS)]
    )
    np.testing.assert_allclose(line(by_step, "0").get_ydata(), [value("tuned", 1, 0, layer) for layer in range(LAYERS)])
    np.testing.assert_allclose(line(difference, "diverse").get_ydata(), -0.2)
    between = np.interp(3.0, [4 - 0.1 * step - 0.2 * (step > 0) for step in STEPS[::-1]], STEPS[::-1])
    np.testing.assert_allclose(line(at_loss, "diverse").get_ydata(), -0.02 * between)


def test_a_table_without_the_metric_is_refused():
    require_refusal(arms.draw, {"arms": over_seeds().clear()}, told(), "metric 'cosine_anisotropy'")
    require_refusal(training.draw, {"training": losses().clear()}, told(), "arms")
