"""What a file was made by is in the file: an edit reaches what it touches also where Snakemake has no record of it."""

import shutil
from pathlib import Path

import pytest

from conftest import ROOT, Project, copy_workflow
from homogenization.run.made_by import recorded_key
from homogenization.run.parquet import table_metadata

TABLE = "results/tables/metrics.parquet"
NOTHING = "Nothing to be done"
TOLD = "not made by what this run asks for"


def run_with_failures(project: Project, script: str, by: str, spares: str = "") -> None:
    """Run to the table of metrics, in which the jobs of a script end as they start; all other jobs go on."""
    end = {"FAILING": script, "FAILING_BY": by, "FAILING_SPARES": spares}
    done = project.run("--cores", "2", "--keep-going", TABLE, PYTHONPATH=str(ROOT / "tests/failing_jobs"), **end)
    assert done.returncode == 1, done.stdout
    assert f"Error in rule {script}" in done.stdout


@pytest.mark.parametrize("by", ["SIGKILL", "out of memory"])
def test_an_edit_whose_jobs_fail_runs_with_the_same_command(finished, by):
    finished.config["models"]["tiny"]["max_tokens"] = 60
    edit = finished.planned(TABLE)
    assert edit["extract_states"] == edit["compute_spectra"] == 4
    run_with_failures(finished, "extract_states", by)
    assert finished.planned(TABLE) == edit


def test_shards_are_all_of_one_configuration(finished, tmp_path):
    """The job of one of two shards fails after an edit: the next run makes it, and what follows from it."""
    finished.config["keyphrases"] = {"max_phrases": 3}
    run_with_failures(finished, "extract_keyphrases", "SIGKILL", spares=str(tmp_path / "spared"))
    planned = finished.planned(TABLE)
    assert planned["extract_keyphrases"] == 1
    assert planned["rewrite_reviews"] == 2  # of that shard
    finished.make(TABLE)
    phrases = [table_metadata(file)["max_phrases"] for file in finished.folder.glob("results/keyphrases/00?.parquet")]
    assert phrases == [3, 3]
    assert NOTHING in finished.ask("--dry-run", TABLE)


def test_an_edit_reaches_results_without_snakemakes_records(finished, tmp_path):
    """The same jobs as with them: of the text, of the models, of a threshold, and of nothing."""
    moved = Project(tmp_path / "moved", finished.config)
    shutil.copytree(finished.folder, moved.folder, symlinks=True)
    shutil.rmtree(moved.folder / ".snakemake")
    assert NOTHING in moved.ask("--dry-run")
    edits = [
        ("similarity", "threshold", 0.97),
        ("corpus", "max_words", 90),
        ("contrasts", "draws", 300),
        ("mauve", "seeds", 3),
    ]
    for section, key, value in edits:
        old = dict(finished.config[section])
        finished.config[section][key] = value
        assert moved.planned() == finished.planned() != {}
        assert TOLD in moved.ask("--dry-run")
        assert TOLD not in finished.ask("--dry-run")
        finished.config[section] = moved.config[section] = old
    # what is deleted between others is not missed, and what it was made by still counts
    shutil.rmtree(moved.folder / "results/spectra")
    shutil.rmtree(moved.folder / "results/models")
    assert NOTHING in moved.ask("--dry-run")


def test_a_file_that_another_configuration_made_is_made_again(finished, tmp_path):
    """As where shards are put together from two runs."""
    shard = "results/similarity/front/001.parquet"
    other = Project(tmp_path / "other", {**finished.config, "seed": 7})
    copy_workflow(other.folder)
    other.make(shard)
    path = finished.folder / shard
    key = recorded_key(path)
    shutil.copy2(other.folder / shard, path)
    assert recorded_key(path) != key
    assert finished.planned()["score_similarity"] == 1


def test_a_report_tells_what_is_not_of_its_configuration(finished):
    finished.config["similarity"]["threshold"] = 0.97
    printed = finished.make("--rerun-triggers", "mtime", "--forcerun", "make_report")
    assert TOLD in printed
    assert "Not made again" in printed
    report = Path(finished.folder, "results/report.html").read_text("utf-8")
    assert "Not of this configuration" in report
    assert "tables/acceptance.csv" in report.split("Not of this configuration")[1][:5000]
