# Tables of metrics -> contrasts, depth, components, the first token, what metrics answer to -> verdicts.


rule compute_common_length:
    input:
        states="<results>/states/{model}/{variant}/{shard}.zarr.zip",
    output:
        spectra="<results>/common_length/{model}/{variant}/{shard}.spectra.parquet",
        geometry="<results>/common_length/{model}/{variant}/{shard}.geometry.parquet",
    log:
        "<logs>/common_length/{model}/{variant}/{shard}.log",
    benchmark:
        "<benchmarks>/common_length/{model}/{variant}/{shard}.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(2000),
        runtime=per_attempt(240),
    params:
        code=code("compute_common_length"),
        n_tokens=CONFIG.contrasts.common_tokens,
        draws=4,
        seed=CONFIG.seed,
        views=sorted(CONFIG.views),
    message:
        "Singular values and geometry of a common number of tokens: {wildcards.model}, {wildcards.variant}, shard {wildcards.shard}"
    script:
        "../scripts/compute_common_length.py"


rule tabulate_common_length:
    input:
        spectra=over_jobs("<results>/common_length/{model}/{variant}/{shard}.spectra.parquet"),
        geometry=over_jobs("<results>/common_length/{model}/{variant}/{shard}.geometry.parquet"),
        similarity="<results>/tables/similarity.parquet",
    output:
        common="<results>/tables/common_length.parquet",
    log:
        "<logs>/tables/tabulate_common_length.log",
    benchmark:
        "<benchmarks>/tables/tabulate_common_length.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(2000 + 60 * len(JOBS)),
        runtime=per_attempt(60),
    params:
        code=code("tabulate_common_length"),
        jobs=JOBS,
        metrics=CONTRAST_METRICS,
    message:
        "Computing metrics on a common number of tokens"
    script:
        "../scripts/tabulate_common_length.py"


rule test_contrasts:
    input:
        metrics="<results>/tables/metrics.parquet",
        common="<results>/tables/common_length.parquet" if CONFIG.contrasts.common_tokens else [],
    output:
        contrasts="<results>/tables/contrasts.parquet",
    log:
        "<logs>/tables/test_contrasts.log",
    benchmark:
        "<benchmarks>/tables/test_contrasts.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(4000 + 60 * len(JOBS)),
        runtime=per_attempt(120),
    params:
        code=code("test_contrasts"),
        contrasts=sorted(CONTRASTS),
        metrics=CONTRAST_METRICS,
        draws=CONFIG.contrasts.draws,
        confidence=CONFIG.contrasts.confidence,
        seed=CONFIG.seed,
    message:
        "Testing differences between variants"
    script:
        "../scripts/test_contrasts.py"


rule measure_depth:
    input:
        metrics="<results>/tables/metrics.parquet",
    output:
        depth="<results>/tables/depth.parquet",
    log:
        "<logs>/tables/measure_depth.log",
    benchmark:
        "<benchmarks>/tables/measure_depth.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(4000 + 60 * len(JOBS)),
        runtime=per_attempt(120),
    params:
        code=code("measure_depth"),
        metrics=CONTRAST_METRICS,
        draws=CONFIG.contrasts.draws,
        confidence=CONFIG.contrasts.confidence,
        seed=CONFIG.seed,
    message:
        "Measuring how metrics change with depth"
    script:
        "../scripts/measure_depth.py"


rule correlate_first_token:
    input:
        metrics="<results>/tables/metrics.parquet",
    output:
        first_token="<results>/tables/first_token.parquet",
    log:
        "<logs>/tables/correlate_first_token.log",
    benchmark:
        "<benchmarks>/tables/correlate_first_token.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(4000 + 60 * len(JOBS)),
        runtime=per_attempt(120),
    params:
        code=code("correlate_first_token"),
        draws=CONFIG.contrasts.draws,
        confidence=CONFIG.contrasts.confidence,
        seed=CONFIG.seed,
    message:
        "Correlating singular anisotropy with the first token"
    script:
        "../scripts/correlate_first_token.py"


rule extract_components:
    input:
        variant="<results>/variants/{variant}/{shard}.parquet",
        weights=weights_of,
    output:
        components="<results>/components/{model}/{variant}/{shard}.parquet",
    log:
        "<logs>/components/{model}/{variant}/{shard}.log",
    benchmark:
        "<benchmarks>/components/{model}/{variant}/{shard}.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: lambda wildcards: {"cpu": 1, "auto": 4}.get(model_of(wildcards).device, 2)
    resources:
        mem_mb=extraction_memory,
        runtime=extraction_runtime,
        gpu=lambda wildcards: gpus_of(model_of(wildcards)),
    params:
        code=code("extract_components"),
        model=lambda wildcards: {"name": wildcards.model} | plain(model_of(wildcards)),
        variant=lambda wildcards: wildcards.variant,
        shard=lambda wildcards: wildcards.shard,
    message:
        "Components of the blocks: {wildcards.model} reads {wildcards.variant}, shard {wildcards.shard}"
    script:
        "../scripts/extract_components.py"


rule tabulate_components:
    input:
        components=[
            f"<results>/components/{model}/{variant}/{shard}.parquet" for model, variant, shard in COMPONENT_JOBS
        ],
        similarity="<results>/tables/similarity.parquet",
    output:
        components="<results>/tables/components.parquet",
    log:
        "<logs>/tables/tabulate_components.log",
    benchmark:
        "<benchmarks>/tables/tabulate_components.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(4000),
        runtime=per_attempt(60),
    params:
        code=code("tabulate_components"),
        jobs=COMPONENT_JOBS,
    message:
        "Collecting what each component contributes"
    script:
        "../scripts/tabulate_components.py"


rule probe_metrics:
    output:
        sensitivity="<results>/tables/sensitivity.parquet",
        responses="<results>/tables/sensitivity.csv",
    log:
        "<logs>/tables/probe_metrics.log",
    benchmark:
        "<benchmarks>/tables/probe_metrics.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(2000),
        runtime=per_attempt(60),
    params:
        code=code("probe_metrics"),
        shape=plain(CONFIG.sensitivity) if CONFIG.sensitivity else {},
        seed=CONFIG.seed,
    message:
        "Trying the metrics on matrices of known kinds"
    script:
        "../scripts/probe_metrics.py"


rule judge_claims:
    input:
        metrics="<results>/tables/metrics.parquet",
        similarity="<results>/tables/similarity.parquet",
        components="<results>/tables/components.parquet" if COMPONENT_JOBS else [],
    output:
        claims=report(
            "<results>/tables/claims.csv",
            caption="../report/claims.rst",
            category="Claims",
            labels={"table": "every claim and model"},
        ),
        verdicts="<results>/tables/verdicts.csv",
    log:
        "<logs>/tables/judge_claims.log",
    benchmark:
        "<benchmarks>/tables/judge_claims.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(4000 + 60 * len(JOBS)),
        runtime=per_attempt(120),
    params:
        code=code("judge_claims"),
        claims=CLAIMS,
        models=sorted(MODELS),
        draws=CONFIG.contrasts.draws,
        confidence=CONFIG.contrasts.confidence,
        seed=CONFIG.seed,
    message:
        "Judging the published claims"
    script:
        "../scripts/judge_claims.py"
