"""What interventions take, by hand; and that the plan's conditions are those that run."""

import numpy as np
import polars as pl
import pytest

from conftest import SMALL
from described import HARDWARE, NETWORK
from homogenization.config.interventions import Interventions
from homogenization.interventions.cells import VIEWS
from homogenization.interventions.conditions import RANDOM_DRAWS
from homogenization.interventions.patterns import PATTERNS
from homogenization.plan.costs import matrix_operations
from homogenization.plan.durations import durations_table
from homogenization.plan.interventions import intervention_costs, interventions_text
from homogenization.plan.study import plan_study

MODEL = {"name": "m", "dtype": "float32", "device": "cpu", "gpus": 1}
COUNTS = pl.DataFrame({"variant": ["original"] * 2, "shard": ["000", "001"], "lengths": [[10, 20], [30, 40]]})


def test_conditions_and_slopes_are_counted_as_passes():
    jobs = [["original", "000", 2, 5], ["original", "001", 1, 5]]
    row = intervention_costs(MODEL, NETWORK, COUNTS, {"jobs": jobs, "backward": 4}, HARDWARE)
    assert (row["reviews"], row["forward"], row["backward"]) == (3, 18, 12)
    passes = sum(matrix_operations(NETWORK, np.array(lengths), True) for lengths in ([10, 20], [30]))
    head = 2 * 500 * 60
    assert row["petaflops"] == pytest.approx((5 * (passes + head) + 5 * passes) / 1e15)
    seconds = (5 * (passes + head) + 2 * 5 * passes) / 1e4
    assert row["seconds_computing"] == pytest.approx(seconds)
    assert (row["loads"], row["bytes_read"], row["seconds_starting"]) == (2, 2 * 40_000, 10.0)
    assert row["seconds_total"] == pytest.approx(seconds + 10 + 80)
    assert durations_table([row])["work"].to_list() == ["interventions", "total"]
    last = interventions_text([row]).splitlines()[1].split()
    assert last[:6] == ["interventions,", "m", "5", "3", "18", "12"]


def test_texts_that_are_read_for_consequences_have_their_own_numbers_of_conditions():
    study = {"jobs": [["original", "000", 2, 5], ["original", "001", 2, 1]], "backward": 0}
    row = intervention_costs(MODEL, NETWORK, COUNTS, study, HARDWARE, "consequences")
    assert (row["conditions"], row["reviews"], row["forward"], row["backward"]) == (5, 4, 12, 0)
    passes = [matrix_operations(NETWORK, np.array(lengths), True) for lengths in ([10, 20], [30, 40])]
    seconds = (5 * (passes[0] + 2 * 500 * 30) + passes[1] + 2 * 500 * 70) / 1e4
    assert row["seconds_computing"] == pytest.approx(seconds)
    assert interventions_text([row]).splitlines()[1].startswith("consequences, m")


def test_without_interventions_there_is_nothing():
    counts = COUNTS.with_columns(lengths_before_truncation="lengths", counted_as="variant", n_cut=0, n_left_out=0)
    states = {"dtype": "auto", "layers": None, "record_attention": True, "keep": True, "sample_tokens": None}
    nothing = {"m": {"jobs": [], "backward": 0}}
    params = {"interventions": nothing, "consequences": nothing, "read_again": {"m": {}}, "training": {}}
    params |= {"pooled_variants": ["original"], "writers": [], "readers": []}
    _, durations, text = plan_study([(MODEL | {"token_budget": 64}, NETWORK, counts)], states, params, HARDWARE)
    assert durations["work"].to_list() == ["states", "total"]
    assert "passes" not in text


def test_the_default_has_every_pattern_at_every_strength():
    default = Interventions()
    assert len(default.conditions) == 1 + 4 * len(PATTERNS) + 3 + RANDOM_DRAWS + 2
    assert default.backward_passes == 2 * len(VIEWS) + 2
    assert len(Interventions(**SMALL["interventions"]).conditions) == 4
