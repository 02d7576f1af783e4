"""Bad input through the whole workflow: what is left out, and what cannot be compared, is told."""

import re

import polars as pl

from conftest import LLAMA
from homogenization.run.files import read_json


def test_reviews_longer_than_the_context_are_left_out_and_counted(finished):
    finished.config["models"]["tiny"]["weights"]["random"] = LLAMA | {"max_position_embeddings": 240}
    finished.config |= {"interventions": None, "consequences": None}  # they read three reviews alone
    printed = finished.make("results/report.html", "plan")
    records = [read_json(path) for path in (finished.folder / "results/states").rglob("*.json")]
    n_left_out, n_tokens = (sum(record[name] for record in records) for name in ("n_left_out", "n_tokens"))
    assert 0 < n_left_out < 24
    announced = f"models.tiny: of 24 texts of all variants, {n_left_out} are left out"
    assert f"warning: {announced}" in printed
    assert announced in (finished.folder / "results/logs/make_report.log").read_text()
    planned = re.search(r"^ ?total +null +(.*)$", printed, re.MULTILINE)[1].split()
    assert {str(n_left_out), f"{n_tokens:,}"} <= {*planned}


def test_no_review_is_similar_enough(finished):
    """The run comes to its end and describes the originals; what it would have compared is not tested."""
    finished.config["similarity"]["threshold"] = 1.0
    finished.make("tables")
    contrasts = pl.read_parquet(finished.folder / "results/tables/contrasts.parquet")
    assert "0 of 12 reviews" in contrasts["reason"][0]
    assert "not tested" in (finished.folder / "results/tables/claims.csv").read_text()
