"""One small run from raw reviews to the report: cells of its tables as transformers and numpy say."""

import json
import re

import polars as pl

from homogenization.tables.metrics import values_of
from plain_numbers import compare_with_tables

VARIANTS = ("front", "original")


def test_every_compared_cell_of_the_small_run(finished_run):
    """Two reviews of each variant: 2 metrics with and without the first token, n, and attention in 3 blocks."""
    results = finished_run / "results"
    for variant in ("original", "front"):
        n_compared = compare_with_tables(results, results / "models/tiny", "tiny", variant, n_reviews=2)
        assert n_compared == 2 * (5 * (2 + 2 + 1) + 3)


def test_the_small_run_ends_with_its_report(finished_run):
    assert (finished_run / "results/report.html").stat().st_size > 100_000
    assert "Report   results/report.html" in (finished_run.parent / "printed").read_text().splitlines()


def test_the_report_shows_the_reviews_of_an_independent_sort(finished_run):
    results = finished_run / "results"
    metrics = values_of(pl.read_parquet(results / "tables/metrics.parquet")).filter(
        point="residual_stream", layer=3, metric="first_token_attention_share", view="all_tokens"
    )
    front, original = ({r["review_id"]: r["value"] for r in metrics.filter(variant=v).to_dicts()} for v in VARIANTS)
    words = {v: dict(_texts(results, v)) for v in VARIANTS}
    changed = [name for name in front if words["front"][name].split() != words["original"][name].split()]
    ranked = sorted((front[name] - original[name], name) for name in changed)
    ends = ranked[0], ranked[(len(ranked) - 1) // 2], ranked[-1]
    page = (results / "report.html").read_text("utf-8")
    data = json.loads(re.search(r'id="text-data">(.*?)</script>', page, re.DOTALL)[1])
    assert [name for name, _ in data["reviews"]] == [name for _, name in ends]
    for review_id, of_variants in data["texts"]["tiny"].items():
        for variant, text in of_variants.items():
            assert text["outside"] == [1] + [0] * (len(text["tokens"]) - 1)
            assert words[variant][review_id].startswith("".join(text["tokens"]))


def _texts(results, variant):
    for path in sorted((results / "variants" / variant).glob("*.parquet")):
        yield from pl.read_parquet(path).select("review_id", "text").rows()
