"""The kinds of claims and their keys. A kind is a filter: its keys are columns of one table of estimates.

Every parse of the Snakefile imports this module.
"""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from homogenization.interventions.conditions import KINDS, STEERING, UNTOUCHED
from homogenization.interventions.conditions import METRICS as INTERVENED_METRICS
from homogenization.interventions.conditions import VIEWS as INTERVENED_VIEWS
from homogenization.measures.views import VIEWS
from homogenization.metrics.catalogue import METRIC_NAMES, describe_metric
from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST, view_without_first
from homogenization.names.consequences import CROSS_ENTROPY, KL, OUTCOMES, POOLED, PREDICTED, PREDICTIONS, PROBE
from homogenization.names.variants import CONTROL_ROLES
from homogenization.run.errors import nearest
from homogenization.run.sections import Name, Section, once

POOLED_VIEW = "pooled_centred"
CONTROLS = {f"{role} control": role for role in CONTROL_ROLES}  # what `minus` may say in place of a variant
OUTPUT, OTHERS = "output", " − others"
ComponentName = Literal["residual", "attention", "feed_forward", "norm"]

_one_or_more = BeforeValidator(lambda given: [given] if isinstance(given, str) else given)
Views = Annotated[list[str], _one_or_more, Field(min_length=1), AfterValidator(once)]
Layers = Annotated[
    list[Literal["all", "first", "middle", "last", OUTPUT]], _one_or_more, Field(min_length=1), AfterValidator(once)
]
Subtracted = Annotated[str, Field(pattern=rf"^([A-Za-z0-9][A-Za-z0-9._-]*|{'|'.join(CONTROLS)})$")]
_OF_NO_TOKENS = dict.fromkeys((*PREDICTED, KL, CROSS_ENTROPY), (PREDICTIONS,)) | {PROBE: (POOLED,)}


class Kind(Section):
    """The keys of one kind of claims."""

    table: ClassVar[str]
    """The table of estimates whose rows it filters."""

    metric: str
    """Name of a metric."""
    view: Views | None = Field(None, validate_default=True)
    """View, or several; null: without the first token and, beside it, with it, where the metric has both."""
    variant: Name = "original"
    """Variant whose values count."""

    @classmethod
    def views_of(cls, metric: str) -> tuple[str, ...]:
        """The views of a metric in the table, first the one of the tokens as they are."""
        return _OF_NO_TOKENS.get(metric) or describe_metric(metric).views or tuple(VIEWS)

    @field_validator("view")
    @classmethod
    def views_of_the_metric(cls, views: list[str] | None, info: ValidationInfo) -> list[str] | None:
        """A metric has its own views; without the first token is the headline, which comes first."""
        if "metric" not in info.data:
            return views
        metric = info.data["metric"]
        allowed = cls.views_of(metric)
        for view in views or ():
            if view not in allowed:
                hint = nearest(view, allowed)
                raise ValueError(f"{metric} has no view {view!r}{hint}; allowed: {', '.join(allowed)}")
        return views or [view for view in (view_without_first(allowed[0]), allowed[0]) if view in allowed]

    def filters(self) -> list[dict[str, Any]]:
        """Columns and values of each row that is judged: one for each of `layers` and, of these, each view."""
        keys = self.model_dump(mode="json", exclude_none=True)
        views, layers = keys.pop("view"), keys.pop("layers", None)
        places = [{"layers": name} for name in layers] if layers else [{}]
        return [keys | {"view": view} | place for place in places for view in views]


class AtLayers(Kind):
    """An estimate of a mean over layers, and of the layer after the last block."""

    layers: Layers = Field(["all", OUTPUT], validate_default=True)
    """`all`, `first`, `middle`, `last`: means over layers of depth in [0, 1], [0, .25), [.25, .75), [.75, 1]; `output`:
    the layer after the last block. Of several names, each has its verdict."""

    @field_validator("layers")
    @classmethod
    def predictions_stand_at_the_output(cls, layers: list[str], info: ValidationInfo) -> list[str]:
        """Predictions have no layers."""
        return [OUTPUT] if _OF_NO_TOKENS.get(info.data.get("metric")) == (PREDICTIONS,) else layers


