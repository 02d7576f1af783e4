"""What interventions take, by hand; and that the plan's conditions are those that run."""

import numpy as np
import polars as pl
import pytest
from torch.utils.flop_counter import FlopCounterMode

from conftest import SMALL
from described import HARDWARE, NETWORK, described
from homogenization.config.interventions import Interventions
from homogenization.interventions.cells import VIEWS, cells
from homogenization.interventions.conditions import RANDOM_DRAWS
from homogenization.interventions.delivered import delivered_of_review
from homogenization.interventions.patterns import PATTERNS
from homogenization.interventions.recorded import in_float64, record
from homogenization.interventions.slopes import slopes_of_review
from homogenization.measures.blocks import known_layout
from homogenization.plan.costs import matrix_operations
from homogenization.plan.durations import durations_table
from homogenization.plan.interventions import intervention_costs, interventions_text, slopes_bytes
from homogenization.plan.study import plan_study
from homogenization.states.network import packed_model
from tiny_models import CONFIGS, VOCABULARY, network

MODEL = {"name": "m", "dtype": "float32", "device": "cpu", "gpus": 1}
COUNTS = pl.DataFrame({"variant": ["original"] * 2, "shard": ["000", "001"], "lengths": [[10, 20], [30, 40]]})
MEASURED = {
    "views": ["raw"],
    "common_tokens": None,
    "pooled": [],
    "mauve": {"variants": [], "n_tokens": 1000, "seeds": 1},
}


def test_conditions_and_slopes_are_counted_as_passes():
    jobs = [["original", "000", 2, 5], ["original", "001", 1, 5]]
    row = intervention_costs(MODEL, NETWORK, COUNTS, {"jobs": jobs, "backward": 4}, HARDWARE)
    assert (row["reviews"], row["forward"], row["backward"]) == (3, 18, 12)
    passes = sum(matrix_operations(NETWORK, np.array(lengths), True) for lengths in ([10, 20], [30]))
    head, attention = 2 * 500 * 60, passes - 2 * 7_000 * 60
    slopes = 7 * passes + 4 * attention
    assert row["petaflops"] == pytest.approx((5 * (passes + head) + slopes) / 1e15)
    seconds = (5 * (passes + head) + 2 * slopes) / 1e4
    assert row["seconds_computing"] == pytest.approx(seconds)
    assert (row["loads"], row["bytes_read"], row["seconds_starting"]) == (2, 2 * 40_000, 10.0)
    assert row["seconds_total"] == pytest.approx(seconds + 10 + 80)
    assert durations_table([row])["work"].to_list() == ["interventions", "total"]
    last = interventions_text([row]).splitlines()[1].split()
    assert last[:6] == ["interventions,", "m", "5", "3", "18", "12"]


@pytest.mark.parametrize("name", ["llama", "gemma", "gpt2", "bert"])
def test_operations_of_slopes_are_those_that_torch_counts(name, tmp_path):
    metrics, length = ["cosine_anisotropy", "normalized_effective_rank"], 200
    model = in_float64(packed_model(network(CONFIGS[name])))
    layout = known_layout(model)
    ids = np.random.default_rng(0).integers(3, VOCABULARY, length)
    with FlopCounterMode(display=False) as counter:
        recorded = record(model, ids, layout)
        slopes_of_review(recorded, b"a draw", ["first", "removed"], metrics)
        delivered_of_review(recorded, b"a draw", ["first"])
    counts = pl.DataFrame({"variant": ["original"], "shard": ["000"], "lengths": [[length]]})
    study = {"jobs": [["original", "000", 1, 0]], "backward": len(cells(metrics)) + 2}
    row = intervention_costs(MODEL, described(CONFIGS[name], tmp_path), counts, study, HARDWARE)
    # the products of chunks of queries are no operation of torch's that it counts
    assert 0.85 * 1e15 * row["petaflops"] < counter.get_total_flops() < 1.15 * 1e15 * row["petaflops"]


def test_slopes_on_a_gpu_say_what_they_hold():
    study = {"jobs": [["original", "000", 2, 5], ["original", "001", 1, 5]], "backward": 4}
    row = intervention_costs(MODEL | {"device": "cuda"}, NETWORK, COUNTS, study, HARDWARE)
    assert row["gpu_memory_gib"] * 2**30 == slopes_bytes(NETWORK, "float32", 30, 2)
    assert interventions_text([row]).splitlines()[-1] == "slopes, m: 0.0 GiB of a GPU"
    # slopes are in float64, which has a rate of its own
    cpu = intervention_costs(MODEL, NETWORK, COUNTS, study, HARDWARE)
    assert cpu["gpu_memory_gib"] is None
    passes = sum(matrix_operations(NETWORK, np.array(lengths), True) for lengths in ([10, 20], [30]))
    plain = 5 * (passes + 2 * 500 * 60)
    assert row["seconds_computing"] == pytest.approx(plain / 1e6 + (1e15 * row["petaflops"] - plain) / 5e5)


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
    params |= {
        "measured": MEASURED,
        "store_limit": None,
        "in_pass": False,
        "writers": [],
        "encoders": [],
        "readers": [],
    }
    _, durations, _, text = plan_study([(MODEL | {"token_budget": 64}, NETWORK, counts)], states, params, HARDWARE)
    assert durations["work"].to_list() == ["states", "total"]
    assert "passes" not in text


def test_the_default_has_every_pattern_at_every_strength():
    default = Interventions()
    assert len(default.conditions) == 1 + 4 * len(PATTERNS) + 3 + RANDOM_DRAWS + 2
    assert default.backward_passes == 2 * len(VIEWS) + 2
    assert len(Interventions(**SMALL["interventions"]).conditions) == 4
