"""One small run from raw reviews to the report: cells of its tables as transformers and numpy say, what jobs import."""

from plain_numbers import compare_with_tables

NETWORK = {"accelerate", "pydantic", "scipy", "tokenizers", "torch", "transformers"}  # pydantic: sources of weights
SKLEARN = {"pandas", "scipy", "scipy.stats", "sklearn"}  # which imports the others
SEABORN = {"matplotlib", "pandas", "scipy", "scipy.stats", "seaborn"}
# The heavy libraries (run/usage.py) that a rule may import; figures and other rules without an entry: see `allowed`.
MAY_IMPORT = {
    "download_corpus": {"datasets", "pandas", "scipy"},
    "count_document_frequencies": SKLEARN,
    "parse_reviews": {"pydantic", "torch"},  # spaCy's
    "extract_keyphrases": SKLEARN,
    "rewrite_reviews": SKLEARN,
    "score_similarity": {*NETWORK, "bert_score", "matplotlib", "pandas"},
    "build_random_model": NETWORK,
    "extract_states": {*NETWORK, "zarr"},
    "extract_components": NETWORK,
    "apply_interventions": NETWORK,
    "read_consequences": NETWORK,
    "read_examples": {*NETWORK, "zarr"},
    "probe_states": SKLEARN,
    "extract_positional": NETWORK,
    "compute_spectra": {"scipy", "zarr"},
    "compute_common_length": {"scipy", "zarr"},
    "compute_geometry": {"zarr"},
    "compute_pooled": {"scipy", "zarr"},
    "compute_attention": {"zarr"},
    "compute_sinks": {"zarr"},
    "compute_mauve": {*SKLEARN, "zarr"},
    "tabulate_attention": {"scipy"},
    "tabulate_pooled": {"scipy"},
    "tabulate_positional": {"scipy"},
    "tabulate_intervened": {"scipy"},
    "tabulate_summary": {"scipy"},
    "probe_metrics": {"scipy"},
    "measure_depth": {"scipy"},
    "test_contrasts": {"scipy", "scipy.stats"},
    "find_extrema": {"scipy", "scipy.stats"},
    "test_interventions": {"scipy", "scipy.stats"},
    "explain_slopes": {"scipy", "scipy.stats"},
    "predict_variants": {"scipy", "scipy.stats"},
    "test_consequences": {"scipy", "scipy.stats"},
    "judge_claims": {"pydantic", "scipy", "scipy.stats"},  # the keys of claims
    "plot_components": {"matplotlib", "scipy"},
    "plot_attention_heatmap": SEABORN,
    "plot_sensitivity": SEABORN,
}


def test_every_compared_cell_of_the_small_run(finished_run):
    """Two reviews of each variant: 3 metrics at 4 layers and the final norm, with and without the first token."""
    results = finished_run / "results"
    for variant in ("original", "front"):
        n_compared = compare_with_tables(results, results / "models/tiny", "tiny", variant, n_reviews=2)
        assert n_compared == 2 * (5 * (2 + 2) + 3)


def test_the_small_run_ends_with_its_report(finished_run):
    assert (finished_run / "results/report.html").stat().st_size > 1_000_000


def allowed(rule: str) -> set[str]:
    return MAY_IMPORT.get(rule, {"matplotlib"} if rule.startswith("plot_") else set())


def test_jobs_import_no_heavy_library_that_is_new_to_their_rule(finished_run):
    """Imports were half of all computing once. Before you add to `MAY_IMPORT`, see what it costs and how many jobs."""
    imported = {}
    for log in (finished_run / "results/logs").rglob("*.log"):
        first, *_, last = log.read_text().splitlines()
        rule, names = first.removeprefix("INFO rule ").split(",")[0], last.partition("INFO imported ")[2]
        assert names, f"{log} does not end with what the job imported"
        imported.setdefault(rule, set()).update({*names.split(", ")} - {"no heavy library"})
    assert MAY_IMPORT.keys() <= imported.keys()
    assert {rule: names - allowed(rule) for rule, names in imported.items() if names - allowed(rule)} == {}
