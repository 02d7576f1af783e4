"""Bad input through the whole workflow: what is left out, and what cannot be compared, is told."""

import re

import polars as pl

from conftest import LLAMA
from homogenization.run.files import read_json


def test_reviews_longer_than_the_context_are_left_out_and_counted(finished):
    finished.config["models"]["tiny"]["weights"]["random"] = LLAMA | {"max_position_embeddings": 240}
    finished.config |= {"interventions": None, "consequences": None}  # they read three reviews alone
    printed = finished.make("results/report.html")
    records = [read_json(path) for path in (finished.folder / "results/states").rglob("*.json")]
    n_left_out, n_tokens = (sum(record[name] for record in records) for name in ("n_left_out", "n_tokens"))
    assert 0 < n_left_out < 24
    announced = f"models.tiny: of 24 texts of all variants, {n_left_out} are left out"
    assert f"warning: {announced}" in printed
    assert announced in (finished.folder / "results/logs/make_report.log").read_text()
    written = sum(path.stat().st_size for path in (finished.folder / "results/states").rglob("*.zarr.zip"))
    for _ in range(2):  # whenever it is asked for, the plan is printed
        done = finished.run("--cores", "2", "plan")
        assert done.returncode == 0, done.stdout
        planned = re.search(r"^ ?total +null +(.*)$", done.stdout, re.MULTILINE)[1].replace(",", "").split()
        jobs, *_, tokens, n_bytes = (int(number) for number in planned if number.isdigit())
        assert (jobs, tokens, str(n_left_out) in planned) == (len(records), n_tokens, True)
        # these stores are so small that headers weigh
        assert 0.7 * written < n_bytes < written


def test_no_review_is_similar_enough(finished):
    """The run comes to its end and describes the originals; what it would have compared is not tested."""
    finished.config["similarity"]["threshold"] = 1.0
    finished.make("tables")
    contrasts = pl.read_parquet(finished.folder / "results/tables/contrasts.parquet")
    assert "0 of 12 reviews" in contrasts["reason"][0]
    assert "not tested" in (finished.folder / "results/tables/claims.csv").read_text()
