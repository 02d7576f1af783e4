"""Counts and times of stages."""

from types import SimpleNamespace

import pytest

from snakemake_logger_plugin_stages.stages import ALL, Line, Stages, duration

STAGE_OF = {"clean": "corpus", "extract": "states", "sample": "states", "draw": "figures", "scatter": "figures"}


@pytest.fixture
def clock():
    return SimpleNamespace(now=1000.0)


@pytest.fixture
def stages(clock):
    return Stages(STAGE_OF, lambda: clock.now)


def by_name(stages):
    return {line.name: line for line in stages.lines()}


def run_job(stages, clock, job, rule, seconds):
    stages.start(job, rule)
    clock.now += seconds
    stages.end(job)


def test_only_stages_with_jobs_are_shown_in_their_order_and_targets_count_nowhere(stages):
    stages.plan({"draw": 3, "extract": 2, "all": 1, "total": 6})
    assert [(line.name, line.total) for line in stages.lines()] == [("states", 2), ("figures", 3), (ALL, 5)]
    assert Stages(STAGE_OF).lines() == []


def test_time_left_of_one_job_at_a_time_is_the_mean_times_their_number(stages, clock):
    stages.plan({"clean": 1, "extract": 4})
    stages.start(0, "clean")
    clock.now += 1
    assert {(line.running, line.left) for line in stages.lines()} == {(1, None), (0, None)}  # before a job has ended
    stages.end(0)
    run_job(stages, clock, 1, "extract", 10)
    run_job(stages, clock, 2, "extract", 20)
    lines = by_name(stages)
    assert (lines["states"].left, lines[ALL].left) == (30, 30)
    assert (lines["corpus"].left, lines["corpus"].taken) == (None, 1)
    stages.start(3, "extract")
    clock.now += 10
    assert by_name(stages)["states"].left == 20
    clock.now += 90  # longer than the others took: as if it ended now
    assert by_name(stages)["states"].left == 15


def test_a_rule_without_an_ended_job_is_taken_for_the_mean_of_its_stage(stages, clock):
    stages.plan({"extract": 2, "sample": 3})
    run_job(stages, clock, 0, "extract", 8)
    assert by_name(stages)["states"].left == 8 + 3 * 8
    run_job(stages, clock, 1, "sample", 2)
    assert by_name(stages)["states"].left == 8 + 2 * 2


def test_a_later_stage_waits_for_earlier_ones_and_says_nothing_while_one_of_them_is_unknown(stages, clock):
    stages.plan({"extract": 3, "draw": 2, "clean": 1})
    run_job(stages, clock, 0, "draw", 4)
    assert [line.left for line in stages.lines()] == [None, None, None, 4]
    assert [line.beyond for line in stages.lines()] == [False, False, False, True]
    run_job(stages, clock, 1, "clean", 4)
    run_job(stages, clock, 2, "extract", 10)
    assert [line.left for line in stages.lines()] == [None, 20, 24, 24]
    assert not by_name(stages)[ALL].beyond


@pytest.mark.parametrize("side_by_side", [1, 2, 5])
def test_jobs_of_equal_length_end_when_it_was_said(stages, clock, side_by_side):
    """Waves of jobs side by side: at the end of each wave, the time left is exact."""
    stages.plan({"extract": 10})
    end = clock.now + 10 / side_by_side * 7
    for first in range(0, 10, side_by_side):
        for job in range(first, first + side_by_side):
            stages.start(job, "extract")
        clock.now += 7
        for job in range(first, first + side_by_side):
            stages.end(job)
        assert (by_name(stages)[ALL].left or 0) == pytest.approx(end - clock.now)
    assert by_name(stages)[ALL] == Line(ALL, 10, 10, 0, 0, None, False, pytest.approx(70 / side_by_side))


def test_a_failed_job_counts_as_failed_until_it_is_begun_again(stages):
    stages.plan({"extract": 2})
    for happens, expected in (
        (lambda: stages.start(7, "extract"), (0, 1, 0)),
        (lambda: stages.end(7, failed=True), (0, 0, 1)),
        (lambda: stages.start(7, "extract"), (0, 1, 0)),
        (lambda: stages.end(7), (1, 0, 0)),
    ):
        happens()
        states = by_name(stages)["states"]
        assert (states.done, states.running, states.failed) == expected


def test_after_the_end_nothing_runs_and_nothing_is_left(stages, clock):
    stages.plan({"extract": 4})
    run_job(stages, clock, 0, "extract", 5)
    stages.start(1, "extract")
    stages.stop()
    assert {(line.running, line.left, line.taken) for line in stages.lines()} == {(0, None, None)}


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (Line("states", 1, 4, 1, 0, 75.4, False, None), "1:15 left"),
        (Line(ALL, 1, 4, 1, 0, 75.4, True, None), "more than 1:15 left"),
        (Line("states", 3, 4, 1, 0, 0.0, False, None), "0:01 left"),
        (Line("states", 4, 4, 0, 0, None, False, 3661), "took 1:01:01"),
        (Line("states", 1, 4, 1, 2, 75.0, False, None), "2 failed"),
        (Line("states", 0, 4, 1, 0, None, False, None), ""),
    ],
)
def test_the_words_of_a_line(line, text):
    assert line.cells()[-1] == text


def test_durations_never_show_sixty_seconds():
    assert [duration(seconds) for seconds in (0, 59.6, 3599.7, 100_000)] == ["0:00", "1:00", "1:00:00", "27:46:40"]
