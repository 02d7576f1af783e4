"""Which metrics change with the number of tokens alone: texts of 160 tokens, and 60 of the same tokens at random."""

import numpy as np
import polars as pl
import pytest

from homogenization.measures.attention import attention_profile, uniform_attention
from homogenization.measures.geometry import token_geometry
from homogenization.measures.spectra import singular_values
from homogenization.metrics.attention import ATTENTION_METRICS
from homogenization.metrics.catalogue import DEPENDS_ON_LENGTH
from homogenization.metrics.geometry import GEOMETRY_METRICS
from homogenization.metrics.spectral import SPECTRAL_METRICS, SpectrumBatch, evaluate
from homogenization.tables.metrics import registered_values

MANY, FEW, WIDTH, TEXTS = 160, 60, 32, 40
KEY = {"model": "m", "variant": "v", "point": "p", "depth": 0.0, "layer": 0}


def kept(generator):
    """The first token and others at random, in their order."""
    return np.sort(np.concatenate([[0], 1 + generator.permutation(MANY - 1)[: FEW - 1]]))


def noise(generator):
    return generator.standard_normal((MANY, WIDTH))


def cone(generator):
    """Few strong directions, a common one, and norms that differ."""
    tokens = noise(generator) * np.arange(1, WIDTH + 1) ** -0.5
    tokens[:, 0] += 1.5
    return tokens * np.exp(0.2 * generator.standard_normal((MANY, 1)))


def attention(generator):
    """Attention to tokens that differ, wherever they stand."""
    return np.exp(0.5 * generator.standard_normal((1, MANY)) + 0.3 * generator.standard_normal((MANY, MANY)))


def received(weights, causal):
    weights = np.tril(weights) if causal else weights
    return (weights / weights.sum(axis=1, keepdims=True)).sum(axis=0)


def token_metrics(texts):
    values = {}
    for name in SPECTRAL_METRICS:
        spectra = [singular_values(tokens, ["raw"])["raw"] for tokens in texts]
        batch = SpectrumBatch(np.stack(spectra), np.full(len(texts), spectra[0].size))
        values[name] = evaluate(name, batch)
    rows = [
        {**KEY, "review_id": str(number), "n_tokens": len(tokens), **token_geometry(tokens)}
        for number, tokens in enumerate(texts)
    ]
    return values | by_metric(rows, GEOMETRY_METRICS)


def by_metric(rows, registry):
    table = pl.DataFrame(rows).with_columns(pl.col("layer").cast(pl.Int32))
    found = registered_values(table, registry, list(registry))
    return {
        name: found.filter(metric=name, view=metric.views[-1])["value"].to_numpy() for name, metric in registry.items()
    }


def attention_metrics(texts, causal):
    rows = [
        {
            **KEY,
            "review_id": str(number),
            "n_tokens": len(weights),
            **attention_profile(received(weights, causal), uniform_attention(len(weights), causal)),
        }
        for number, weights in enumerate(texts)
    ]
    return by_metric(rows, ATTENTION_METRICS)


def moved(many, few):
    """The metrics whose mean over texts moves by more than half the spread over texts, and beyond chance."""
    found = set()
    for name, values in many.items():
        change = values - few[name]
        spread, error = few[name].std(ddof=1), change.std(ddof=1) / np.sqrt(len(change))
        if abs(change.mean()) > 0.5 * spread and abs(change.mean()) > 4 * error:
            found.add(name)
    return found


@pytest.fixture(scope="module")
def dependent():
    generator, found = np.random.default_rng(0), set()
    for kind in (noise, cone):
        texts = [kind(generator) for _ in range(TEXTS)]
        found |= moved(token_metrics(texts), token_metrics([tokens[kept(generator)] for tokens in texts]))
    weights = [attention(generator) for _ in range(TEXTS)]
    places = [kept(generator) for _ in range(TEXTS)]
    fewer = [of_text[np.ix_(place, place)] for of_text, place in zip(weights, places, strict=True)]
    for causal in (True, False):
        found |= moved(attention_metrics(weights, causal), attention_metrics(fewer, causal))
    return found


def test_metrics_that_change_with_the_number_of_tokens_are_marked(dependent):
    assert dependent == DEPENDS_ON_LENGTH
