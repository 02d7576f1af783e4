from itertools import product

import polars as pl

from homogenization.measures.components import COMPONENT_STATES_SCHEMA, NUMBERS, NUMBERS_OF_DISTANCES
from homogenization.run.parquet import write_table
from homogenization.tables.components import COMPONENTS_SCHEMA, tabulate
from measured import accepted

VIEWS = ("all_tokens", "without_first")


def states_table(value):
    """Component states of two blocks whose numbers `value(layer, point, view)` gives."""
    places = product(("b", "a"), (1, 2), ("resid_pre", "ln1_out", "attn_out", "resid_post"), VIEWS)
    rows = [
        {"model": "tiny", "variant": "front", "review_id": review_id, "layer": layer, "depth": layer / 2}
        | {"point": point, "n_tokens": 9, "width": 4, "view": view, **dict.fromkeys(NUMBERS, value(layer, point, view))}
        | dict.fromkeys(NUMBERS_OF_DISTANCES, 0.25 if (point, view) == ("attn_out", "all_tokens") else None)
        for review_id, layer, point, view in places
    ]
    return pl.DataFrame(rows, COMPONENT_STATES_SCHEMA)


def test_changes_are_output_less_input(tmp_path):
    order = {"resid_pre": 1.0, "ln1_out": 3.0, "attn_out": 7.0, "resid_post": 20.0}

    def value(layer, point, view):
        return order[point] * layer + 100 * (view == "without_first")

    components = {"attention": ["ln1_out", "attn_out"], "addition": ["resid_pre", "resid_post"]}
    write_table(states_table(value), tmp_path / "states", {"components": components})
    table = tabulate([str(tmp_path / "states")], accepted("a"))
    assert table.schema == pl.Schema(COMPONENTS_SCHEMA)
    assert table["review_id"].unique().to_list() == ["a"]
    overlap = table.filter(metric="neighbourhood_overlap")
    assert overlap.select("component", "view", "before", "after", "change").unique().rows() == [
        ("attention", "all_tokens", 1.0, 0.25, -0.75)
    ]
    table = table.filter(pl.col("metric").str.ends_with("anisotropy"))
    keys = ("tiny", "front", "a", 1, 0.5, "addition", "all_tokens", "cosine_anisotropy")
    assert table.row(0) == (*keys, 1.0, 20.0, 19.0)
    attention = table.filter(pl.col("component") == "attention", pl.col("layer") == 2)
    assert attention["change"].to_list() == [8.0] * 4
    assert attention["before"].to_list() == [6.0, 6.0, 106.0, 106.0]
