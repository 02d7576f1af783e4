"""What jobs do, by hand and by torch's counter; hours at the pace of a pilot; that planned conditions are those run."""

import copy

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import SMALL
from described import NETWORK
from homogenization.config.interventions import Interventions
from homogenization.config.study import load_study
from homogenization.interventions.conditions import RANDOM_DRAWS
from homogenization.interventions.patterns import PATTERNS
from homogenization.plan.costs import matrix_operations
from homogenization.plan.works import (
    WORKS_SCHEMA,
    Pace,
    intervention_work,
    pace,
    paces_of,
    plan_study,
    shard_work,
    training_work,
)
from homogenization.run.files import write_json

MODEL = {"name": "m", "dtype": "float32", "device": "cpu", "gpus": 0}
COUNTS = pl.DataFrame({"variant": ["original"] * 2, "shard": ["000", "001"], "lengths": [[10, 20], [30, 40]]})
ALL = np.array([10, 20, 30, 40])
PACE = Pace(5.0, 0.25)


def operations(lengths, recorded=True):
    return matrix_operations(NETWORK, np.array(lengths), recorded)


@pytest.mark.parametrize(
    ("work", "recorded", "expected"),
    [
        ("states", True, {"forward": 4, "gpus_per_job": 2, "petaflops": operations(ALL) / 1e15}),
        ("components", False, {"forward": 4, "gpus_per_job": 2, "petaflops": operations(ALL, False) / 1e15}),
        ("spectra", False, {"forward": 0, "gpus_per_job": 0, "petaflops": 0}),
    ],
)
def test_a_pass_or_a_measure_goes_once_over_each_variant_and_shard(work, recorded, expected):
    model = MODEL | {"device": "cuda", "gpus": 2}
    row = shard_work(work, model, NETWORK, COUNTS, record_attention=recorded)
    assert (
        row
        == dict.fromkeys(WORKS_SCHEMA)
        | {"work": work, "model": "m", "jobs": 2, "backward": 0, "tokens": 100}
        | expected
    )
    timed = shard_work(work, model, NETWORK, COUNTS, record_attention=recorded, pace=PACE)
    assert timed == row | {"seconds_to_start": 5, "seconds_per_token": 0.25, "hours": (2 * 5 + 100 * 0.25) / 3600}


def test_conditions_are_counted_as_passes():
    jobs = [["original", "000", 2, 5], ["original", "001", 2, 1]]
    row = intervention_work("consequences", MODEL | {"device": "cuda"}, NETWORK, COUNTS, jobs)
    assert (row["jobs"], row["forward"], row["backward"], row["tokens"]) == (2, 12, 0, 5 * 30 + 70)
    expected = 5 * (operations([10, 20]) + 2 * 500 * 30) + operations([30, 40]) + 2 * 500 * 70
    assert row["petaflops"] == pytest.approx(expected / 1e15)


def test_training_is_three_passes_over_its_texts():
    row = training_work(MODEL, NETWORK, {"steps": 10, "batch_size": 4, "max_tokens": 20, "snapshots": 2})
    assert (row["jobs"], row["forward"], row["backward"], row["tokens"]) == (2, 40, 40, 800)
    assert row["petaflops"] == pytest.approx(3 * 40 * (operations([20], False) + 2 * 500 * 20) / 1e15)


def test_each_training_run_is_planned_once():
    raw = copy.deepcopy(SMALL)
    arm = {"weights": {"trained": {"architecture": {"model_type": "gpt2"}, "steps": 9}, "snapshots": [0, 5]}}
    raw["models"] |= {"a": arm, "b": arm}
    planned = load_study(raw).planned_training
    assert planned == {"a-0-step5": {"steps": 5, "batch_size": 8, "max_tokens": 256, "snapshots": 2}}


def test_the_default_has_every_pattern_at_every_strength():
    default = Interventions()
    assert len(default.conditions) == 1 + 4 * len(PATTERNS) + 3 + RANDOM_DRAWS
    assert len(Interventions(**SMALL["interventions"]).conditions) == 4


seconds = st.floats(0.01, 1e4)


