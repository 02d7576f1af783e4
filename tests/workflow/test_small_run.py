"""One small run from raw reviews to the report: cells of its tables as transformers and numpy say."""

from plain_numbers import compare_with_tables


def test_every_compared_cell_of_the_small_run(finished_run):
    """Two reviews of each variant: 2 metrics with and without the first token, n, and attention in 3 blocks."""
    results = finished_run / "results"
    for variant in ("original", "front"):
        n_compared = compare_with_tables(results, results / "models/tiny", "tiny", variant, n_reviews=2)
        assert n_compared == 2 * (5 * (2 + 2 + 1) + 3)


def test_the_small_run_ends_with_its_report(finished_run):
    assert (finished_run / "results/report.html").stat().st_size > 100_000
    assert "Report   results/report.html" in (finished_run.parent / "printed").read_text().splitlines()
