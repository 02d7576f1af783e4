"""An audit from the sheet to the table, with variants by constructions: `snakemake audit`, readers, `snakemake`."""

import csv

import polars as pl

from conftest import SMALL, Project, copy_workflow
from homogenization.variants.ratings import QUESTIONS


def test_a_filled_sheet_becomes_a_table(tmp_path):
    folder = tmp_path / "project"
    copy_workflow(folder)
    variants = {
        "original": {"rewriter": "none"},
        "front-natural": {"rewriter": "natural", "position": "front"},
        "end-natural": {"rewriter": "natural", "position": "end"},
        "front": {"rewriter": "rules", "position": "front"},
    }
    config = SMALL | {"variants": variants, "claims": None, "audit": {"passages": 5}}
    project = Project(folder, config)
    project.make("audit")
    with (folder / "results/audit/sheet.csv").open(newline="") as file:
        sheet = list(csv.DictReader(file))
    texts = pl.concat([pl.read_parquet(path) for path in sorted((folder / "results/variants").glob("*/*.parquet"))])
    joined = " ".join(texts["text"])
    assert 5 < len(sheet) <= 15
    assert all(row["original"] in joined and row["rewritten"] in joined for row in sheet)
    assert not any(name in str(sheet) for name in ("front-natural", "end-natural"))

    for reader, wrong in (("one", 3), ("two", 4)):
        rows = [row | dict.fromkeys(QUESTIONS, "yes") for row in sheet]
        rows = [row | {"same_meaning": "no"} if number < wrong else row for number, row in enumerate(rows)]
        with (folder / f"{reader}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    project.config["audit"] |= {"ratings": ["one.csv", "two.csv"]}
    assert project.planned("results/tables/audit.csv")["collect_texts"] == 1
    project.make("results/tables/audit.csv")
    table = pl.read_csv(folder / "results/tables/audit.csv")
    assert table["variant"].to_list() == ["end-natural", "front", "front-natural"]
    assert (table["n_readers"] == 2).all()
    rated = table["n_rated"].sum()
    assert rated >= len(sheet)
    assert (table["sound"] * table["n_rated"]).sum() <= rated - 4 + 1e-9
    assert (table["sound"] < 1).any()
