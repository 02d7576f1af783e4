"""What a penalty changes: models less their controls, seed by seed."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from examples import example_table
from homogenization.names.training import LOSSES_SCHEMA
from homogenization.run.parquet import write_table
from homogenization.statistics import penalties
from homogenization.tables import training
from homogenization.tables.summary import SUMMARY_SCHEMA

SEEDS, COSINE = (0, 1, 2), "cosine_anisotropy"
SHIFT = np.array([0.2, 0.25, 0.36])  # by seed
RESAMPLING = {"draws": 100, "confidence": 0.95, "seed": 0}


def summary_of(model, shift):
    layers = np.arange(4)
    names = {"model": model, "view": "without_first", "metric": COSINE, "layer": layers, "depth": layers / 3}
    parts = [
        example_table(SUMMARY_SCHEMA, **names, variant=variant, point=point, mean=layers / 8 + shift + 9 * other)
        for other, (variant, point) in enumerate(
            [("original", "residual_stream"), ("original", "final_norm"), ("front", "residual_stream")]
        )
    ]
    return pl.concat(parts)


def test_a_model_is_compared_with_its_control_seed_by_seed(tmp_path):
    models, paths = [f"{arm}-{seed}" for arm in ("diverse", "tuned") for seed in SEEDS], []
    for place, name in enumerate(models):
        last = 2.0 + 0.1 * place**2
        layers = {"layers": "2" if name.endswith("-0") else "1,2"}
        rows = [layers | {"step": 0, "loss": 4.0, "held_out_loss": 3.0}, layers | {"step": 1, "held_out_loss": last}]
        paths.append(tmp_path / f"{name}.parquet")
        write_table(pl.DataFrame(rows, schema=LOSSES_SCHEMA), paths[-1])
    losses = training.tabulate(paths, models)
    summary = pl.concat(summary_of(name, 0.0 if name.startswith("tuned") else SHIFT[int(name[-1])]) for name in models)
    controls = {f"diverse-{seed}": f"tuned-{seed}" for seed in SEEDS}
    table = penalties.tabulate(losses, summary, controls, RESAMPLING)
    assert dict(table.schema) == penalties.PENALTIES_SCHEMA
    assert set(table.select("model", "control", "n_seeds").rows()) == {("diverse", "tuned", 3)}
    likeness = table.filter(metric=COSINE)
    assert likeness["penalised"].to_list() == [False, True, True, False]
    interval = stats.ttest_1samp(SHIFT, 0).confidence_interval()
    for row in likeness.iter_rows(named=True):
        assert [row["mean"], row["ci_low"], row["ci_high"]] == pytest.approx([SHIFT.mean(), *interval])
        assert row["yardstick"] == pytest.approx(3 / 8)
        assert row["p_max_t"] == 0.25  # of three seeds, none is lower
    paid = table.filter(metric="loss")
    assert paid["mean"].item() == pytest.approx(np.mean([0.1 * (n**2 - (n + 3) ** 2) for n in range(3)]))
    assert paid["penalised"].to_list() == [None]
