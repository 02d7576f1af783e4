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
