"""The part of the configuration on analyses: of the states, of consequences; claims and figures."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, field_validator

from homogenization.config.claims import load_all_claims
from homogenization.config.models import OfVariants
from homogenization.config.paths import InputPath, readable
from homogenization.metrics.catalogue import METRIC_NAMES
from homogenization.run.sections import Section, names_of, once, refused, without_nulls
from homogenization.variants.ratings import readings


def _with_the_original(why: str) -> Any:
    """A validator: the original is among the names."""
    return refused(lambda names: "original" not in names, "{} lack 'original', which " + why + "; add it")


Pair = Annotated[
    list[str],
    Field(min_length=2, max_length=2),
    AfterValidator(refused(lambda pair: pair[0] == pair[1], "{} is no pair of two variants; write [variant, minus]")),
]
_STRING = {"type": "string"}
# one file may stand without a list
ClaimsFiles = Annotated[
    list[InputPath] | None,
    BeforeValidator(lambda given: [given] if isinstance(given, str) else given),
    AfterValidator(readable(load_all_claims)),
    WithJsonSchema({"anyOf": [_STRING, {"type": "array", "items": _STRING}, {"type": "null"}]}),
]


class Audit(Section):
    """A blind reading of rewritten sentences by people."""

    ratings: list[InputPath] = Field([])
    """Filled sheets, one CSV file for each reader; without any, the texts are not audited."""

    _ratings = field_validator("ratings")(readable(readings))


class Mauve(Section):
    """MAUVE between consecutive layers, with its split-half null."""

    variants: list[str] | None = Field(None, min_length=1)
    """Variants by name; null: all."""
    n_tokens: int = Field(1000, ge=50)
    """Tokens of each half, drawn from a shard; fewer where it has fewer."""


class Contrasts(Section):
    """Paired differences between variants, review by review, with intervals and tests."""

    pairs: Annotated[list[Pair], AfterValidator(once)] | None = None
    """Pairs [variant, minus]; null: every variant minus `original`, and every variant with controls minus each of \
them ([controls](../docs/texts.md#controls))."""
    metrics: names_of(METRIC_NAMES, 1) | None = None
    """Metrics to contrast; null: those of `metrics` that measure homogenization or attention and do not grow with the \
number of tokens alone."""
    by: str | None = None
    """Column of a local `corpus.source` whose values are groups of reviews, each contrasted beside all of them; null: \
no groups."""
    margin: float = Field(0.02, ge=0, lt=1)
    """Differences are negligible if their 99 % interval lies within this share of the yardstick of the metric in the \
model: the range over the layers of the originals' median, without the first token, or how far reviews lie apart where \
that is more."""
    min_reviews: int = Field(10, ge=6)
    """Fewest reviews, accepted in both variants with texts that differ, with which a comparison is tested, and fewest \
with which an effect or slope of changed attention is; a rewritten variant with fewer accepted ones is not drawn as a \
curve. The p of n reviews can't be below 2 / 2^n: with five, none is below .05."""


class Components(OfVariants):
    """Contributions of attention, feed-forward network and residual connections of each block to anisotropy."""


class Consequences(Section):
    """Texts read untouched and under interventions: what homogenization costs predictions and probes."""

    variants: list[str] | None = Field(None, min_length=1)
    """Variants by name, `original` among them; null: all."""
    n_reviews: int = Field(200, ge=2)
    """Reviews: the first of the sample by rank."""
    conditions: list[str] | None = None
    """Conditions of `interventions` by name, such as `steering-first-0.1-all`; null: all of them. The untouched model \
is always there."""

    _texts = field_validator("variants")(_with_the_original("all others are compared with"))


class Figures(Section):
    """Style and labels of figures; an edit reruns no computation."""

    style: Literal["report", "paper"] = "report"
    """`paper`: as wide as a column (one panel) or a page, 8 pt text, without title and note, which stand in the \
metadata of SVG and PDF."""
    labels: dict[str, str] = Field({})
    """Name of a model or variant in every figure and on every page of the report; tables keep the key."""

    _names = field_validator("labels", mode="before")(without_nulls)
