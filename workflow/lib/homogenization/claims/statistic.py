"""What every statistic of claims has: its keys, how it is measured, and the name of what is measured.

Every parse of the Snakefile imports this module and the package `claims.statistics`. So what takes long to import
(polars, scipy) is imported where a claim is measured.
"""

from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator

from homogenization.claims.measurement import Claim, Measurement
from homogenization.measures.views import VIEWS
from homogenization.metrics.catalogue import METRIC_NAMES, describe_metric
from homogenization.names.variants import CONTROL_ROLES
from homogenization.run.errors import nearest
from homogenization.run.sections import Name, Section, one_of

if TYPE_CHECKING:
    from homogenization.claims.evidence import Evidence

AT_LAYERS = {  # layers that are averaged -> where a mean is taken
    "all": "over all layers",
    "first": "in the first layers",
    "middle": "in the middle layers",
    "last": "in the last layers",
    "input": "at the input",
    "output": "at the output",
}
SINCE = {"input": (0, "at the input"), "first block": (1, "after the first block")}  # -> layer, in words


def views_of(metric: str) -> tuple[str, ...]:
    """The views of a metric, its first one first: a metric of the spectrum has every view."""
    return describe_metric(metric).views or tuple(VIEWS)


def _metric(name: str) -> str:
    one_of(METRIC_NAMES)([name])
    return name


MetricName = Annotated[str, AfterValidator(_metric)]
Layers = Literal["all", "first", "middle", "last", "input", "output"]
Subtracted = Annotated[str, Field(pattern=rf"^([A-Za-z0-9][A-Za-z0-9._-]*|({'|'.join(CONTROL_ROLES)}) control)$")]


class Statistic(Section):
    """Keys of a statistic of claims, and what is done with a claim that names it."""

    in_thesis: ClassVar[bool] = False
    """Whether it can be taken in the convention of the thesis too."""
    of_model: ClassVar[bool] = True
    """Whether each model has its own; otherwise it is one of the texts alone, or of several models."""
    has_criterion: ClassVar[bool] = True
    """Whether a claim states a bound; otherwise the statistic has to be above 0."""
    texts: ClassVar[tuple[str, ...]] = ("variant",)
    """The keys that name variants of which enough reviews have to be accepted."""
    quantity: ClassVar[str]
    """What the criterion applies to, in words."""

    @classmethod
    def metrics_read(cls, claim: Claim) -> set[str]:
        """The metrics of tables/metrics.parquet that a claim needs."""
        return {claim[key] for key in ("metric", "with_metric") if key in claim}

    @classmethod
    def in_words(cls, claim: Claim) -> str:
        """The quantity that the criterion of a claim applies to: `mean difference at the output`."""
        return cls.quantity

    @classmethod
    @abstractmethod
    def measure(cls, claim: Claim, model: str | None, evidence: "Evidence") -> Measurement:
        """The statistic of a model; None for one of no single model.

        Raises:
            UnavailableError: the study lacks what the claim is about.
        """


class OfMetric(Statistic):
    """A metric of every review, at one point of the blocks and in one view."""

    metric: MetricName
    """Name of a metric."""
    view: str | None = Field(None, validate_default=True)
    """View; null: the first that the metric has (`raw`, `all_tokens`)."""
    variant: Name = "original"
    """Variant whose values count."""

    @field_validator("view")
    @classmethod
    def view_of_metric(cls, view: str | None, info: ValidationInfo) -> str | None:
        """Spectral metrics have every view, the others their own."""
        if "metric" not in info.data:
            return view
        metric = info.data["metric"]
        allowed = views_of(metric)
        if view is not None and view not in allowed:
            raise ValueError(f"{metric} has no view {view!r}{nearest(view, allowed)}; allowed: {', '.join(allowed)}")
        return view or allowed[0]


class OverLayers(Statistic):
    """Values of every review, averaged over layers."""

    layers: Annotated[list[Layers], BeforeValidator(lambda given: [given] if isinstance(given, str) else given)] = (
        Field(["all"], min_length=1)
    )
    """`first`, `middle` and `last`: depth in [0, .25), [.25, .75), [.75, 1]; `input` and `output`: the layer before the
    first block, and the one after the last; their mean counts. Of several names, each has its verdict."""

    @field_validator("layers")
    @classmethod
    def each_once(cls, layers: list[str]) -> list[str]:
        """No name of layers stands twice."""
        if len(set(layers)) < len(layers):
            raise ValueError(f"{layers} names layers twice; name each once")
        return layers

    @classmethod
    def in_words(cls, claim: Claim) -> str:
        """The quantity and the layers over which it is averaged."""
        return f"{cls.quantity} {AT_LAYERS[claim['layers']]}"


class AtLayers(OfMetric, OverLayers):
    """A metric of every review, averaged over layers, at one point of the blocks."""

    point: Literal["residual_stream", "final_norm"] = "residual_stream"
    """Where states are read."""


def without_first(claim: Claim) -> Claim | None:
    """The claim with the first token left out of its metric; None where it is already, or there is no such view."""
    view = "without_first" if claim["view"] == "all_tokens" else f"{claim['view']}_without_first"
    return {**claim, "view": view} if view in views_of(claim["metric"]) else None
