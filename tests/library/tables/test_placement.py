import polars as pl

from homogenization.tables.placement import PLACEMENT_SCHEMA, tabulate
from measured import written


def test_placement(tmp_path):
    placed = {"phrase": "good film", "sentence": 2, "original_position": 0.25, "position": 0.0}
    alone = {"phrase": "awful", "sentence": 0, "original_position": None, "position": None}
    reviews = pl.DataFrame(
        {
            "variant": "front",
            "review_id": ["a", "b"],
            "text": ["", ""],
            "label": ["0", "1"],
            "placements": [[placed, alone], []],
        }
    )
    table = tabulate(written(tmp_path, reviews))
    assert dict(table.schema) == PLACEMENT_SCHEMA
    assert table.rows() == [("front", "a", "good film", 2, 0.25, 0.0), ("front", "a", "awful", 0, None, None)]
    assert tabulate([]).is_empty()
