"""Bad input through the whole workflow: one clear message, no traceback, no half-written file."""

import subprocess
import sys

import polars as pl

from conftest import LLAMA
from homogenization.tables.extraction import records


def test_a_misspelt_key_stops_everything_before_it_starts(project):
    project.config["corpus"]["n_review"] = 5
    printed = project.fails()
    assert "corpus.n_review: unknown key (did you mean 'n_reviews'?)" in printed
    assert not (project.folder / "results").exists()


def test_a_configuration_without_its_option_is_no_target(project):
    (project.folder / "mine.yaml").write_text("corpus: {}\n")
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "-n", "mine.yaml"], cwd=project.folder, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "mine.yaml is a configuration and no target: snakemake --configfile mine.yaml" in done.stdout


def test_reviews_longer_than_the_context_are_left_out_and_counted(finished):
    finished.config["models"]["tiny"]["weights"]["random"] = LLAMA | {"max_position_embeddings": 240}
    finished.config |= {"interventions": None, "consequences": None}  # they read three reviews alone
    printed = finished.make("results/report.html", "plan")
    read = records(sorted((finished.folder / "results/states").rglob("*.json")))
    assert 0 < read["n_left_out"].sum() < 24
    announced = f"models.tiny: of 24 texts of all variants, {read['n_left_out'].sum()} are left out"
    assert f"warning: {announced}" in printed
    assert announced in (finished.folder / "results/logs/make_report.log").read_text()
    planned = pl.read_csv(finished.folder / "results/plan/plan.csv").row(0, named=True)
    assert (planned["reviews_left_out"], planned["tokens"]) == (read["n_left_out"].sum(), read["n_tokens"].sum())


def test_no_review_is_similar_enough(finished):
    """The run comes to its end and describes the originals; what it would have compared is not tested."""
    finished.config["similarity"]["threshold"] = 1.0
    finished.make("tables")
    contrasts = pl.read_parquet(finished.folder / "results/tables/contrasts.parquet")
    assert "0 of 12 reviews" in contrasts["reason"][0]
    assert "not tested" in (finished.folder / "results/tables/claims.csv").read_text()
