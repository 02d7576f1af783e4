"""The first page of the report: every claim with its verdict in each model, and what was run."""

import re

import polars as pl
import pytest
import yaml
from markupsafe import escape

from conftest import ROOT
from homogenization.config.presentation import first_page_parameters
from homogenization.names.numbers import share_in_words
from homogenization.report.first_page import depth_curve, first_page, make
from homogenization.report.page import interval
from homogenization.run.parquet import write_table
from studies import OWN, make_study


def page_of(made, tables=None, **changes):
    return first_page(tables or made.tables, **first_page_parameters(made.study) | changes)


def cells(page):
    """The cells of each row of the table of claims, without what stands in small letters beside them."""
    rows = re.findall(r"<tr>(.*?)</tr>", page[page.index('<table id="claims">') :].partition("</table>")[0], re.DOTALL)
    found = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in rows]
    return [[re.sub(r"<small>.*?</small>", "", cell).strip() for cell in row] for row in found if row]


@pytest.fixture(scope="module")
def embedded():
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return make_study(yaml.safe_load((ROOT / "config/config.yaml").read_text()))


@pytest.fixture(scope="module")
def small():
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return make_study(OWN)


def test_each_tested_claim_has_its_row_and_the_others_their_reason(embedded):
    claims, page = embedded.tables["claims"], page_of(embedded)
    tested = claims.filter(pl.col("verdict") != "not tested")
    found = cells(page)
    assert len(found) == len(tested)
    labels = {None: "all models", **dict(first_page_parameters(embedded.study)["models"])}
    wanted = sorted(
        (labels[row["model"]], row["verdict"], interval(row), row["n_reviews"]) for row in tested.iter_rows(named=True)
    )
    told = [(row[0], row[1].partition(" ")[2], row[2], int(row[4].split()[0])) for row in found]
    assert sorted(told) == wanted
    shares = [row["relative_effect"] for row in tested.iter_rows(named=True)]
    assert {row[3].partition(" more")[0].partition(" less")[0].lstrip("−") for row in found} >= {
        share_in_words(abs(share)) for share in shares if share == share
    }
    below = page[page.index("<h2>Not tested</h2>") :]
    for reason in claims.filter(verdict="not tested")["reason"].unique():
        assert str(escape(reason)) in below


def test_a_study_without_controls_or_enough_texts_says_so(small, embedded):
    assert "No control:" in page_of(small)
    assert "No control:" not in page_of(embedded)
    few = small.tables["comparisons"].with_columns(tested=pl.lit(False), reason=pl.lit("too few <texts>"))
    assert "too few &lt;texts&gt;." in page_of(small, small.tables | {"comparisons": few})


def test_a_study_without_claims_has_what_was_run_and_the_curve_alone(small):
    page = page_of(small, small.tables | {"claims": small.tables["claims"].clear()})
    assert "<h1>Claims</h1>" not in page
    assert 'aria-label="Normalised effective rank of the originals over depth' in page


def test_the_curve_is_of_a_headline_metric(small):
    without = small.tables["summary"].filter(pl.col("metric") == "n_tokens")
    assert depth_curve(without, [("tiny", "Tiny")]) == ""


def test_models_and_variants_are_told_by_their_labels_as_text(small):
    names = {"models": [["tiny", "<i>Tiny</i> 🎬"]], "variants": [["original", "Untouched"], ["front", "A {place}"]]}
    page = page_of(small, **names)
    assert "&lt;i&gt;Tiny&lt;/i&gt; 🎬" in page
    assert "A {place}" in page
    assert not re.findall(r">\s*(?:tiny|front|original)\b", page)


def test_what_cleaning_left_out_is_said(small, tmp_path):
    for name, table in small.tables.items():
        write_table(table, tmp_path / f"{name}.parquet")
    write_table(pl.DataFrame({"review_id": ["a", "b"]}), tmp_path / "clean.parquet", {"rows_of_source": 5})
    inputs = {name: str(tmp_path / f"{name}.parquet") for name in ("comparisons", "summary", "acceptance", "clean")}
    page = make(inputs | {"claims": [], "extraction": []}, first_page_parameters(small.study))
    assert "cleaning left out 3 of 5 rows" in page
