"""The page of curves: its numbers are the tables', all of them can be chosen, and it asks for nothing outside."""

import io
import re

import altair as alt
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from drawings import MODELS, VARIANTS
from homogenization.run.errors import HomogenizationError
from library.figures.example_tables import PAIRS
from library.report.examples import CELLS, contrasts_of, page_of, spec_of, summary_of

ESTIMATE = ["mean", "ci_low", "ci_high"]


@pytest.fixture(scope="module")
def page():
    return page_of()


def rows_of(spec):
    """The rows that each chart draws."""
    return [pl.read_csv(io.StringIO(chart["data"]["values"])) for chart in spec["vconcat"]]


def of_table(table, *columns):
    """The rows of a table that the page has, as it names them."""
    named = pl.DataFrame(CELLS).rename({"label": "cell"})
    rows = table.filter(pl.col("point") == "residual_stream").join(named, ["metric", "view"])
    rows = rows.with_columns(pl.col("model").replace(dict(MODELS)))
    return rows.select("cell", "model", "variant", "depth", *ESTIMATE, *columns)


def require_equal(found, wanted):
    keys = [name for name, dtype in wanted.schema.items() if dtype == pl.String]
    found = found.select(wanted.columns)
    assert_frame_equal(found.sort(*keys, "depth"), wanted.sort(*keys, "depth"), rel_tol=1e-4)


def test_the_numbers_are_those_of_the_tables(page):
    spec = spec_of(page)
    alt.VConcatChart.from_dict(spec)  # validates it
    curves, differences = rows_of(spec)
    require_equal(curves, of_table(summary_of()).with_columns(pl.col("variant").replace(dict(VARIANTS))))
    labels = {pair: f"{dict(VARIANTS)[pair[0]]} minus {dict(VARIANTS)[pair[1]]}" for pair in map(tuple, PAIRS)}
    named = pl.DataFrame([(*pair, label) for pair, label in labels.items()], ["variant", "minus", "pair"], orient="row")
    wanted = of_table(contrasts_of().join(named, ["variant", "minus"]), "pair", "verdict")
    require_equal(differences, wanted.with_columns(bound=pl.lit(0.06)).drop("variant"))


def test_every_cell_and_pair_can_be_chosen(page):
    options = {param["name"]: param["bind"]["options"] for param in spec_of(page)["params"] if "bind" in param}
    assert options["metric"] == [cell["label"] for cell in CELLS]
    assert len(options["difference"]) == len(PAIRS)


def test_nothing_outside_the_file_is_named_and_a_label_is_text(page):
    assert not re.findall(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", page)
    named = page_of(models=[["alpha", "</script><b>Alpha"], ["beta", "Beta"]])
    assert "</script><b>" not in named
    assert "</script><b>Alpha" in set(rows_of(spec_of(named))[0]["model"])


@pytest.mark.parametrize(("pairs", "n_charts"), [(PAIRS, 2), ([], 1)])
def test_a_study_without_differences_has_one_chart(pairs, n_charts):
    assert len(spec_of(page_of(pairs=pairs))["vconcat"]) == n_charts


def test_a_variant_with_too_few_reviews_is_named_and_not_drawn():
    few = pl.when(pl.col("variant") == "end").then(9).otherwise("n_reviews").alias("n_reviews")
    page = page_of(summary_of().with_columns(few))
    assert "End: 9 accepted reviews, not drawn" in page
    assert not any(name.startswith("End") for name in rows_of(spec_of(page))[0]["variant"].unique())


def test_a_table_without_what_is_shown_is_refused():
    with pytest.raises(HomogenizationError, match=r"summary\.parquet: no rows"):
        page_of(summary_of().clear())