@given(start=seconds, token=st.floats(1e-6, 1), few=st.integers(1, 10**5), more=st.integers(1, 10**5))
def test_the_pace_is_the_line_through_two_jobs(start, token, few, more):
    found = pace(few, start + token * few, few + more, start + token * (few + more))
    many = 10**6
    assert found.hours(1, few + more) == pytest.approx((start + token * (few + more)) / 3600)
    assert found.hours(3, 3 * many) == pytest.approx(
        3 * (start + token * many) / 3600, rel=1e-6, abs=1e-9 * start * many
    )


@given(few=seconds, many=seconds)
def test_a_clock_that_runs_unevenly_leaves_neither_part_negative(few, many):
    found = pace(100, few, 400, many)
    assert found.start >= 0
    assert found.token >= 0
    assert found.hours(1, 400) == pytest.approx(many / 3600)


def test_paces_are_those_of_the_pilots_files(tmp_path):
    records, benchmarks = [], []
    for name, n_tokens in (("a-6", 100), ("a-24", 300), ("b-6", 50), ("b-24", 250)):
        write_json({"n_tokens": n_tokens}, tmp_path / f"{name}.json")
        records.append(tmp_path / f"{name}.json")
    for name, taken in (("a-states", (2, 4)), ("a-spectra", (1, 5)), ("b-states", (7, 9))):
        for part, of_part in enumerate(taken):
            (tmp_path / f"{name}-{part}.tsv").write_text(f"s\th:m:s\tcpu_time\n{of_part}.0\t0:00:0{of_part}\t0\n")
            benchmarks.append(tmp_path / f"{name}-{part}.tsv")
    assert paces_of({"a": ["states", "spectra"], "b": ["states"]}, records, benchmarks) == {
        ("a", "states"): Pace(1.0, 0.01),
        ("a", "spectra"): Pace(0.0, 5 / 300),
        ("b", "states"): Pace(6.5, 0.01),
    }


@pytest.fixture
def study():
    """A model that is read, taken apart and trained, and whose attention is changed."""
    counts = COUNTS.with_columns(lengths_before_truncation="lengths", counted_as="variant", n_cut=0, n_left_out=0)
    states = {"dtype": "auto", "layers": None, "record_attention": True, "keep": True}
    params = {
        "states": states,
        "works": {"m": {"states": ["original"], "components": ["original"], "mauve": ["original"]}},
        "readings": {"m": {"interventions": [["original", "000", 2, 5]]}},
        "training": {"m": {"steps": 10, "batch_size": 4, "max_tokens": 20, "snapshots": 2}},
    }
    return [(MODEL, NETWORK, counts)], params


def test_a_study_without_a_pilot_says_operations_and_how_to_find_hours(study):
    plan, works, text = plan_study(*study, {})
    assert plan["model"].to_list() == ["m", "total"]
    assert works.schema == WORKS_SCHEMA
    assert works["work"].to_list() == ["states", "components", "mauve", "interventions", "training", "total"]
    total = works.row(-1, named=True)
    assert (total["jobs"], total["tokens"], total["hours"]) == (2 + 2 + 2 + 1 + 2, None, None)
    assert total["petaflops"] == pytest.approx(works["petaflops"][:-1].sum())
    header, last = (text.splitlines()[line] for line in (4, -1))
    assert "hours" not in header
    assert "PFLOP / (3.6 x TFLOP/s" in last
    assert "--config pilot=24" in last


def test_a_pilot_gives_hours_of_what_it_timed(study):
    timed = {("m", "states"): PACE, ("m", "mauve"): Pace(2.0, 0.0)}
    _, works, text = plan_study(*study, timed)
    hours = dict(zip(works["work"], works["hours"], strict=True))
    assert hours["states"] == (2 * 5 + 100 * 0.25) / 3600
    assert hours["mauve"] == 2 * 2 / 3600
    assert hours["components"] is hours["interventions"] is hours["training"] is None
    assert hours["total"] == pytest.approx(hours["states"] + hours["mauve"])
    lines = text.splitlines()[4:]
    assert len({len(line) for line in lines[:-1]}) == 1
    reached = 1e3 * works["petaflops"][0] / 100 / 0.25
    assert float(lines[1].split()[-3]) == pytest.approx(reached, rel=0.01)
    assert lines[2].split()[-1] == "-"
