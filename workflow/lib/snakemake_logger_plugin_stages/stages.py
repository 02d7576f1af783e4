"""How far a run is, stage by stage, and when each stage will be done: counts and times, nothing of a terminal."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

ALL = "all"
_WIDTH = 24  # of a bar


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
    running: int = 0
    failed: int = 0
    left: float | None = None
    beyond: bool = False
    taken: float | None = None

    def cells(self) -> tuple[str, ...]:
        """Name, bar, counts, and the time left or taken, as text."""
        bar = "━" * (_WIDTH * self.done // self.total)
        parts = [f"{self.failed} failed"] if self.failed else []
        if self.taken is not None:
            parts.append(f"took {duration(self.taken)}")
        elif self.left is not None and not self.failed:
            parts.append(f"{'more than ' if self.beyond else ''}{duration(max(self.left, 1))} left")
        running = f"{self.running} running" if self.running else ""
        return self.name, bar.ljust(_WIDTH, "╶"), f"{self.done}/{self.total}", running, ", ".join(parts)


def duration(seconds: float) -> str:
    """Minutes and seconds, or hours, minutes and seconds."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


@dataclass
class _Stage:
    planned: Counter[str] = field(default_factory=Counter)  # by rule
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))  # by rule, of jobs done
    failed: set[int] = field(default_factory=set)
    began: float | None = None
    ended: float | None = None

    @property
    def done(self) -> int:
        return sum(map(len, self.seconds.values()))

    def seconds_of_a_job(self, rule: str) -> float | None:
        """Mean of the rule's jobs, or of all jobs of the stage where none of the rule has ended."""
        known = self.seconds.get(rule) or [seconds for others in self.seconds.values() for seconds in others]
        return sum(known) / len(known) if known else None


class Stages:
    """Counts the jobs of a run, from what Snakemake says about each of them.

    Time left is reckoned from the jobs of this run alone: of each rule, the mean of those that have ended, or where
    none has, that of the stage. As many jobs run side by side as did so far, on average. Later stages wait for
    earlier ones.

    Attributes:
        stage_of: the stage of each rule, stages in their order; jobs of other rules are not counted.
        running: of each job that runs, its rule and when it began.
    """

    def __init__(self, stage_of: Mapping[str, str] | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin without a job."""
        self.stage_of = dict(stage_of or {})
        self.running: dict[int, tuple[str, float]] = {}
        self._clock = clock
        self._stages: dict[str, _Stage] = defaultdict(_Stage)
        self._busy = 0.0  # seconds of all ended jobs, also of those that failed
        self._over = False

    def plan(self, jobs: Mapping[str, int]) -> None:
        """Take the number of jobs of each rule; replaces earlier numbers."""
        for stage in self._stages.values():
            stage.planned.clear()
        for rule, number in jobs.items():
            if rule in self.stage_of:
                self._stages[self.stage_of[rule]].planned[rule] = number

    def start(self, job: int, rule: str) -> None:
        """A job begins, perhaps once more after it failed."""
        if rule in self.stage_of:
            stage = self._stages[self.stage_of[rule]]
            stage.failed.discard(job)
            self.running[job] = rule, self._clock()
            stage.began = stage.began or self._clock()

    def end(self, job: int, failed: bool = False) -> None:
        """A job has ended well, or with an error."""
        if job in self.running:
            rule, began = self.running.pop(job)
            stage, now = self._stages[self.stage_of[rule]], self._clock()
            self._busy += now - began
            if failed:
                stage.failed.add(job)
            else:
                stage.ended = now
                stage.seconds[rule].append(now - began)

    def stop(self) -> None:
        """The run is over: nothing runs any more, and nothing is left to wait for."""
        self._over = True
        self.running.clear()

    def lines(self) -> list[Line]:
        """A line for each stage with jobs in this run, in their order, and one for all of them."""
        now = self._clock()
        stages = {name: self._stages[name] for name in dict.fromkeys(self.stage_of.values()) if name in self._stages}
        began = min((stage.began for stage in stages.values() if stage.began), default=now)
        busy = self._busy + sum(now - begin for _, begin in self.running.values())
        side_by_side = max(busy / (now - began), 1.0) if now > began else 1.0
        lines, work, known = [], 0.0, True
        for name, stage in stages.items():
            if not (total := stage.planned.total()):
                continue
            running = {job for job, (rule, _) in self.running.items() if self.stage_of[rule] == name}
            of_stage = self._work_left(stage, running, now)
            known &= of_stage is not None
            work += of_stage or 0.0
            times = {"taken": stage.ended - stage.began if stage.ended else None}
            if stage.done < total:
                times = {"left": work / side_by_side if known and not self._over else None}
            lines.append(Line(name, stage.done, total, len(running), len(stage.failed), **times))
        if not lines:
            return []
        counts = [sum(getattr(line, name) for line in lines) for name in ("done", "total", "running", "failed")]
        if counts[0] == counts[1]:
            return [*lines, Line(ALL, *counts, taken=now - began)]
        return [*lines, Line(ALL, *counts, work / side_by_side if work and not self._over else None, not known)]

    def _work_left(self, stage: _Stage, running: set[int], now: float) -> float | None:
        """Seconds of work of all jobs that have not ended well, one after the other; None without an ended job."""
        work = 0.0
        for rule, planned in stage.planned.items():
            of_a_job = stage.seconds_of_a_job(rule)
            remaining = planned - len(stage.seconds.get(rule, ()))
            if remaining and of_a_job is None:
                return None
            work += remaining * (of_a_job or 0.0)
        # of a job that takes longer than the others, as much is left as of one that has just ended
        begun = (self.running[job] for job in running)
        return max(work - sum(min(now - begin, stage.seconds_of_a_job(rule) or 0.0) for rule, begin in begun), 0.0)
