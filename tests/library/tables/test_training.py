"""Losses by step; what a penalty changes in each layer, and what the task pays."""

import polars as pl

from homogenization.names.training import LOSSES_SCHEMA
from homogenization.run.parquet import write_table
from homogenization.tables.summary import SUMMARY_SCHEMA
from homogenization.tables.training import PENALTIES_SCHEMA, TRAINING_SCHEMA, tabulate


def test_a_model_is_compared_with_its_control_layer_by_layer(tmp_path):
    losses = {"diverse-0": (3.0, 2.5, "1,2"), "tuned-0": (3.0, 2.25, "1,2"), "tuned-1": (3.0, 2.0, "2")}
    for name, (first, last, layers) in losses.items():
        rows = [{"step": 0, "loss": 4.0, "held_out_loss": first}, {"step": 1, "held_out_loss": last}]
        table = pl.DataFrame([row | {"layers": layers} for row in rows], schema=LOSSES_SCHEMA)
        write_table(table, tmp_path / f"{name}.parquet")
    cells = [
        {
            "model": model,
            "variant": variant,
            "point": point,
            "layer": layer,
            "depth": layer / 3,
            "view": "without_first",
        }
        | {"metric": "cosine_anisotropy", "mean": layer / 8 + (model == "tuned-0") * 0.25 + (point == "final_norm")}
        for model in losses
        for variant in ("original", "front")
        for point in ("residual_stream", "final_norm")
        for layer in range(4)
    ]
    paths = [tmp_path / f"{name}.parquet" for name in losses]
    summary = pl.DataFrame(cells, schema=SUMMARY_SCHEMA)
    training, penalties = tabulate(paths, list(losses), {"diverse-0": "tuned-0"}, summary)
    assert dict(training.schema) == TRAINING_SCHEMA
    assert len(training) == 6
    assert dict(penalties.schema) == PENALTIES_SCHEMA
    assert penalties["layer"].to_list() == [0, 1, 2, 3]
    assert penalties["penalised"].to_list() == [False, True, True, False]
    assert penalties["difference"].to_list() == [-0.25] * 4
    assert penalties["loss_difference"].to_list() == [0.25] * 4
    assert tabulate(paths, list(losses), {}, summary)[1].is_empty()
