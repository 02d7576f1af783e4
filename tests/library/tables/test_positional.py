"""How positional attention is: attention of known strength, and where nothing is known."""

import numpy as np
import polars as pl
import pytest
import torch
from scipy.optimize import nnls

from homogenization.corpus.cleaning import clean_text
from homogenization.measures.positional import DICTIONARY, PositionalSums, dictionary_templates, seen_keys
from homogenization.measures.positional_pass import add_attention, positional_sums
from homogenization.run.parquet import write_table
from homogenization.states.attention import AttentionMap
from homogenization.states.long_texts import Texts
from homogenization.states.model import load_model
from homogenization.states.reading import Reading
from homogenization.tables.positional import (
    POSITIONAL_SCHEMA,
    TEMPLATES_SCHEMA,
    best_of_all_subsets,
    head_numbers,
    tabulate,
)

LENGTHS = np.random.default_rng(1).integers(40, 200, 30)
PATTERNS = ("first", "recency_8")


def uniform_rows(rng, seen):
    """Content that is exchangeable over the keys that a query sees: exponential weights, as of random scores."""
    weights = rng.exponential(size=(len(PATTERNS), *seen.shape)) ** 2 * seen
    return weights / weights.sum(axis=-1, keepdims=True)


def read(strength, causal=True, window=None, lengths=LENGTHS, seed=0):
    """Sums of (1 - strength) content + strength pattern, a pattern for each head; with strength * TV(pattern, U)."""
    sums, rng = PositionalSums(), np.random.default_rng(seed)
    distance, n_queries = np.zeros(len(PATTERNS)), 0
    for rank, n in enumerate(lengths):
        tokens = np.arange(n)
        seen = seen_keys(tokens, tokens, causal, window)
        named = dict(zip(DICTIONARY, dictionary_templates(tokens, tokens, seen), strict=True))
        patterns = np.stack([named[name] for name in PATTERNS])
        patterns = np.where(patterns.sum(axis=-1, keepdims=True) > 0, patterns, named["uniform"])  # key 0 out of sight
        weights = torch.from_numpy((1 - strength) * uniform_rows(rng, seen) + strength * patterns)
        add_attention(sums, AttentionMap(0, 0, int(n), 0, 0, causal, weights, window), rank)
        distance += np.abs(patterns - named["uniform"]).sum(axis=(1, 2)) / 2
        n_queries += n - causal
    return sums, strength * distance / n_queries


def numbers_of(sums):
    return head_numbers(sums.by_head[0], sums.by_position[0])


@pytest.mark.parametrize("strength", [0.0, 0.1, 0.4, 0.8])
@pytest.mark.parametrize(("causal", "window"), [(True, None), (False, None), (True, 32)])
def test_attention_of_known_strength(strength, causal, window):
    sums, expected = read(strength, causal, window)
    found = numbers_of(sums)
    np.testing.assert_allclose(found["positional_mass"], expected, atol=0.03)
    np.testing.assert_allclose(found["null_mass"], 0, atol=0.03)
    assert (found["total_mass"] >= found["positional_mass"]).all()
    np.testing.assert_allclose(found["ratio"], found["positional_mass"] / found["total_mass"])


def test_the_dictionary_finds_the_pattern_and_its_strength():
    found = numbers_of(read(0.4)[0])
    np.testing.assert_allclose(found["lambda_dictionary"], 0.4, atol=0.03)
    for head, name in enumerate(PATTERNS):
        assert found[f"weight_{name}"][head] == pytest.approx(0.4, abs=0.05)
    weights = sum(found[f"weight_{name}"] for name in DICTIONARY)
    np.testing.assert_allclose(weights, 1)


def test_explained_variance_is_that_of_the_logarithms_and_no_strength():
    """Pure position explains all of it; content alone nothing, or less, since its mean is noise in the other half."""
    sums = PositionalSums()
    for rank, n in enumerate(LENGTHS[:6]):
        scores = np.where(np.tril(np.ones((n, n))) > 0, 3.0 * (np.arange(n) == 0), -np.inf)
        weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
        add_attention(sums, AttentionMap(0, 0, int(n), 0, 0, True, torch.from_numpy(weights[None]), None), rank)
    # the logarithm less its mean over the query's keys depends on the query within its bin, a little
    assert numbers_of(sums)["r2_log"] == pytest.approx([1], abs=0.02)
    assert numbers_of(read(0.0)[0])["r2_log"] == pytest.approx([0, 0], abs=0.02)


def test_noise_is_not_position():
    """Two short reviews: fitted on the reviews that it is read off, the mass of pure content would be large."""
    draws = [numbers_of(read(0.0, lengths=[20, 20], seed=seed)[0])["positional_mass"].mean() for seed in range(40)]
    sums, _ = read(0.0, lengths=[20, 20])
    excess = np.maximum(sums.by_head[0][0] - sums.by_position[0][-1], 0).sum() / 2 / 38
    assert excess > 0.1
    assert np.mean(draws) == pytest.approx(0, abs=3 * np.std(draws) / np.sqrt(40))


