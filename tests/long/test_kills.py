"""A run that is killed or interrupted in every stage on its way, against a quiet run."""

import copy

from compare_runs import differences, hidden
from conftest import SMALL, Project, copy_workflow
from kill_and_resume import jobs_of, kill_and_resume


def test_a_run_killed_in_every_stage_leaves_nothing_half_written_and_the_same_results(finished_run, tmp_path):
    """Nothing half-written is ever taken for a result, nothing is left over, and every table holds the same bytes."""
    folder = tmp_path / "project"
    copy_workflow(folder)
    kills = kill_and_resume(folder, finished_run)
    assert {kill.stage for kill in kills} == {job.stage for job in jobs_of(finished_run).values()}
    assert [broken for kill in kills for broken in kill.not_whole] == []
    assert any(kill.attempts for kill in kills), "no kill came while a file was written"
    assert any(kill.moment == "Ctrl-C" and kill.finished_files for kill in kills), "no Ctrl-C left Snakemake in doubt"
    assert hidden(folder / "results") == []
    assert differences(finished_run / "results", folder / "results") == []
    # the runs had different hash seeds
    for table in (finished_run / "results/tables").iterdir():
        assert table.read_bytes() == (folder / "results/tables" / table.name).read_bytes(), table.name
    assert Project(folder, copy.deepcopy(SMALL)).planned() == {}
