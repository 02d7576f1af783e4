"""One small run from raw reviews to the report: cells of its tables as transformers and numpy say."""

import numpy as np
import polars as pl
import pytest

from claimed_rows import rows_of_claims
from conftest import SMALL
from homogenization.config.study import load_study
from homogenization.states.store import open_store
from plain_numbers import compare_with_tables

VARIANTS = ("front", "original")


def test_every_compared_cell_of_the_small_run(finished_run):
    """Two reviews of each variant: 3 metrics at 4 layers and the final norm, with and without the first token."""
    results = finished_run / "results"
    for variant in ("original", "front"):
        n_compared = compare_with_tables(results, results / "models/tiny", "tiny", variant, n_reviews=2)
        assert n_compared == 2 * (5 * (2 + 2) + 3)


def test_every_claim_of_the_small_run_has_its_row_with_the_same_verdict(finished_run):
    """No variant has enough accepted reviews here: numbers of the originals alone are tested."""
    assert rows_of_claims(load_study(SMALL), finished_run / "results/tables") >= 3


def test_the_small_run_ends_with_its_report(finished_run):
    assert (finished_run / "results/report.html").stat().st_size > 1_000_000
    assert (finished_run.parent / "printed").read_text().splitlines()[-1] == "Report   results/report.html"


def test_examples_are_those_of_the_results_and_their_states_those_of_the_stores(finished_run):
    """The reviews by an independent sort; norms, cosines and numbers of a text from its stored states, with numpy."""
    results = finished_run / "results"
    texts, tokens = (pl.read_parquet(results / f"examples/tiny.{name}.parquet") for name in ("texts", "tokens"))
    metrics = pl.read_parquet(results / "tables/metrics.parquet").filter(
        point="residual_stream", layer=3, metric="resultant_length", view="all_tokens"
    )
    front, original = ({r["review_id"]: r["value"] for r in metrics.filter(variant=v).to_dicts()} for v in VARIANTS)
    words = {v: dict(_texts(results, v)) for v in VARIANTS}
    changed = [name for name in front if words["front"][name].split() != words["original"][name].split()]
    ranked = sorted((front[name] - original[name], name) for name in changed)
    ends = ranked[0], ranked[(len(ranked) - 1) // 2], ranked[-1]
    chosen = texts.filter(variant="front").select("difference", "review_id").rows()
    assert [name for _, name in chosen] == [name for _, name in ends]
    assert [value for value, _ in chosen] == pytest.approx([value for value, _ in ends], abs=1e-15)
    for text in texts.iter_rows(named=True):
        assert text["tokens"][0] == "<s>"
        assert text["outside"] == [True] + [False] * (len(text["tokens"]) - 1)
        assert words[text["variant"]][text["review_id"]].startswith("".join(text["tokens"][1:]))
        shard = next(s for s in ("000", "001") if text["review_id"] in _ids(results / f"corpus/{s}.parquet"))
        with open_store(results / "states/tiny" / text["variant"] / f"{shard}.zarr.zip") as store:
            place = store.review_ids.index(text["review_id"])
            span = slice(*store.review_offsets[place : place + 2].tolist())
            assert text["n_tokens"] == span.stop - span.start
            received = store.attention_received()
            for row in tokens.filter(variant=text["variant"], review_id=text["review_id"]).iter_rows(named=True):
                states = store.residual_stream(row["layer"], span).astype(np.float64)
                units = states / np.linalg.norm(states, axis=1)[:, None]
                shown = len(text["tokens"])
                np.testing.assert_allclose(row["norm"], np.linalg.norm(states, axis=1)[:shown], rtol=2e-7)
                np.testing.assert_allclose(row["cosine_to_first"], (units @ units[0])[:shown], atol=2e-7)
                pairs = (units @ units.T)[np.triu_indices(min(64, shown))]
                np.testing.assert_allclose(row["cosines"], pairs, atol=2e-7)
                if row["layer"]:
                    n = len(states)
                    uniform = [np.sum(1 / np.arange(j, n + 1)) for j in range(1, shown + 1)]
                    expected = received[row["layer"] - 1, span][:shown] / uniform
                    np.testing.assert_allclose(row["attention"], expected, rtol=1e-6)


def _texts(results, variant):
    for path in sorted((results / "variants" / variant).glob("*.parquet")):
        yield from pl.read_parquet(path).select("review_id", "text").rows()


def _ids(path):
    return pl.read_parquet(path)["review_id"].to_list()
