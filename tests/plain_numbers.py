"""Numbers of one text by transformers and the script of the benchmarks, and whether final tables hold them."""

import importlib.util
from types import SimpleNamespace

import polars as pl
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from conftest import ROOT
from homogenization.tables.metrics import values_of
from tiny_models import reference

_specification = importlib.util.spec_from_file_location("plain", ROOT / "benchmarks" / "plain.py")
plain_script = importlib.util.module_from_spec(_specification)
_specification.loader.exec_module(plain_script)


def numbers_of(network, token_ids: list[int]) -> dict[tuple[str, int, str, str], float]:
    """Every metric by point, layer, view and name, of transformers' eager attention in a network without its head."""
    expected = reference(network, token_ids)
    stream = [torch.from_numpy(states)[None] for states in expected.residual_stream]
    attention = [torch.from_numpy(weights)[None] for weights in expected.attention]
    points = {"residual_stream": SimpleNamespace(hidden_states=stream, attentions=attention)}
    last = torch.from_numpy(expected.last_hidden_state)[None]
    if not torch.equal(last, stream[-1]):
        points["final_norm"] = SimpleNamespace(hidden_states=[last], attentions=[])
    return {
        (point, row["layer"] if point == "residual_stream" else len(stream) - 1, row["view"], metric): value
        for point, output in points.items()
        for row in plain_script.measure_review(output, list(plain_script.LOOKS))
        for metric, value in row.items()
        if metric not in ("layer", "view")
    }


def compare_with_tables(results, folder, model: str, variant: str, n_reviews: int) -> int:
    """Compare every cell of some reviews, whose tokenizer opens them, and return how many were compared."""
    metrics = values_of(pl.read_parquet(results / "tables/metrics.parquet")).filter(model=model, variant=variant)
    reviews = pl.read_parquet(results / f"variants/{variant}/*.parquet")
    tokenizer, network = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    n_compared = 0
    for review_id in sorted(metrics["review_id"].unique())[:n_reviews]:
        token_ids = tokenizer(reviews.filter(review_id=review_id)["text"].item())["input_ids"]
        assert token_ids[0] in (tokenizer.bos_token_id, tokenizer.cls_token_id)
        expected = numbers_of(network, token_ids)
        for row in metrics.filter(review_id=review_id).iter_rows(named=True):
            key = (row["point"], row["layer"], row["view"], row["metric"])
            assert row["value"] == pytest.approx(expected[key], rel=2e-5, abs=1e-7), key
            n_compared += 1
    return n_compared
