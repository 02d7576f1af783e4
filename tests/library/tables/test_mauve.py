import polars as pl
import pytest

from homogenization.measures.mauve import MAUVE_SCHEMA
from homogenization.tables.mauve import MAUVE_SUMMARY_SCHEMA, tabulate
from measured import written


def test_mean_and_range_over_shards_and_seeds(tmp_path):
    def shard(values):
        keys = {"model": "m", "variant": "front", "layer_from": 0, "layer_to": 1, "depth": 0.5, "kind": "consecutive"}
        rows = [{**keys, "seed": seed, "mauve": value} for seed, value in enumerate(values)]
        return pl.DataFrame(rows, schema=MAUVE_SCHEMA)

    table = tabulate(written(tmp_path, shard([0.2, 0.4]), shard([0.6, 0.8])))
    assert dict(table.schema) == MAUVE_SUMMARY_SCHEMA
    assert table.rows() == [("m", "front", 0, 1, 0.5, "consecutive", pytest.approx(0.5), 0.2, 0.8, 4)]
