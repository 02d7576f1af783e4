"""What tests of statistics share: rows of the tables that statistics read, and the script that writes their tables."""

from dataclasses import asdict, replace
from itertools import permutations
from pathlib import Path

import numpy as np
import polars as pl
from scipy import stats

from examples import example_table
from homogenization.claims.evidence import Evidence
from homogenization.claims.judgement import claims_table, measure
from homogenization.config.claims import Claim
from homogenization.statistics import depth
from homogenization.statistics.contrasts import contrast_table
from homogenization.statistics.estimate import Settings
from homogenization.statistics.resampling import Resampling
from homogenization.tables.comparisons import comparisons_table
from homogenization.tables.components import COMPONENTS_SCHEMA
from homogenization.tables.metrics import VALUES_SCHEMA
from homogenization.tables.similarity import SIMILARITY_SCHEMA
from measured import wide_of
from script import run_script

WORKFLOW = Path(__file__).parents[3] / "workflow"
SCRIPT = WORKFLOW / "scripts" / "tabulate.py"
RANK, COSINE, NORM = "normalized_effective_rank", "cosine_anisotropy", "first_token_norm"
N_REVIEWS, N_BLOCKS = 30, 8
MIN_REVIEWS = 10
MARGIN = 0.02
DRAWS, CONFIDENCE, SEED = 2000, 0.95, 0


def noise(seed, scale=0.1):
    return scale * np.random.default_rng(seed).standard_normal((N_REVIEWS, N_BLOCKS + 1))


def metric_rows(values, metric=RANK, view="raw", variant="original", model="m", point="residual_stream"):
    """Rows of tables/metrics.parquet from (reviews, layers) values, of all layers from the input to the last."""
    review, layer = (index.ravel() for index in np.indices(values.shape))
    names = {"model": model, "variant": variant, "review_id": [f"r{number:03d}" for number in review]}
    names |= {"point": point, "view": view, "metric": metric}
    depth = layer / (values.shape[1] - 1)
    return example_table(VALUES_SCHEMA, **names, layer=layer, depth=depth, value=values.ravel())


def similarity_rows(f1, variant="front", accepted=True):
    names = {"variant": variant, "review_id": [f"r{number:03d}" for number in range(len(f1))], "accepted": accepted}
    return example_table(SIMILARITY_SCHEMA, **names, precision=f1, recall=f1, f1=f1)


def component_rows(changes, metric="cosine_anisotropy", view="all_tokens", model="m", variant="original"):
    """Rows of tables/components.parquet from {component: (reviews, blocks) changes}."""
    parts = []
    for component, of_component in changes.items():
        review, block = (index.ravel() for index in np.indices(of_component.shape))
        names = {"model": model, "variant": variant, "review_id": [f"r{number:03d}" for number in review]}
        names |= {"component": component, "view": view, "metric": metric}
        place = {"layer": block + 1, "depth": (block + 1) / of_component.shape[1]}
        change = of_component.ravel()
        parts.append(example_table(COMPONENTS_SCHEMA, **names, **place, before=0.0, after=change, change=change))
    return pl.concat(parts)


def component_changes(parallel=False):
    """{component: (reviews, blocks) changes}, attention the most and feed-forward the least."""
    generator = np.random.default_rng(0)
    means = {"attention": 0.5, "feed_forward": -0.1, "norm_1": 0.1, "norm_2": 0.15}
    means |= {"addition": 0.4} if parallel else {"attention_addition": 0.1, "feed_forward_addition": 0.3}
    return {name: mean + 0.2 * generator.standard_normal((N_REVIEWS, N_BLOCKS)) for name, mean in means.items()}


def evidence_of(*metrics, similarity=None, draws=DRAWS, variants=None, trained=(), margin=MARGIN, **others):
    """What claims are judged by, with the estimates of all differences and changes; `others` are tables by name."""
    table = pl.concat([pl.DataFrame(schema=VALUES_SCHEMA), *metrics])
    scores = pl.DataFrame(schema=SIMILARITY_SCHEMA) if similarity is None else similarity
    variants = table["variant"].unique().to_list() if variants is None else variants
    if similarity is None:
        accepted = table.filter(pl.col("variant") != "original").select("variant", "review_id").unique()
        scores = pl.concat([scores, accepted.with_columns(accepted=True)], how="diagonal")
    resampling = Resampling(draws, CONFIDENCE, SEED, margin)
    evidence = Evidence(table, scores, resampling, variants, N_REVIEWS, MIN_REVIEWS, trained, **others)
    return replace(evidence, **estimates_of(evidence))


def estimates_of(evidence):
    """The tables `contrasts`, of all pairs of variants, and `depth`, of all metrics."""
    metrics, pooled, resampling = evidence.metrics, evidence.pooled, evidence.resampling
    pairs = list(permutations(sorted(evidence.variants), 2))
    comparisons = comparisons_table(evidence.similarity, pairs, N_REVIEWS, MIN_REVIEWS)
    names = sorted({*metrics["metric"], *(() if pooled is None else pooled["metric"])})
    return {
        "contrasts": contrast_table(metrics, comparisons, evidence.similarity, Settings(**asdict(resampling))),
        "depth": depth.tabulate(wide_of(metrics), pooled, names, asdict(resampling)),
    }


def claim_of(name="c", statement="It is so.", source="s", convention="raw", **measured):
    """A claim as the configuration gives it."""
    conventions = [convention]
    (params,) = Claim(claim=name, statement=statement, source=source, conventions=conventions, **measured).as_params()
    return params


def within_layers(x, y):
    """The mean over layers of the correlation over reviews, one of scipy at a time."""

    def of(x, y):
        there = ~np.isnan(x + y)
        return stats.pearsonr(x[there], y[there]).statistic

    return np.mean([of(x[:, layer], y[:, layer]) for layer in range(x.shape[1])])


def mean_cosine(tokens):
    units = tokens / np.linalg.norm(tokens, axis=1)[:, None]
    return (units @ units.T)[np.triu_indices(len(tokens), 1)].mean()


def run_tabulate(folder, module, inputs, outputs, **params):
    """Run the script of tables in `folder`, as a rule with these inputs, outputs and parameters of a module."""
    named = {path.stem: str(path) for path in outputs}
    run_script("tabulate", folder / "log", inputs, named, {"code": "hash", "tables": {module: params}})


def assert_mean_of(found, values):
    """That what a statistic found is the mean of values of reviews."""
    np.testing.assert_allclose([found["estimate"], found["n_reviews"]], (np.mean(values), len(values)), rtol=1e-9)


def found_in(evidence, model="m", **measured):
    """What the statistic of a claim finds."""
    return measure(claim_of(**measured), model, evidence)


def interval_of(found):
    return tuple(found[name] for name in ("estimate", "ci_low", "ci_high"))


def judged(claims, evidence, models=("m",)):
    return claims_table(claims, models, evidence)


def judged_row(evidence, **measured):
    """The row of one claim on the model m."""
    return judged([claim_of(**measured)], evidence).row(0, named=True)