class Contrast(AtLayers):
    """The difference between two variants over the reviews whose texts differ."""

    table = "contrasts"
    metric: Literal[(*METRIC_NAMES, *PREDICTED)]
    minus: Subtracted
    """Variant that is subtracted, or the `edge`, `key`, `side` or `rewriting control` of `variant`; `disorder`: the \
difference to the original that disorder of the same loss makes."""


class Depth(Kind):
    """The change of a metric over depth."""

    table = "depth"
    metric: Literal[tuple(METRIC_NAMES)]
    statistic: Literal["slope", "net_change", "net_change_after_first", "steepest"]
    """`slope` of the line over all layers; value at the output minus that at the input, or minus that after the first \
block; `steepest`: the depth at which it changes fastest towards homogenization."""

    @classmethod
    def views_of(cls, metric: str) -> tuple[str, ...]:
        """Those of texts, and that of the tokens of many texts in one centred matrix."""
        return *super().views_of(metric), POOLED_VIEW


class Correlation(Kind):
    """The correlation with the first token over reviews, within layers."""

    table = "depth"
    metric: Literal["max_explainable_variance"]
    with_metric: Literal[
        "first_token_norm", "first_token_norm_ratio", "first_token_energy_share", "first_token_attention_share"
    ]
    """Metric of the first token."""

    def filters(self) -> list[dict[str, Any]]:
        """The table has the other metric as its statistic."""
        return [row | {"statistic": row.pop("with_metric")} for row in super().filters()]


class Effect(AtLayers):
    """The change of a metric by changed attention, minus that by a control."""

    table = "interventions"
    metric: Literal[tuple(INTERVENED_METRICS)]
    kind: Literal[KINDS[1:]] = STEERING
    """What is done to attention."""
    pattern: str | None = None
    """Where attention goes, which keys are masked, or what positions become."""
    strength: float | None = Field(None, gt=0, le=1)
    """Share of the attention that is moved."""
    blocks: str = "all"
    """Blocks whose attention is moved, as the table names them."""
    minus: str = UNTOUCHED
    """`untouched`, or the pattern of a control of the same kind; `removed at equal KL`: at the same damage."""

    @classmethod
    def views_of(cls, metric: str) -> tuple[str, ...]:
        """Those of interventions, of metrics that have more than one view."""
        own = super().views_of(metric)
        return own if len(own) == 1 else INTERVENED_VIEWS


class Harm(Effect):
    """What a text or changed attention costs, minus that of another text, a control or other layers."""

    table = "consequences"
    metric: Literal[OUTCOMES]
    kind: Literal[KINDS] = UNTOUCHED
    """What is done to attention; `untouched`: nothing, two texts are compared."""
    minus: str
    """Of changed attention as of an effect; of an untouched model a variant, or a control of `variant` by its role."""


class Component(Kind):
    """The change of a number from the input to the output of components of a block, mean over the blocks."""

    table = "components"
    metric: Literal["cosine_anisotropy", "singular_anisotropy", "intrinsic_dimension"]
    change: ComponentName | None = None
    """Component whose change it is."""
    largest: list[ComponentName] | None = Field(None, min_length=1, max_length=3)
    """Components that change it more than all others, whatever the sign: the smallest size of theirs minus the \
largest of another."""

    @classmethod
    def views_of(cls, metric: str) -> tuple[str, ...]:
        """Those of components; distances are the same in centred views."""
        centred = ("centred", f"centred_{WITHOUT_FIRST}") if metric.endswith("anisotropy") else ()
        return ALL_TOKENS, WITHOUT_FIRST, *centred

    @model_validator(mode="after")
    def one_question(self) -> Self:
        """It is about the change by one component, or about the largest changes."""
        if (self.change is None) == (self.largest is None):
            raise ValueError("give exactly one of change, largest")
        return self

    def filters(self) -> list[dict[str, Any]]:
        """What a row of their estimates is about, as `claims.components` names it."""
        rows = super().filters()
        for row in rows:
            row["component"] = row.pop("change", None) or ", ".join(row.pop("largest")) + OTHERS
        return rows
