"""The table `extrema`: peaks and troughs of metrics over depth, and what differs there."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy.signal import find_peaks

from homogenization.metrics.registry import ALL_TOKENS, view_without_first
from homogenization.names.columns import columns, ends_of, with_ends
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.statistics.layers import LayerValues, layer_values
from homogenization.statistics.resampling import mean_interval, means
from homogenization.tables.metrics import values_of

_SIGNS = {"peak": 1, "trough": -1}
_FLAT = 1e-9  # range over the largest value: less is rounding
_FIRST_TOKEN = ("first_token_energy_share", "first_token_attention_share")
#: A row for each model, variant, view, metric, kind and layer: the local extrema of the mean over reviews along the
#: residual stream. Made unless `extrema` is null.
EXTREMA_SCHEMA = {
    **columns("model", "variant", "view"),
    "metric": pl.String,  #: those that are contrasted
    "kind": pl.String,  #: `peak` or `trough`
    "layer": pl.Int32,  #: where it is
    "base_layer": pl.Int32,  #: the layer from which its prominence is measured
    **columns("depth"),
    "height": pl.Float64,  #: mean of the metric there
    #: difference of the metric between the layer and `base_layer`, without its sign; the interval of this mean over
    #: reviews knows nothing of the choice of the two layers
    **with_ends("prominence"),
    "prominence_share": pl.Float64,  #: the same over the range of the curve
    #: the difference between the two layers without the first token, as a share of that with it; NaN where the view
    #: leaves it out already, or there is no such view
    "remains": pl.Float64,
    **dict.fromkeys(_FIRST_TOKEN, pl.Float64),  #: mean of this metric there; NaN where the study has none
    "n_reviews": pl.Int64,  #: reviews that have a value there
}
SCHEMAS = {"extrema": EXTREMA_SCHEMA}


def extrema_of(curve: np.ndarray, kind: str, share: float) -> list[tuple[int, int]]:
    """Places of the interior peaks or troughs of a curve (layers,), and of their bases, in order.

    A plateau counts by its middle, the ends never. The prominence is the height above the higher of the two lowest
    points between the extremum and a higher one, or the end, on either side (scipy.signal.find_peaks); that point is
    the base.

    Args:
        curve: finite values.
        kind: `peak` or `trough`.
        share: least prominence, as a share of the curve's range.
    """
    if np.ptp(curve) <= _FLAT * np.abs(curve).max():
        return []
    turned = _SIGNS[kind] * curve
    places, found = find_peaks(turned, prominence=share * np.ptp(curve))
    left, right = found["left_bases"], found["right_bases"]
    bases = np.where(turned[left] >= turned[right], left, right)
    return list(zip(places.tolist(), bases.tolist(), strict=True))


def tabulate(metrics: pl.DataFrame, names: Sequence[str], prominence: float, confidence: float) -> pl.DataFrame:
    """Local extrema of the mean over reviews along the residual stream: the table `extrema` (`EXTREMA_SCHEMA`).

    Args:
        metrics: the table `metrics`.
        names: names of the metrics.
        prominence: least prominence, as a share of the curve's range.
        confidence: level of the intervals.
    """
    wanted = pl.col("metric").is_in([*names, *_FIRST_TOKEN])
    stream = values_of(metrics).filter(pl.col("point") == RESIDUAL_STREAM, wanted)
    rows = [
        {"model": model, "variant": variant, **row}
        for (model, variant), table in sorted(stream.partition_by("model", "variant", as_dict=True).items())
        for row in _rows_of_job(layer_values(table), names, prominence, confidence)
    ]
    return pl.DataFrame(rows, schema=EXTREMA_SCHEMA)


def _rows_of_job(job: LayerValues, names: Sequence[str], share: float, confidence: float) -> Iterator[dict[str, Any]]:
    for cell, (view, metric) in enumerate(job.cells):
        # some metrics have no value before the first block
        layers = np.flatnonzero(~np.isnan(job.values[cell]).all(axis=0))
        if metric not in names or len(layers) < 3:
            continue
        values = job.values[cell][:, layers]
        curve, bare = means(values), job.of(view_without_first(view), metric)
        for kind, sign in _SIGNS.items():
            for place, base in extrema_of(curve, kind, share):
                height = curve[place] - curve[base]
                steps = sign * (values[:, [place]] - values[:, [base]])
                interval = (end.item() for end in mean_interval(steps, confidence))
                less = np.nan if bare is None else np.subtract(*means(bare[:, layers[[place, base]]]))
                yield {
                    "view": view,
                    "metric": metric,
                    "kind": kind,
                    "layer": int(job.layers[layers[place]]),
                    "base_layer": int(job.layers[layers[base]]),
                    "depth": job.depth[layers[place]],
                    "height": curve[place],
                    **ends_of("prominence", (sign * height, *interval)),
                    "prominence_share": abs(height) / np.ptp(curve),
                    "remains": less / height,
                    **{name: _mean_there(job, name, layers[place]) for name in _FIRST_TOKEN},
                    "n_reviews": int((~np.isnan(values[:, place])).sum()),
                }


def _mean_there(job: LayerValues, metric: str, place: int) -> float:
    """Mean over reviews of a metric of the first token at a layer."""
    values = job.of(ALL_TOKENS, metric)
    return np.nan if values is None else means(values[:, [place]]).item()
