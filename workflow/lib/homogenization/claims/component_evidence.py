"""What a claim about the components of a block is judged by."""

from collections.abc import Callable

import numpy as np
import polars as pl

from homogenization.claims.evidence import Evidence
from homogenization.claims.measurement import NO_SIZE, Claim, Measurement, UnavailableError, is_pooled
from homogenization.statistics.resampling import weighted_means

COMPONENT_GROUPS = {  # name in claims -> components of tables/components.parquet, whose changes are summed
    "residual": ("attention_addition", "feed_forward_addition", "addition"),
    "attention": ("attention",),
    "feed_forward": ("feed_forward",),
    "norm": ("norm_1", "post_norm_1", "norm_2", "post_norm_2"),
}
_STREAM_OF = {  # metric and view of a component -> those of tables/metrics.parquet
    ("singular_anisotropy", "all_tokens"): ("max_explainable_variance", "raw"),
    ("singular_anisotropy", "without_first"): ("max_explainable_variance", "raw_without_first"),
    ("singular_anisotropy", "centred"): ("max_explainable_variance", "centred"),
}


def measure_component(claim: Claim, model: str, evidence: Evidence) -> Measurement:
    """The lead of the named components of a block over all others.

    It is the smallest mean contribution of a named one minus the largest of another, averaged over layers and reviews.

    Raises:
        UnavailableError: the study takes no blocks of the model apart on the variant or in the view, or its blocks lack
            a component.
    """
    contributions, n_blocks = _contributions(claim, model, evidence)
    groups = contributions.columns[1:]
    missing = [name for name in claim["largest"] if name not in groups]
    others = [name for name in groups if name not in claim["largest"]]
    if missing or not others:
        lacking = f"no component '{missing[0]}'" if missing else "no other component"
        raise UnavailableError(f"the model's blocks have {lacking}")
    named = [groups.index(name) for name in claim["largest"]]
    rest = [groups.index(name) for name in others]
    values = contributions.select(groups).to_numpy()

    def of(rows: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        def lead(weights: np.ndarray) -> np.ndarray:
            means = weighted_means(values[rows], weights)
            return means[:, named].min(axis=1) - means[:, rest].max(axis=1)

        return lead

    # the lead is that of one block, and depth has all of them; sizes without a sign do not add up to what depth does
    size = evidence.size(model, *_stream_of(claim)).per(n_blocks) if claim["by"] == "rise" else NO_SIZE
    return evidence.over_reviews(of, len(values), size)


def _view_of_component(claim: Claim) -> str:
    """Blocks are taken apart text by text: of the thesis's convention they have the centred view alone."""
    return "centred" if is_pooled(claim) else claim["view"]


def _stream_of(claim: Claim) -> tuple[str, str]:
    """View and metric of the residual stream that a component's anisotropy is that of."""
    view = _view_of_component(claim)
    metric, view = _STREAM_OF.get((claim["metric"], view), (claim["metric"], view))
    return view, metric


def _contributions(claim: Claim, model: str, evidence: Evidence) -> tuple[pl.DataFrame, int]:
    """review_id and the mean contribution over blocks of each group of components, a column each; number of blocks."""
    if evidence.tables.components is None:
        raise UnavailableError("the study takes no blocks apart")
    view = _view_of_component(claim)
    rows = evidence.tables.components.filter(
        pl.col("model") == model, pl.col("variant") == claim["variant"], pl.col("metric") == claim["metric"]
    )
    if rows.is_empty():
        raise UnavailableError(f"the study takes no blocks of this model apart on the variant '{claim['variant']}'")
    rows = rows.filter(pl.col("view") == view)
    if rows.is_empty():
        raise UnavailableError(f"the study has no view '{view}' of the components' {claim['metric']}")
    group_of = {name: group for group, names in COMPONENT_GROUPS.items() for name in names}
    change = pl.col("change").sum()
    table = (
        rows.with_columns(pl.col("component").replace_strict(group_of).alias("group"))
        .group_by("review_id", "layer", "group")
        .agg(change.abs() if claim["by"] == "influence" else change)
        .filter(pl.col("change").is_not_nan())
        .sort("review_id", "layer")  # sums in another order round differently
        .pivot("group", index="review_id", values="change", aggregate_function="mean", sort_columns=True)
        .fill_null(np.nan)
    )
    return table, rows["layer"].n_unique()
