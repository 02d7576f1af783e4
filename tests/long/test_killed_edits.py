"""An edit, then a job that is killed, then the same command: all that the edit reaches is made anew, in every stage."""

import pytest

from conftest import ROOT, Project, with_changes
from homogenization.run.parquet import table_metadata


def run_with_kills(project: Project, script: str, spares: str = "") -> None:
    """Run, and kill the jobs of a script as they start, but for one where `spares` names a folder to make."""
    kill = {"FAILING": script, "FAILING_SPARES": spares, "PYTHONPATH": str(ROOT / "tests/failing_jobs")}
    done = project.run("--cores", "2", "--keep-going", **kill)
    assert done.returncode == 1, done.stdout
    assert "SIGKILL" in done.stdout


@pytest.mark.parametrize(
    ("changes", "rule", "script"),
    [
        ({"corpus.max_words": 380}, "sample_corpus", "sample_corpus"),
        ({"keyphrases.max_phrases": 3}, "extract_keyphrases", "extract_keyphrases"),
        ({"variants.front.phrases": "other"}, "rewrite_reviews", "rewrite_reviews"),
        ({"similarity.layer": 2}, "score_similarity", "score_similarity"),
        ({"models.tiny.weights.seed": 1}, "build_random_model", "build_random_model"),
        ({"models.tiny.bos": "never"}, "extract_states", "extract_states"),
        ({"mauve.n_tokens": 150}, "compute_mauve", "measure"),
        ({"similarity.threshold": 0.6}, "collect_texts", "tabulate"),
        ({"contrasts.margin": 0.03}, "estimate", "tabulate"),
        ({"figures.labels": {"tiny": "Tiny"}}, "plot_states", "plot"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_an_edit_reaches_is_planned_again(finished, changes, rule, script):
    finished.config = with_changes(finished.config, changes)
    planned = finished.planned()
    assert rule in planned
    run_with_kills(finished, script)
    again = finished.planned()
    assert again[rule] == planned[rule]
    assert again["make_report"] == 1
    assert again.keys() <= planned.keys()  # jobs of other branches were done


def test_shards_are_all_of_one_configuration(finished, tmp_path):
    """Of two shards, one is made and one is killed after an edit: the same command makes it, and what follows."""
    finished.config["keyphrases"] = {"max_phrases": 3}
    run_with_kills(finished, "extract_keyphrases", spares=str(tmp_path / "spared"))
    assert finished.planned()["extract_keyphrases"] == 1
    finished.make()
    phrases = [table_metadata(file)["max_phrases"] for file in finished.folder.glob("results/keyphrases/00?.parquet")]
    assert phrases == [3, 3]
    assert "Nothing to be done" in finished.ask("--dry-run")
