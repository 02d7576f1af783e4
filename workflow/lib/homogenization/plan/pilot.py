"""The pace of jobs, from a timed pilot: how long one takes to start, and how long for each token."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from homogenization.run.files import read_json


@dataclass(frozen=True)
class Pace:
    """Time of a job: `start` + `token` × its tokens.

    Attributes:
        start: seconds that a job takes whatever its texts: libraries, weights, the check of the model.
        token: seconds for each token.
    """

    start: float
    token: float

    def hours(self, n_jobs: int, n_tokens: int) -> float:
        """Hours of jobs that read `n_tokens` tokens together, one job after the other."""
        return (n_jobs * self.start + n_tokens * self.token) / 3600


def pace(timed: Sequence[tuple[int, float]]) -> Pace:
    """The line through two jobs: tokens and seconds of the smaller and of the larger one.

    Neither part is negative: where the clock is coarser than the difference, all the time is that of the start or all
    is that of the tokens.
    """
    (few, seconds), (many, seconds_of_many) = timed
    token = max((seconds_of_many - seconds) / (many - few), 0.0)
    start = seconds_of_many - token * many
    return Pace(start, token) if start > 0 else Pace(0.0, seconds_of_many / many)


def paces_of(
    timed: Mapping[str, Sequence[str]], records: Sequence[str | Path], benchmarks: Sequence[str | Path]
) -> dict[tuple[str, str], Pace]:
    """The pace of each kind of job that a pilot timed, by model and work.

    Args:
        timed: The kinds of jobs of each model.
        records: Run records of each model, over the smaller and over the larger part of the reviews.
        benchmarks: What Snakemake's directive `benchmark` wrote of two jobs over these, for each model and kind.
    """
    tokens = [read_json(record)["n_tokens"] for record in records]
    seconds = [pl.read_csv(benchmark, separator="\t")["s"].item() for benchmark in benchmarks]
    kinds = [(model, work, 2 * number) for number, (model, works) in enumerate(timed.items()) for work in works]
    return {
        (model, work): pace([*zip(tokens[record:][:2], seconds[2 * number :][:2], strict=True)])
        for number, (model, work, record) in enumerate(kinds)
    }
