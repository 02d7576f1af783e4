"""Measures by the definitions; and those of three made-up reviews of a model of two blocks, as the files of a job."""

import numpy as np
import polars as pl
from hypothesis import strategies as st

from examples import example_table
from homogenization.measures.attention import ATTENTION_SCHEMA, profile
from homogenization.measures.measure import MATRICES_SCHEMA, matrix_rows
from homogenization.measures.reviews import measured_table
from homogenization.metrics.attention import ATTENTION_METRICS, ReceivedAttention
from homogenization.metrics.geometry import TokenMatrix
from homogenization.run.parquet import write_table
from homogenization.tables.metrics import METRICS_SCHEMA, VALUES_SCHEMA
from stored import uniform_attention

REVIEWS = ("a", "b", "c")
PLACES = (("residual_stream", 0), ("residual_stream", 2), ("final_norm", 2))


def states(review, layer):
    n = {"a": 6, "b": 9, "c": 5}[review]
    return np.random.default_rng([ord(review), layer]).standard_normal((n, 7))


def matrices_of(reviews=REVIEWS):
    rows = [
        {"review_id": review, "point": point, "layer": layer, "n_tokens": len(states(review, layer)), "width": 7, **row}
        for point, layer in PLACES
        for review in reviews
        for row in matrix_rows(TokenMatrix(states(review, layer)), ("raw", "unit_without_first"))
    ]
    return measured_table(rows, MATRICES_SCHEMA, {"model": "m", "variant": "front"}, 2)


def received_by(review, layer):
    n = len(states(review, 0))
    received = np.random.default_rng([ord(review), layer]).dirichlet(np.ones(n)) * n
    return ReceivedAttention(received, uniform_attention(n), np.array([0.2, 0.4]))


def attention_of(reviews=REVIEWS):
    rows = []
    for layer in (1, 2):
        for review in reviews:
            attention = received_by(review, layer)
            numbers = {name: metric.compute(attention) for name, metric in ATTENTION_METRICS.items()}
            lists = {name: profile(getattr(attention, name), 4) for name in ("received", "uniform")}
            place = {"review_id": review, "layer": layer, "n_tokens": len(attention.received)}
            rows.append(place | numbers | lists)
    return measured_table(rows, ATTENTION_SCHEMA, {"model": "m", "variant": "front"}, 2)


def metric_rows(
    values, metric="normalized_effective_rank", view="raw", variant="original", model="m", point="residual_stream"
):
    """Rows of tables/metrics.parquet from (reviews, layers) values, of all layers from the input to the last."""
    review, layer = (index.ravel() for index in np.indices(values.shape))
    names = {"model": model, "variant": variant, "review_id": [f"r{number:03d}" for number in review]}
    names |= {"point": point, "view": view, "metric": metric}
    depth = layer / (values.shape[1] - 1)
    return example_table(VALUES_SCHEMA, **names, layer=layer, depth=depth, value=values.ravel())


def wide_of(values):
    """The table `metrics` whose values (`VALUES_SCHEMA`) these are."""
    tokens = pl.col("view").replace({"all_tokens": "raw", "without_first": "raw_without_first"})
    keys = [name for name in VALUES_SCHEMA if name not in ("metric", "value")]
    wide = values.with_columns(tokens).pivot("metric", index=keys, values="value")
    missing = [pl.lit(None, dtype).alias(name) for name, dtype in METRICS_SCHEMA.items() if name not in wide.columns]
    return wide.with_columns(missing).select(*METRICS_SCHEMA).cast(METRICS_SCHEMA)


def accepted(*reviews, variant="front"):
    """The table `similarity` of a variant in which these of the three are accepted."""
    rows = [(variant, review, review in reviews) for review in REVIEWS]
    return pl.DataFrame(rows, schema=["variant", "review_id", "accepted"], orient="row")


def written(folder, *tables):
    """The paths of files that hold these tables."""
    paths = [str(folder / f"{sum(1 for _ in folder.iterdir()) + number}.parquet") for number in range(len(tables))]
    for path, table in zip(paths, tables, strict=True):
        write_table(table, path)
    return paths


def plain_numbers(tokens):
    """Of (n, d) tokens by the definitions: a loop over pairs' worth of cosines, and the SVD."""
    tokens = np.asarray(tokens, dtype=np.float64)
    if len(tokens) == 0:
        return [np.nan] * 3
    norms = np.linalg.norm(tokens, axis=1)
    units = tokens / np.where(norms > 0, norms, 1)[:, None]
    above = np.triu_indices(len(tokens), k=1)
    cosine = (units @ units.T)[above].mean() if len(tokens) > 1 else np.nan
    values = np.linalg.svd(tokens, compute_uv=False)
    return [norms.mean(), cosine, values[0] ** 2 / (values**2).sum() if values.any() else np.nan]


_DEGENERATE = {
    "zeros": lambda random, n, width: np.zeros((n, width)),
    "equal rows": lambda random, n, width: np.tile(random.standard_normal(width), (n, 1)),
    "two rows": lambda random, n, width: random.standard_normal((2, width))[random.integers(0, 2, n)],
    "nearly equal rows": lambda random, n, width: 1 + 1e-7 * random.standard_normal((n, width)),
    "rank one": lambda random, n, width: np.outer(random.standard_normal(n), random.standard_normal(width)),
    "equal eigenvalues": lambda random, n, width: np.linalg.qr(random.standard_normal((200, 200)))[0][:n, :width],
    "pairs of equal eigenvalues": lambda random, n, width: np.eye(n, width) * (1 + np.arange(n) // 2)[:, None],
    "few numbers": lambda random, n, width: random.integers(-1, 2, (n, width)).astype(float),
    "a massive first token": lambda random, n, width: random.standard_normal((n, width)) * ([[1e6]] + [[1]] * (n - 1)),
    "rows of any length": lambda random, n, width: (
        random.standard_normal((n, width)) * 10.0 ** random.uniform(-6, 6, (n, 1))
    ),
    "columns of any length": lambda random, n, width: (
        random.standard_normal((n, width)) * 10.0 ** random.uniform(-6, 6, width)
    ),
}
_SIZES = st.one_of(st.integers(1, 4), st.integers(5, 150))


@st.composite
def degenerate_tokens(draw):
    """float32 tokens (n, width) on which solvers fail where any do; the smallest ones are subnormal."""
    kind, n, width = draw(st.sampled_from(sorted(_DEGENERATE))), draw(_SIZES), draw(_SIZES)
    scale = draw(st.sampled_from([1.0, 1e-43, 1e-30, 1e30]))
    tokens = _DEGENERATE[kind](np.random.default_rng(draw(st.integers(0, 1000))), n, width) * scale
    return tokens.astype(np.float32)
