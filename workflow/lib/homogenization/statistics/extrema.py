"""The table `extrema`: peaks and troughs of metrics over depth, and what differs there."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.signal import find_peaks

from homogenization.metrics.registry import ALL_TOKENS, view_without_first
from homogenization.names.columns import columns, ends_of, with_ends
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.statistics.layers import LayerValues, layer_values
from homogenization.statistics.resampling import Resampling, means, resampled, uniform_weights, weighted_means

PEAK, TROUGH = "peak", "trough"
_SIGNS = {PEAK: 1, TROUGH: -1}
_DRAWS = 1000  # more change an interval of a place by less than a layer
_FLAT = 1e-9  # range over the largest value: less is rounding
_FIRST_TOKEN = ("first_token_energy_share", "first_token_attention_share")
#: A row for each model, variant, view, metric, kind and number: the local extrema of the mean over reviews along the
#: residual stream. Made unless `extrema` is null. [Statistics](statistics.md#extrema) says how they are found.
#: Intervals are percentile intervals.
EXTREMA_SCHEMA = {
    **columns("model", "variant", "view"),
    "metric": pl.String,  #: those that are contrasted
    "kind": pl.String,  #: `peak` or `trough`
    "number": pl.Int32,  #: from 1, by depth, for each kind
    "layer": pl.Int32,  #: where it is
    "base_layer": pl.Int32,  #: the layer from which its prominence is measured
    **with_ends("depth"),  #: layer / number of blocks; the ends are depths that draws find
    #: mean of the metric there; the interval is over the draws that have the extremum, each at its own layer
    **with_ends("height"),
    "prominence": pl.Float64,  #: difference of the metric between the layer and `base_layer`, without its sign
    "prominence_share": pl.Float64,  #: the same over the range of the curve
    "noise": pl.Float64,  #: bound of what the sample's error alone adds to any difference of two layers
    "found_share": pl.Float64,  #: share of the bootstrap draws that have it
    "settled": pl.Boolean,  #: `found_share` is at least `contrasts.confidence`, and `prominence` exceeds `noise`
    #: the difference between the two layers without the first token, as a share of that with it; NaN where the view
    #: leaves it out already, or there is no such view
    **with_ends("remains"),
    **dict.fromkeys(_FIRST_TOKEN, pl.Float64),  #: mean of this metric there; NaN where the study has none
    "n_reviews": pl.Int64,  #: reviews that have a value there
}
SCHEMAS = (EXTREMA_SCHEMA,)


class Extremum(NamedTuple):
    """A local extremum of a curve: the place of the layer, that of the base of its prominence, and the prominence."""

    place: int
    base: int
    prominence: float


def extrema_of(curves: np.ndarray, kind: str, share: float) -> list[list[Extremum]]:
    """Interior peaks or troughs of each of curves (n, layers), in order; the middle of a plateau, the ends never.

    The prominence is the height above the higher of the two lowest points between the extremum and a higher one, or
    the end, on either side (scipy.signal.find_peaks); that point is the base.

    Args:
        curves: finite values.
        kind: `peak` or `trough`.
        share: least prominence, as a share of the curve's range.
    """
    ranges, width = np.ptp(curves, axis=1), curves.shape[1] + 1
    least = np.where(ranges > _FLAT * np.abs(curves).max(axis=1), share * ranges, np.inf)
    # end to end, and between two curves a wall that no search for a base passes
    line = np.pad(_SIGNS[kind] * curves, ((0, 0), (0, 1)), constant_values=np.inf).ravel()
    places, properties = find_peaks(line, height=(None, np.finfo(np.float64).max), prominence=0)
    left, right = properties["left_bases"], properties["right_bases"]
    bases = np.where(line[left] >= line[right], left, right)
    found: list[list[Extremum]] = [[] for _ in curves]
    for place, base, height in zip(places.tolist(), bases.tolist(), properties["prominences"].tolist(), strict=True):
        row = place // width
        if height >= least[row]:
            found[row].append(Extremum(place % width, base % width, height))
    return found


def extrema_table(
    metrics: pl.DataFrame,
    names: Sequence[str],
    prominence: float,
    window: float,
    resampling: Resampling,
) -> pl.DataFrame:
    """Local extrema of the mean over reviews along the residual stream: `EXTREMA_SCHEMA`, sorted by its keys.

    In each bootstrap draw of the reviews, an extremum is the nearest of its kind within `window`. found_share is the
    share of the draws that have one. noise is the quantile `confidence` of the range over layers of a draw's deviation
    from the mean: a simultaneous bound of the error of all differences between two layers. An extremum is settled where
    found_share is at least `confidence` and its prominence exceeds the noise, which no extremum of a flat curve does in
    that share of samples. Place and height have the percentile interval of the draws that have it.

    Args:
        metrics: tables/metrics.parquet.
        names: names of the metrics.
        prominence: least prominence, as a share of the curve's range, in the sample and in each draw.
        window: most distance in depth, or one layer where layers are farther apart.
        resampling: bootstrap draws, of which 1,000 are taken at most, and the level of the intervals.
    """
    stream = metrics.filter(pl.col("point") == RESIDUAL_STREAM, pl.col("metric").is_in([*names, *_FIRST_TOKEN]))
    rows = []
    for (model, variant), table in sorted(stream.partition_by("model", "variant", as_dict=True).items()):
        job = layer_values(table)
        weights = resampling.weights(len(job.review_ids), at_most=_DRAWS)
        for cell, (view, metric) in enumerate(job.cells):
            if metric not in names:
                continue
            told = {"model": model, "variant": variant, "view": view, "metric": metric}
            found = _rows_of_cell(job, cell, (prominence, window), weights, resampling.confidence)
            rows += [told | row for row in found]
    return pl.DataFrame(rows, schema=EXTREMA_SCHEMA)


def _rows_of_cell(
    job: LayerValues, cell: int, search: tuple[float, float], weights: np.ndarray, confidence: float
) -> Iterator[dict[str, Any]]:
    prominence, window = search
    n = len(job.review_ids)
    # some metrics have no value before the first block
    layers = np.flatnonzero(~np.isnan(job.values[cell]).all(axis=0))
    if len(layers) < 3:
        return
    values, depth = job.values[cell][:, layers], job.depth[layers]
    curve, other = weighted_means(values, uniform_weights(n))[0], _bare(job, cell)
    by_kind = {kind: extrema_of(curve[None], kind, prominence)[0] for kind in _SIGNS}
    if not any(by_kind.values()):
        return
    drawn = weighted_means(values, weights)
    drawn = drawn[~np.isnan(drawn).any(axis=1)]
    noise = float(np.quantile(np.ptp(drawn - curve, axis=1), confidence)) if len(drawn) else np.nan
    reach = max(window, np.diff(depth).max()) + _FLAT
    for kind, extrema in by_kind.items():
        places = [[one.place for one in of_draw] for of_draw in extrema_of(drawn, kind, prominence)] if extrema else []
        for number, one in enumerate(extrema, start=1):
            at = _nearest(places, one.place, depth, reach)
            there = at >= 0
            found_share = float(there.mean()) if len(there) else np.nan
            yield {
                "kind": kind,
                "number": number,
                "layer": int(job.layers[layers[one.place]]),
                "base_layer": int(job.layers[layers[one.base]]),
                **ends_of("depth", (depth[one.place], *_interval(depth[at[there]], confidence, exact=True))),
                **ends_of("height", (curve[one.place], *_interval(drawn[there, at[there]], confidence))),
                "prominence": one.prominence,
                "prominence_share": one.prominence / float(np.ptp(curve)),
                "noise": noise,
                "found_share": found_share,
                "settled": found_share >= confidence and one.prominence > noise,
                **ends_of("remains", _remains(values, other[:, layers], one, weights, confidence)),
                **{name: _mean_there(job, name, layers[one.place]) for name in _FIRST_TOKEN},
                "n_reviews": int((~np.isnan(values[:, one.place])).sum()),
            }


def _mean_there(job: LayerValues, metric: str, place: int) -> float:
    """Mean over reviews of a metric of the first token at a layer."""
    values = job.of(ALL_TOKENS, metric)
    return np.nan if values is None else means(values[:, [place]]).item()


def _nearest(places: Sequence[Sequence[int]], own: int, depth: np.ndarray, reach: float) -> np.ndarray:
    """(draws,) the place nearest to `own` among those of each draw, -1 where none is within `reach`."""
    nearest = [min(of_draw, key=lambda place: abs(depth[place] - depth[own]), default=-1) for of_draw in places]
    found = np.asarray(nearest, dtype=np.int64)
    return np.where((found >= 0) & (np.abs(depth[found] - depth[own]) <= reach), found, -1)


def _interval(drawn: np.ndarray, confidence: float, exact: bool = False) -> tuple[float, float]:
    """The percentile interval of what draws find; an `exact` bound is one of the drawn values."""
    if not len(drawn):
        return np.nan, np.nan
    low, high = ("lower", "higher") if exact else ("linear", "linear")
    levels = (1 - confidence) / 2, (1 + confidence) / 2
    return np.quantile(drawn, levels[0], method=low), np.quantile(drawn, levels[1], method=high)


def _bare(job: LayerValues, cell: int) -> np.ndarray:
    """The values of the cell's metric without the first token; NaN where there is no such view."""
    view, metric = job.cells[cell]
    bare = job.of(view_without_first(view), metric)
    return np.full_like(job.values[cell], np.nan) if bare is None else bare


def _remains(
    values: np.ndarray, bare: np.ndarray, one: Extremum, weights: np.ndarray, confidence: float
) -> tuple[float, float, float]:
    """The share of the prominence, between these two layers, that the metric has without the first token."""

    def share(of: np.ndarray) -> np.ndarray:
        steps = [weighted_means(rows[:, [one.place, one.base]], of) for rows in (bare, values)]
        less, whole = (step[:, 0] - step[:, 1] for step in steps)
        return np.divide(less, whole, out=np.full_like(less, np.nan), where=whole != 0)

    return resampled(share, weights, confidence)


def tabulate(
    metrics: pl.DataFrame,
    names: Sequence[str],
    resampling: Mapping[str, Any],
    prominence: float,
    window: float,
) -> pl.DataFrame:
    """The table `extrema`.

    Args:
        metrics: the table `metrics`.
        names: names of the metrics whose extrema are found.
        resampling: fields of `Resampling`.
        prominence: least prominence, as a share of the curve's range.
        window: most distance in depth of the same extremum in two draws.
    """
    return extrema_table(metrics, names, prominence, window, Resampling(**resampling))
