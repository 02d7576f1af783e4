"""The figures of trained models: losses, and metrics over seeds."""

import numpy as np

from drawings import line, texts
from library.figures.changed_tables import LAYERS, STEPS, trained_value
from library.figures.examples import drawn


def test_losses_of_every_seed_beside_those_of_counts():
    axes = drawn("training").axes
    assert [text.get_text() for text in axes[0].texts] == ["3.02"]  # the mean over seeds
    np.testing.assert_allclose(line(axes[1], "bigram").get_ydata(), 3.3)


def test_arms_their_snapshots_and_their_difference():
    figure = drawn("arms")
    for title in ("at the end of training", "Diverse, by step", "Tuned, by step", "Diverse minus Tuned"):
        assert title in texts(figure)
    assert "Diverse minus Tuned, where both have a held-out loss of 3.00 nats" in texts(figure).replace("\n", " ")
    at_end, _, by_step, difference, at_loss = figure.axes
    for axes, label, step in ((at_end, "tuned", 10), (by_step, "0", 0)):
        wanted = [trained_value("tuned", 1, step, layer) for layer in range(LAYERS)]
        np.testing.assert_allclose(line(axes, label).get_ydata(), wanted)
    np.testing.assert_allclose(line(difference, "diverse").get_ydata(), -0.2)
    between = np.interp(3.0, [4 - 0.1 * step - 0.2 * (step > 0) for step in STEPS[::-1]], STEPS[::-1])
    np.testing.assert_allclose(line(at_loss, "diverse").get_ydata(), -0.02 * between)