def test_a_study_of_one_review_has_no_second_half():
    found = numbers_of(read(0.4, lengths=[50])[0])
    assert np.isnan([*found["positional_mass"], *found["r2_log"], *found["null_mass"], *found["ratio"]]).all()
    assert np.isfinite([*found["total_mass"], *found["lambda_dictionary"]]).all()


def test_a_trained_model_is_as_positional_with_its_words_in_random_order(stories, imdb):
    """A model of five blocks without a sink: nearly all that it prefers is recency, whatever the words."""
    entry = {"weights": {"path": str(stories)}, "dtype": "float32", "device": "cpu", "bos": "always", "max_tokens": 400}
    model, rng = load_model(entry), np.random.default_rng(0)
    texts = [clean_text(text) for text in pl.read_parquet(imdb)["text"].head(16)]  # the model attends to "<"
    shuffled = [" ".join(rng.permutation(text.split())) for text in texts]
    ranks = {f"r{index}": index for index in range(len(texts))}
    masses, nulls = [], []
    for chosen in (texts, shuffled):
        sums, _ = positional_sums(
            Reading(model, Texts(list(ranks), chosen), {"model": "m", "variant": "v"}, 512, record_attention=True),
            ranks,
        )
        found = PositionalSums.of_table(sums)
        numbers = [head_numbers(found.by_head[block], found.by_position[block]) for block in range(5)]
        masses.append([block["positional_mass"].mean() for block in numbers])
        nulls.append([block["null_mass"].mean() for block in numbers])
    np.testing.assert_allclose(masses, [[0.67, 0.83, 0.65, 0.75, 0.48]] * 2, atol=0.05)
    np.testing.assert_allclose(masses[0], masses[1], atol=0.04)
    np.testing.assert_allclose(nulls, 0, atol=0.03)


def test_tables_of_several_shards_are_those_of_one(tmp_path):
    def files(*parts):
        paths = []
        for shard, (sums, n) in enumerate(parts):
            paths.append(str(tmp_path / f"{len(parts)}-{shard}.parquet"))
            states = {"model": "tiny", "variant": "front", "n_blocks": 2}
            write_table(sums.table(states), paths[-1], {"n_reviews": n, "states": states})
        return tabulate(paths)

    parts = [read(0.4, lengths=LENGTHS[:4], seed=1)[0], read(0.4, lengths=LENGTHS[4:7], seed=2)[0]]
    one = PositionalSums()
    for part in parts:
        one.add(part)
    whole, shards = files((one, 7)), files((parts[0], 4), (parts[1], 3))
    for table, schema, other in zip(whole, (POSITIONAL_SCHEMA, TEMPLATES_SCHEMA), shards, strict=True):
        assert table.schema == pl.Schema(schema)
        numeric = [name for name, dtype in schema.items() if dtype != pl.String]
        np.testing.assert_allclose(table.select(numeric), other.select(numeric), rtol=1e-9, atol=1e-12)
        assert table.select(pl.col(pl.String)).equals(other.select(pl.col(pl.String)))
    heads, templates = whole
    assert heads.select("model", "variant", "block", "depth", "head", "n_reviews").rows() == [
        ("tiny", "front", 1, 0.5, 1, 7),
        ("tiny", "front", 1, 0.5, 2, 7),
    ]
    for column in ("attention", "uniform"):
        sums = templates.group_by("query_bin").agg(pl.col(column).sum())[column]
        np.testing.assert_allclose(sums, 1)
    assert templates.group_by("query_bin").agg(pl.col("n_queries").first())["n_queries"].sum() == sum(LENGTHS[:7]) - 7


def test_a_variant_of_which_nothing_was_read_has_no_rows(tmp_path):
    states = {"model": "tiny", "variant": "front", "n_blocks": 2}
    write_table(PositionalSums().table(states), tmp_path / "none.parquet", {"n_reviews": 0, "states": states})
    heads, templates = tabulate([str(tmp_path / "none.parquet")])
    assert heads.is_empty()
    assert templates.is_empty()


@pytest.mark.parametrize("seed", range(20))
def test_the_best_subset_has_the_weights_of_nnls(seed):
    """With columns that are equal, zero, or a sum of others, too."""
    generator = np.random.default_rng(seed)
    columns = generator.integers(0, 3, (30, 7)).astype(float)
    columns[:, 5], columns[:, 6] = columns[:, 0], 0
    target = columns @ generator.standard_normal(7).clip(0) + 0.1 * generator.random(30)
    expected, found = nnls(columns, target)[0], best_of_all_subsets(columns, target)
    np.testing.assert_allclose(columns @ found, columns @ expected, atol=1e-10)
    assert (found >= 0).all()


def test_weights_are_there_where_nnls_fails(monkeypatch):
    sums, _ = read(0.4)
    expected = numbers_of(sums)

    def failing(*_arguments):
        raise RuntimeError("Maximum number of iterations reached.")

    monkeypatch.setattr("homogenization.tables.positional.nnls", failing)
    found = numbers_of(sums)
    for name in ("lambda_dictionary", *(f"weight_{template}" for template in DICTIONARY)):
        np.testing.assert_allclose(found[name], expected[name], atol=1e-9)
