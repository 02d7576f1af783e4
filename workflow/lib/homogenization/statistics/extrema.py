"""The table `extrema`: peaks and troughs of metrics over depth, and what differs there."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from homogenization.metrics.registry import ALL_TOKENS, view_without_first
from homogenization.names.columns import columns
from homogenization.names.points import RESIDUAL_STREAM

_FIRST_TOKEN = ("first_token_norm_ratio", "first_token_energy_share", "first_token_attention_share")
#: A row for each local extremum of the mean over reviews along the residual stream.
EXTREMA_SCHEMA = {
    **columns("model", "variant", "view"),
    "metric": pl.String,  #: those that are contrasted
    "kind": pl.String,  #: `peak` or `trough`
    "layer": pl.Int32,  #: where it is
    "base_layer": pl.Int32,  #: the layer from which its prominence is measured
    **columns("depth"),
    "height": pl.Float64,  #: mean of the metric there
    "prominence": pl.Float64,  #: difference of this mean between the layer and `base_layer`, without its sign
    "prominence_share": pl.Float64,  #: the same over the range of the curve
    #: the difference between the two layers without the first token, as a share of that with it; NaN where the view
    #: leaves it out already, or there is no such view
    "remains": pl.Float64,
    **dict.fromkeys(_FIRST_TOKEN, pl.Float64),  #: mean of this metric there; NaN where the study has none
    "n_reviews": pl.Int64,  #: reviews that have a value there
}
SCHEMAS = {"extrema": EXTREMA_SCHEMA}
_FLAT = 1e-9  # range over the largest value: less is rounding


def tabulate(summary: pl.DataFrame, names: Sequence[str], prominence: float = 0.1) -> pl.DataFrame:
    """Interior peaks and troughs of the curves of `summary`: the table `extrema` (`EXTREMA_SCHEMA`).

    A plateau counts by its middle. The prominence is the height above the higher of the two lowest points between the
    extremum and a higher one, or the end, on either side (scipy.signal.find_peaks); that point is the base.

    Args:
        summary: the table `summary`.
        names: names of the metrics.
        prominence: least prominence, as a share of the curve's range.
    """
    from scipy.signal import find_peaks

    stream = summary.filter(pl.col("mean").is_finite(), point=RESIDUAL_STREAM).sort("layer")
    curves = dict(iter(stream.group_by("model", "variant", "view", "metric", maintain_order=True)))
    means = {(*key, layer): mean for key, rows in curves.items() for layer, mean in rows.select("layer", "mean").rows()}
    rows = []
    for (model, variant, view, metric), curve in sorted(curves.items()):
        values = curve["mean"].to_numpy()
        if metric not in names or np.ptp(values) <= _FLAT * np.abs(values).max():
            continue
        for kind, turned in (("peak", values), ("trough", -values)):
            places, found = find_peaks(turned, prominence=prominence * np.ptp(values))
            for place, *bases in zip(places, found["left_bases"], found["right_bases"], strict=True):
                base = int(max(bases, key=lambda one: turned[one]))
                there, foot = curve.row(place, named=True), curve["layer"][base]
                height, run = values[place] - values[base], (model, variant)
                bare = [(*run, view_without_first(view), metric, layer) for layer in (there["layer"], foot)]
                left = means.get(bare[0], np.nan) - means.get(bare[1], np.nan)
                first = {name: means.get((*run, ALL_TOKENS, name, there["layer"]), np.nan) for name in _FIRST_TOKEN}
                sizes = {"prominence": abs(height), "prominence_share": abs(height) / np.ptp(values)}
                named = {"kind": kind, "base_layer": foot, "height": values[place], "remains": left / height}
                rows.append({name: (there | named | sizes | first)[name] for name in EXTREMA_SCHEMA})
    return pl.DataFrame(rows, schema=EXTREMA_SCHEMA)
