"""What training takes, by hand."""

import copy

import numpy as np
import pytest

from conftest import SMALL
from described import HARDWARE, NETWORK
from homogenization.config.study import load_study
from homogenization.plan.costs import matrix_operations
from homogenization.plan.durations import durations_table
from homogenization.plan.training import training_costs, training_text


def test_a_run_is_three_passes_over_its_texts():
    model = {"name": "a-0", "device": "cpu", "gpus": 1}
    run = {"steps": 10, "batch_size": 4, "max_tokens": 20, "snapshots": 2}
    row = training_costs(model, NETWORK, run, HARDWARE)
    operations = 3 * 40 * (matrix_operations(NETWORK, np.array([20]), False) + 2 * 500 * 20)
    assert (row["steps"], row["tokens"]) == (10, 800)
    assert row["petaflops"] == pytest.approx(operations / 1e15)
    assert row["seconds_computing"] == pytest.approx(operations / 1e4)
    assert (row["loads"], row["seconds_starting"], row["seconds_writing"]) == (2, 10, 40)
    assert durations_table([row])["work"].to_list() == ["training", "total"]
    assert training_text([row]).splitlines()[1].split()[:4] == ["training,", "a-0", "10", "800"]
    assert training_text([]) == ""


def test_each_run_is_planned_once():
    raw = copy.deepcopy(SMALL)
    arm = {"weights": {"trained": {"architecture": {"model_type": "gpt2"}, "steps": 9}, "snapshots": [0, 5]}}
    raw["models"] |= {"a": arm, "b": arm}
    planned = load_study(raw).planned_training
    assert planned == {"a-0-step5": {"steps": 5, "batch_size": 8, "max_tokens": 256, "snapshots": 2}}
