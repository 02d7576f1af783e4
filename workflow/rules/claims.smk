# Metrics on a common number of tokens, and the components of blocks.


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
