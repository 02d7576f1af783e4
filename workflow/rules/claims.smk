# Tables of metrics -> contrasts, depth, components, the first token, what metrics answer to -> verdicts.


rule compute_common_length:
    input:
        states="<results>/states/{model}/{variant}/{shard}.zarr.zip",
    output:
        spectra="<results>/common_length/{model}/{variant}/{shard}.spectra.parquet",
        geometry="<results>/common_length/{model}/{variant}/{shard}.geometry.parquet",
    log:
        "<logs>/common_length/{model}/{variant}/{shard}.log",
    conda:
        "../../envs/homogenization.yaml"
    resources:
        runtime=per_attempt(240),
    params:
        code=code("compute_common_length"),
        n_tokens=STUDY.contrasts.common_tokens,
        draws=4,
        seed=STUDY.seed,
        views=sorted(STUDY.views),
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
    conda:
        "../../envs/homogenization.yaml"
    resources:
        mem_mb=per_attempt(2000 + 60 * len(STUDY.jobs)),
    params:
        code=code("tabulate_common_length"),
        jobs=STUDY.jobs,
        metrics=STUDY.contrasted_metrics,
    script:
        "../scripts/tabulate_common_length.py"


rule test_contrasts:
    input:
        metrics="<results>/tables/metrics.parquet",
        common="<results>/tables/common_length.parquet" if STUDY.contrasts.common_tokens else [],
    output:
        contrasts="<results>/tables/contrasts.parquet",
    log:
        "<logs>/tables/test_contrasts.log",
    conda:
        "../../envs/homogenization.yaml"
    resources:
        mem_mb=per_attempt(4000 + 60 * len(STUDY.jobs)),
        runtime=per_attempt(120),
    params:
        code=code("test_contrasts"),
        contrasts=sorted(STUDY.contrasted),
        metrics=STUDY.contrasted_metrics,
        draws=STUDY.contrasts.draws,
        confidence=STUDY.contrasts.confidence,
        seed=STUDY.seed,
    script:
        "../scripts/test_contrasts.py"


rule measure_depth:
    input:
        metrics="<results>/tables/metrics.parquet",
    output:
        depth="<results>/tables/depth.parquet",
    log:
        "<logs>/tables/measure_depth.log",
    conda:
        "../../envs/homogenization.yaml"
    resources:
        mem_mb=per_attempt(4000 + 60 * len(STUDY.jobs)),
        runtime=per_attempt(120),
    params:
        code=code("measure_depth"),
        metrics=STUDY.contrasted_metrics,
        draws=STUDY.contrasts.draws,
        confidence=STUDY.contrasts.confidence,
        seed=STUDY.seed,
    script:
        "../scripts/measure_depth.py"


rule correlate_first_token:
    input:
        metrics="<results>/tables/metrics.parquet",
    output:
        first_token="<results>/tables/first_token.parquet",
    log:
        "<logs>/tables/correlate_first_token.log",
    conda:
        "../../envs/homogenization.yaml"
    resources:
        mem_mb=per_attempt(4000 + 60 * len(STUDY.jobs)),
        runtime=per_attempt(120),
    params:
        code=code("correlate_first_token"),
        draws=STUDY.contrasts.draws,
        confidence=STUDY.contrasts.confidence,
        seed=STUDY.seed,
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
    conda:
        "../../envs/homogenization.yaml"
    threads: lambda wildcards: {"cpu": 1, "auto": 4}.get(model_of(wildcards).device, 2)
    resources:
        mem_mb=lambda wildcards, attempt: ask.extraction_memory(model_of(wildcards), attempt),
        runtime=lambda wildcards, attempt: ask.extraction_runtime(model_of(wildcards), STUDY.corpus.shard_size, attempt),
        gpu=lambda wildcards: ask.gpus(model_of(wildcards)),
    params:
        code=code("extract_components"),
        model=lambda wildcards: {"name": wildcards.model} | model_of(wildcards).params(),
        variant=lambda wildcards: wildcards.variant,
        shard=lambda wildcards: wildcards.shard,
    script:
        "../scripts/extract_components.py"


rule tabulate_components:
    input:
        components=[
            f"<results>/components/{model}/{variant}/{shard}.parquet" for model, variant, shard in STUDY.component_jobs
        ],
        similarity="<results>/tables/similarity.parquet",
    output:
        components="<results>/tables/components.parquet",
    log:
        "<logs>/tables/tabulate_components.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("tabulate_components"),
        jobs=STUDY.component_jobs,
    script:
        "../scripts/tabulate_components.py"


rule probe_metrics:
    output:
        sensitivity="<results>/tables/sensitivity.parquet",
        responses="<results>/tables/sensitivity.csv",
    log:
        "<logs>/tables/probe_metrics.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("probe_metrics"),
        shape=STUDY.sensitivity.params() if STUDY.sensitivity else {},
        seed=STUDY.seed,
    script:
        "../scripts/probe_metrics.py"


rule judge_claims:
    input:
        metrics="<results>/tables/metrics.parquet",
        similarity="<results>/tables/similarity.parquet",
        components="<results>/tables/components.parquet" if STUDY.component_jobs else [],
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
    conda:
        "../../envs/homogenization.yaml"
    resources:
        mem_mb=per_attempt(4000 + 60 * len(STUDY.jobs)),
        runtime=per_attempt(120),
    params:
        code=code("judge_claims"),
        claims=STUDY.judged_claims,
        models=sorted(STUDY.models),
        draws=STUDY.contrasts.draws,
        confidence=STUDY.contrasts.confidence,
        seed=STUDY.seed,
    script:
        "../scripts/judge_claims.py"
