"""Which components of a block move an anisotropy most."""

import numpy as np
import polars as pl

from homogenization.claims.evidence import Evidence, Found, narrowed
from homogenization.claims.terms import Claim, UnavailableError, is_pooled
from homogenization.measures.views import ROWS_OF
from homogenization.statistics.resampling import weighted_means
from homogenization.tables.components import STREAM_METRICS

COMPONENT_GROUPS = {  # name in claims -> components of tables/components.parquet, whose changes are summed
    "residual": ("attention_addition", "feed_forward_addition", "addition"),
    "attention": ("attention",),
    "feed_forward": ("feed_forward",),
    "norm": ("norm_1", "post_norm_1", "norm_2", "post_norm_2"),
}
_GROUP_OF = {name: group for group, names in COMPONENT_GROUPS.items() for name in names}


def in_words(claim: Claim) -> str:
    """The lead, in which sense."""
    return f"lead{' in influence' * (claim['by'] == 'influence')} over the other components"


def measure(claim: Claim, model: str, evidence: Evidence) -> Found:
    """The lead of the named components of a block over all others.

    It is the smallest mean contribution of a named one minus the largest of another, averaged over layers and reviews.

    Raises:
        UnavailableError: the study takes no blocks of the model apart on the variant or in the view, or its blocks lack
            a component.
    """
    # blocks are taken apart text by text: of the thesis's convention they have the centred view alone
    view, metric = "centred" if is_pooled(claim) else claim["view"], claim["metric"]
    rows = _rows_of(claim, model, evidence, view)
    contributions = _contributions(rows, claim["by"])
    groups = contributions.columns[1:]
    missing = [name for name in claim["largest"] if name not in groups]
    others = [name for name in groups if name not in claim["largest"]]
    if missing or not others:
        lacking = f"no component '{missing[0]}'" if missing else "no other component"
        raise UnavailableError(f"the model's blocks have {lacking}")
    named, rest = ([groups.index(name) for name in names] for names in (claim["largest"], others))

    def lead(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        means = weighted_means(values, weights)
        return means[:, named].min(axis=1) - means[:, rest].max(axis=1)

    found = evidence.over_reviews(lead, contributions.select(groups).to_numpy())
    if claim["by"] == "influence":  # sizes without a sign do not add up to the change over depth
        return found
    of_stream = (ROWS_OF.get(view, view), STREAM_METRICS[metric]) if metric in STREAM_METRICS else (view, metric)
    size, n_blocks = evidence.size(model, *of_stream), rows["layer"].n_unique()
    return found | {name: whole / n_blocks for name, whole in size.items()}  # the lead is that of one block


def _rows_of(claim: Claim, model: str, evidence: Evidence, view: str) -> pl.DataFrame:
    """Rows of the table `components` of the claim's variant and metric."""
    if evidence.components is None:
        raise UnavailableError("the study takes no blocks apart")
    variant, metric = claim["variant"], claim["metric"]
    lacking = f"the study takes no blocks of this model apart on the variant '{variant}'"
    return narrowed(
        evidence.components.filter(model=model, metric=metric),
        ("variant", variant, lacking),
        ("view", view, f"the study has no view '{view}' of the components' {metric}"),
    )


def _contributions(rows: pl.DataFrame, by: str) -> pl.DataFrame:
    """review_id and the mean contribution over blocks of each group of components, a column each."""
    change = pl.col("change").sum()
    return (
        rows.with_columns(pl.col("component").replace_strict(_GROUP_OF).alias("group"))
        .group_by("review_id", "layer", "group")
        .agg(change.abs() if by == "influence" else change)
        .filter(pl.col("change").is_not_nan())
        .sort("review_id", "layer")  # sums in another order round differently
        .pivot("group", index="review_id", values="change", aggregate_function="mean", sort_columns=True)
        .fill_null(np.nan)
    )
