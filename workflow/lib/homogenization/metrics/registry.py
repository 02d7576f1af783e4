"""The record of a metric: a function under a name, with the title, label and bounds that figures show."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

ALL_TOKENS = "all_tokens"
WITHOUT_FIRST = "without_first"
BOTH = (ALL_TOKENS, WITHOUT_FIRST)


def view_without_first(view: str) -> str:
    """The view that leaves out the first token and is else as `view`."""
    return WITHOUT_FIRST if view == ALL_TOKENS else f"{view}_{WITHOUT_FIRST}"


@dataclass(frozen=True)
class Metric:
    """A registered metric.

    Attributes:
        name: its name in the configuration and in every table.
        compute: the metric, NaN where it is undefined: of a `SpectrumBatch`, a `TokenMatrix` or a `ReceivedAttention`.
        title: title of its figure; `label` is that of its axis, with the symbol or the unit.
        bounds: smallest and largest possible value; None where there is none.
        views: the views that it is computed for; empty for a spectral metric, which is computed for every view.
        homogenization: direction of its change when tokens grow alike: 1 up, -1 down, 0 none.
        with_length: what a larger number of tokens of the same kind does to it (tests/library/metrics/test_length.py):
            `same`; `changes` (its mean over texts, by more than half of its spread); or `grows` by itself, so that it
            can't compare texts of different lengths.
    """

    name: str
    compute: Callable[..., Any]
    title: str
    label: str
    with_length: Literal["same", "changes", "grows"]
    bounds: tuple[float | None, float | None] = (None, None)
    views: tuple[str, ...] = ()
    homogenization: int = 0

    @property
    def extensive(self) -> bool:
        """Whether it grows with the number of tokens by itself."""
        return self.with_length == "grows"

    @property
    def depends_on_length(self) -> bool:
        """Whether it changes with the number of tokens alone."""
        return self.with_length != "same"


def registrar(registry: dict[str, Metric]) -> Callable[..., Callable]:
    """A decorator factory that enters metrics in `registry` under the name of the decorated function.

    The decorator takes the fields of `Metric` besides `name` and `compute`.
    """

    def metric(**described: Any) -> Callable:
        def register(compute: Callable) -> Callable:
            name = compute.__name__
            registry[name] = Metric(name=name, compute=compute, **described)
            return compute

        return register

    return metric
