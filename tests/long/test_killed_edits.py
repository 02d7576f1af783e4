"""An edit, then a job that is killed, then the same command: all that the edit reaches is made anew, in every stage."""

from conftest import ROOT, Project
from homogenization.run.parquet import table_metadata
from kill_and_resume import jobs_of
from loaded_rules import rules_of


def run_with_kills(project: Project, script: str, spares: str = "") -> None:
    """Run, and kill the jobs of a script as they start, but for one where `spares` names a folder to make."""
    kill = {"FAILING": script, "FAILING_SPARES": spares, "PYTHONPATH": str(ROOT / "tests/failing_jobs")}
    done = project.run("--cores", "2", "--keep-going", **kill)
    assert done.returncode == 1, done.stdout
    assert "SIGKILL" in done.stdout


def test_the_files_of_every_stage_are_targets(finished):
    """Snakemake removes the files of a job that fails: a missing target is made again, by whatever command follows."""
    (target,) = (rule for rule in rules_of(finished.config) if rule.name == "all")
    targets = {str(file) for file in target.input}
    assert [job for job in jobs_of(finished.folder).values() if targets.isdisjoint(job.outputs)] == []


def test_an_edit_of_the_last_stage_is_planned_again(finished):
    finished.config["figures"] = {"labels": {"tiny": "Tiny"}}
    run_with_kills(finished, "plot")
    assert finished.planned() == {"plot_states": 1, "plot_contrasts": 1, "make_report": 1}


def test_shards_are_all_of_one_configuration(finished, tmp_path):
    """Of two shards, one is made and one is killed after an edit: the same command makes it, and what follows."""
    finished.config["keyphrases"] = {"max_phrases": 3}
    run_with_kills(finished, "extract_keyphrases", spares=str(tmp_path / "spared"))
    assert finished.planned()["extract_keyphrases"] == 1
    finished.make()
    phrases = [table_metadata(file)["max_phrases"] for file in finished.folder.glob("results/keyphrases/00?.parquet")]
    assert phrases == [3, 3]
    assert finished.planned() == {}
