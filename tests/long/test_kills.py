"""A run that is killed or interrupted in every stage on its way, against a quiet run."""

import copy
from pathlib import Path

import pytest

from compare_runs import differences, hidden
from conftest import SMALL, Project, copy_workflow
from kill_and_resume import Kill, jobs_of, kill_and_resume

KILLS = 24  # a few more than there are stages


@pytest.fixture(scope="module")
def killed(finished_run, tmp_path_factory, progress) -> tuple[Path, list[Kill]]:
    """The folder of the killed run, come to its end, and the kills."""
    folder = tmp_path_factory.mktemp("killed") / "project"
    copy_workflow(folder)
    return folder, kill_and_resume(folder, finished_run, kills=KILLS, seed=0, progress=progress)


def test_a_run_killed_in_every_stage_leaves_nothing_half_written(killed, finished_run):
    """SIGKILL or Ctrl-C in every stage: nothing half-written is ever taken for a result, and nothing is left over."""
    folder, kills = killed
    assert len(kills) == KILLS
    assert {kill.job.stage for kill in kills} == {job.stage for job in jobs_of(finished_run).values()}
    assert [broken for kill in kills for broken in kill.not_whole] == []
    assert any(kill.attempts for kill in kills), "no kill came while a file was written"
    assert any(kill.by == "SIGINT" and kill.finished_files for kill in kills), "no Ctrl-C left Snakemake in doubt"
    assert hidden(folder / "results") == []


def test_killed_or_quiet_gives_the_same_results(killed, finished_run):
    """Every file is there with the same values, and no other file is."""
    folder, _ = killed
    assert differences(finished_run / "results", folder / "results") == []


def test_two_runs_with_different_hash_seeds_give_the_same_tables(killed, finished_run):
    """Made from the start, every table holds the same bytes, in whatever order Python's sets are."""
    tables, again = (
        {path.name: path.read_bytes() for path in (folder / "results/tables").iterdir()}
        for folder in (finished_run, killed[0])
    )
    assert tables.keys() == again.keys()
    assert [name for name in tables if tables[name] != again[name]] == []


def test_the_killed_run_is_finished(killed):
    folder, _ = killed
    assert Project(folder, copy.deepcopy(SMALL)).planned() == {}
