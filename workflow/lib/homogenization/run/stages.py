"""How far a run is, stage by stage, and when each stage will be done: counts and times, nothing of a terminal."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

ALL = "all"


@dataclass(frozen=True)
class Line:
    """What is shown of one stage.

    Attributes:
        name: the stage, or `ALL` for the sum of them.
        done: jobs that have ended well.
        total: jobs of this run.
        running: jobs that have begun and not ended.
        failed: jobs that have ended with an error and were not begun again.
        left: seconds until the stage is done; None where there is no telling yet.
        beyond: True where `left` counts only a part of the jobs, because others say nothing about their length yet.
        taken: seconds from the first job's begin to the last one's end; None before all have ended well.
    """

    name: str
    done: int
    total: int
    running: int
    failed: int
    left: float | None
    beyond: bool
    taken: float | None


@dataclass
class _Stage:
    planned: Counter[str] = field(default_factory=Counter)  # by rule
    running: dict[int, tuple[str, float]] = field(default_factory=dict)  # by job: rule, when it began
    done: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)
    seconds: dict[str, list[float]] = field(default_factory=dict)  # by rule: of jobs that have ended well
    began: float | None = None
    ended: float | None = None

    @property
    def total(self) -> int:
        return self.planned.total()

    def seconds_of_a_job(self, rule: str) -> float | None:
        """Mean of the rule's jobs, or of all jobs of the stage where none of the rule has ended."""
        known = self.seconds.get(rule) or [seconds for others in self.seconds.values() for seconds in others]
        return sum(known) / len(known) if known else None

    def work_left(self, now: float) -> float | None:
        """Seconds of work of all jobs that have not ended well, one after the other; None without an ended job."""
        work = 0.0
        for rule, planned in self.planned.items():
            of_a_job = self.seconds_of_a_job(rule)
            remaining = planned - len(self.seconds.get(rule, ()))
            if remaining and of_a_job is None:
                return None
            work += remaining * (of_a_job or 0.0)
        # of a job that takes longer than the others, as much is left as of one that has just ended
        passed = (min(now - began, self.seconds_of_a_job(rule) or 0.0) for rule, began in self.running.values())
        return max(work - sum(passed), 0.0)


class Stages:
    """Counts the jobs of a run, from what Snakemake says about each of them.

    Time left is reckoned from the jobs of this run alone: of each rule, the mean of those that have ended, or where
    none has, that of the stage. As many jobs run side by side as did so far, on average. Later stages wait for
    earlier ones.
    """

    def __init__(self, stage_of: Mapping[str, str], clock: Callable[[], float] = time.monotonic) -> None:
        """Take the stage of each rule, stages in their order; jobs of other rules are not counted."""
        self._stage_of = dict(stage_of)
        self._clock = clock
        self._stages = {name: _Stage() for name in dict.fromkeys(stage_of.values())}
        self._busy = 0.0  # seconds of all ended jobs, also of those that failed
        self._stage_of_job: dict[int, _Stage] = {}
        self._over = False

    def plan(self, jobs: Mapping[str, int]) -> None:
        """Take the number of jobs of each rule; replaces earlier numbers."""
        for stage in self._stages.values():
            stage.planned.clear()
        for rule, number in jobs.items():
            if rule in self._stage_of:
                self._stages[self._stage_of[rule]].planned[rule] = number

    def start(self, job: int, rule: str) -> None:
        """A job begins, perhaps once more after it failed."""
        if rule not in self._stage_of:
            return
        stage = self._stage_of_job[job] = self._stages[self._stage_of[rule]]
        now = self._clock()
        stage.failed.discard(job)
        stage.running[job] = rule, now
        stage.began = now if stage.began is None else stage.began

    def finish(self, job: int) -> None:
        """A job has ended well."""
        stage = self._stage_of_job.get(job)
        if stage is None or job not in stage.running:
            return
        rule, began = stage.running.pop(job)
        stage.ended = self._clock()
        self._busy += stage.ended - began
        stage.seconds.setdefault(rule, []).append(stage.ended - began)
        stage.done.add(job)

    def fail(self, job: int) -> None:
        """A job has ended with an error."""
        stage = self._stage_of_job.get(job)
        if stage is None or job not in stage.running:
            return
        _, began = stage.running.pop(job)
        self._busy += self._clock() - began
        stage.failed.add(job)

    def end(self) -> None:
        """The run is over: nothing runs any more, and nothing is left to wait for."""
        self._over = True
        for stage in self._stages.values():
            stage.running.clear()

    def lines(self) -> list[Line]:
        """A line for each stage with jobs in this run, in their order, and one for all of them."""
        now = self._clock()
        stages = {name: stage for name, stage in self._stages.items() if stage.total}
        side_by_side = self._side_by_side(now)
        lines, work, known = [], 0.0, True
        for name, stage in stages.items():
            of_stage = stage.work_left(now)
            known &= of_stage is not None
            work += of_stage or 0.0
            open_jobs = stage.total > len(stage.done)
            taken = stage.ended - stage.began if not open_jobs and stage.ended is not None else None
            left = work / side_by_side if known and open_jobs and not self._over else None
            counts = (len(stage.done), stage.total, len(stage.running), len(stage.failed))
            lines.append(Line(name, *counts, left, False, taken))
        open_jobs = any(stage.total > len(stage.done) for stage in stages.values())
        left = work / side_by_side if open_jobs and work and not self._over else None
        begins = [stage.began for stage in stages.values() if stage.began is not None]
        taken = now - min(begins) if begins and not open_jobs else None
        counts = (sum(getattr(line, name) for line in lines) for name in ("done", "total", "running", "failed"))
        return [*lines, Line(ALL, *counts, left, not known, taken)] if lines else []

    def _side_by_side(self, now: float) -> float:
        """How many jobs ran at a time, on average since the first began; at least 1."""
        stages = self._stages.values()
        first = min((stage.began for stage in stages if stage.began is not None), default=now)
        running = sum(now - began for stage in stages for _, began in stage.running.values())
        return max((self._busy + running) / (now - first), 1.0) if now > first else 1.0
