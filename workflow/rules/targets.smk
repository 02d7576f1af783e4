# Transitional: goes when rule files collect their own outputs.
SAMPLES = over_jobs("<results>/samples/{model}/{variant}/{shard}.zarr.zip") if STUDY.states.sample_tokens else []
TABLES = [
    f"<results>/tables/{table}"
    for table in (
        "similarity.parquet",
        "acceptance.csv",
        *(["candidates.parquet", "rewriting.csv"] if STUDY.written else []),
        "placement.parquet",
        "metrics.parquet",
        "summary.parquet",
        "summary.csv",
        "mauve.parquet",
        *(["attention.parquet"] if STUDY.states.record_attention else []),
        "cosines.parquet",
        "extraction.parquet",
        *(["contrasts.parquet"] if STUDY.contrasted and STUDY.contrasted_metrics else []),
        *(
            ["common_length.parquet"]
            if STUDY.contrasted and STUDY.contrasted_metrics and STUDY.contrasts.common_tokens
            else []
        ),
        "depth.parquet",
        *(["first_token.parquet"] if STUDY.correlates_first_token else []),
        *(["components.parquet"] if STUDY.component_jobs else []),
        *(["sensitivity.parquet", "sensitivity.csv"] if STUDY.sensitivity else []),
        *(["claims.csv", "verdicts.csv"] if STUDY.judged_claims else []),
    )
]
FIGURES = [
    f"<results>/figures/{figure}.{suffix}"
    for figure in (
        *(f"metrics/{metric}" for metric in STUDY.tabulated_metrics),
        "mauve",
        "cosine_histogram",
        *(
            ["first_token"]
            if {
                "first_token_norm",
                "other_token_norm",
                "first_token_energy_share",
                "first_token_attention_share",
                "cosine_to_first_token",
            }
            & set(STUDY.tabulated_metrics)
            else []
        ),
        *(["attention_profile", "attention_heatmap"] if STUDY.states.record_attention else []),
        *(["similarity", "placement"] if STUDY.rewritten else []),
        *([f"contrasts/{metric}" for metric in STUDY.contrasted_metrics] if STUDY.contrasted else []),
        *(["first_token_scatter"] if STUDY.correlates_first_token else []),
        *(["components"] if STUDY.component_jobs else []),
        *(["sensitivity"] if STUDY.sensitivity else []),
        *(["claims"] if STUDY.judged_claims else []),
    )
    for suffix in ("svg", "png")
]
# what the report shows
REPORTED = FIGURES + [
    f"<results>/tables/{table}"
    for table in (
        "acceptance.csv",
        *(["rewriting.csv"] if STUDY.written else []),
        *(["claims.csv", "verdicts.csv"] if STUDY.judged_claims else []),
    )
]
