"""Which metrics change with the number of tokens alone: texts of 160 tokens, and 60 of the same tokens at random."""

import numpy as np

from homogenization.measures.spectra import singular_values
from homogenization.metrics.attention import ATTENTION_METRICS, ReceivedAttention
from homogenization.metrics.catalogue import METRIC_NAMES, TOKEN_COUNT, describe_metric
from homogenization.metrics.geometry import GEOMETRY_METRICS, TokenMatrix
from homogenization.metrics.registry import ALL_TOKENS
from homogenization.metrics.spectral import SPECTRAL_METRICS, SpectrumBatch, evaluate
from stored import uniform_attention

MANY, FEW, WIDTH, TEXTS, HEADS = 160, 60, 32, 40, 5


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
    """Attention of heads to tokens that differ, wherever they stand."""
    of_token, of_pair = generator.standard_normal((1, 1, MANY)), generator.standard_normal((HEADS, MANY, MANY))
    return np.exp(0.5 * of_token + 0.3 * of_pair)


def token_metrics(texts):
    values = {}
    for name in SPECTRAL_METRICS:
        spectra = [singular_values(tokens, ["raw"])["raw"] for tokens in texts]
        batch = SpectrumBatch(np.stack(spectra), np.full(len(texts), spectra[0].size))
        values[name] = evaluate(name, batch)
    for name, metric in GEOMETRY_METRICS.items():
        # at the layer before, the tokens are in part others
        before = [np.roll(tokens, 1, axis=1) + 2 * tokens for tokens in texts]
        pairs = zip(texts, before, strict=True)
        matrices = [TokenMatrix(tokens, TokenMatrix(then).neighbours) for tokens, then in pairs]
        seen = matrices if metric.views == (ALL_TOKENS,) else [tokens.without_first for tokens in matrices]
        values[name] = np.array([metric.compute(tokens) for tokens in seen])
    return values


def attention_metrics(texts, causal):
    values = {}
    for name, metric in ATTENTION_METRICS.items():
        seen = [received(sinks(weights) if name == "sink_rate" else weights, causal) for weights in texts]
        values[name] = np.array([metric.compute(attention) for attention in seen])
    return values


def sinks(weights):
    """The heads look at the first token, each in its own measure."""
    return weights * np.where(np.arange(weights.shape[-1]) == 0, np.linspace(10, 60, HEADS)[:, None, None], 1)


def received(weights, causal):
    """Of (heads, n, n) weights whose rows are to sum to 1."""
    weights = np.tril(weights) if causal else weights
    weights = weights / weights.sum(axis=-1, keepdims=True)
    uniform = uniform_attention(weights.shape[-1], causal=causal)
    return ReceivedAttention(weights.mean(axis=0).sum(axis=0), uniform, weights[:, :, 0].mean(axis=1))


def moved(many, few):
    """The metrics whose mean over texts moves by more than half the spread over texts, and beyond chance."""
    found = set()
    for name, values in many.items():
        change = values - few[name]
        spread, error = few[name].std(ddof=1), change.std(ddof=1) / np.sqrt(len(change))
        if abs(change.mean()) > 0.5 * spread and abs(change.mean()) > 4 * error:
            found.add(name)
    return found


def test_metrics_that_change_with_the_number_of_tokens_are_marked():
    generator, found = np.random.default_rng(0), set()
    for kind in (noise, cone):
        texts = [kind(generator) for _ in range(TEXTS)]
        found |= moved(token_metrics(texts), token_metrics([tokens[kept(generator)] for tokens in texts]))
    weights = [attention(generator) for _ in range(TEXTS)]
    places = [kept(generator) for _ in range(TEXTS)]
    fewer = [of_text[:, place][:, :, place] for of_text, place in zip(weights, places, strict=True)]
    for causal in (True, False):
        found |= moved(attention_metrics(weights, causal), attention_metrics(fewer, causal))
    assert found | {TOKEN_COUNT} == {name for name in METRIC_NAMES if describe_metric(name).depends_on_length}
