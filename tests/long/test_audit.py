"""An audit from the sheet to the table, with variants in natural orders: `snakemake audit`, readers, `snakemake`."""

import polars as pl

from conftest import SMALL, Project, copy_workflow
from homogenization.variants.ratings import QUESTIONS


def test_a_filled_sheet_becomes_a_table(tmp_path):
    folder = tmp_path / "project"
    copy_workflow(folder)
    natural = {f"{side}-natural": {"rewriter": "natural", "position": side} for side in ("front", "end")}
    project = Project(folder, SMALL | {"variants": SMALL["variants"] | natural, "claims": None})
    project.make("audit")
    sheet = pl.read_csv(folder / "results/audit/sheet.csv", schema_overrides={"item": pl.String})
    texts = " ".join(pl.read_parquet(folder / "results/variants/*/*.parquet")["text"])
    assert len(sheet) > 5
    assert all(one in texts for name in ("original", "rewritten") for one in sheet[name])
    assert not any(name in str(sheet.rows()) for name in natural)
    for reader, n_wrong in (("one", 3), ("two", 4)):
        answers = {name: pl.lit("yes") for name in QUESTIONS}
        wrong = pl.when(pl.int_range(pl.len()) < n_wrong).then(pl.lit("no")).otherwise(pl.lit("yes"))
        sheet.with_columns(**answers | {"same_meaning": wrong}).write_csv(folder / f"{reader}.csv")
    project.config["audit"] = {"ratings": ["one.csv", "two.csv"]}
    project.make("results/tables/audit.csv")
    table = pl.read_csv(folder / "results/tables/audit.csv")
    assert table["variant"].to_list() == ["end-natural", "front", "front-natural"]
    assert (table["n_readers"] == 2).all()
    rated = table["n_rated"].sum()
    assert rated >= len(sheet)
    assert (table["sound"] * table["n_rated"]).sum() <= rated - 4 + 1e-9
