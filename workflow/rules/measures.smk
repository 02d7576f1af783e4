# States -> singular values, geometry, received attention, pooled tokens, MAUVE, sinks; the first two of a common number of tokens.
# Variants, by another pass through a model -> how alike tokens are at each point of each block.


rule compute_spectra:
    """Singular values of every review, layer and view."""
    input:
        states="<results>/states/{model}/{variant}/{shard}.zarr.zip",
    output:
        spectra="<results>/spectra/{model}/{variant}/{shard}.parquet",
    log:
        "<logs>/spectra/{model}/{variant}/{shard}.log",
    conda:
        "../../envs/homogenization.yaml"
    resources:
        runtime=per_attempt(240),
    params:
        code=code("measure", "measures.spectra"),
        module="measures.spectra",
        views=sorted(STUDY.views),
    script:
        "../scripts/measure.py"


rule compute_geometry:
    """Norms, directions and cosines of the tokens of every review and layer."""
    input:
        states="<results>/states/{model}/{variant}/{shard}.zarr.zip",
    output:
        geometry="<results>/geometry/{model}/{variant}/{shard}.parquet",
    log:
        "<logs>/geometry/{model}/{variant}/{shard}.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("measure", "measures.geometry"),
        module="measures.geometry",
        n_bins=40,
    script:
        "../scripts/measure.py"


if STUDY.states.record_attention:

    rule compute_attention:
        """Profiles of the attention that tokens receive, for every review and layer."""
        input:
            states="<results>/states/{model}/{variant}/{shard}.zarr.zip",
        output:
            attention="<results>/attention/{model}/{variant}/{shard}.parquet",
        log:
            "<logs>/attention/{model}/{variant}/{shard}.log",
        conda:
            "../../envs/homogenization.yaml"
        params:
            code=code("measure", "measures.attention"),
            module="measures.attention",
            n_bins=20,
        script:
            "../scripts/measure.py"


rule compute_pooled:
    """Singular values and cosines of the tokens of all reviews of a shard together."""
    input:
        states="<results>/states/{model}/{variant}/{shard}.zarr.zip",
    output:
        pooled="<results>/pooled/{model}/{variant}/{shard}.parquet",
    log:
        "<logs>/pooled/{model}/{variant}/{shard}.log",
    conda:
        "../../envs/homogenization.yaml"
    resources:
        runtime=per_attempt(240),
    params:
        code=code("measure", "measures.pooled"),
        module="measures.pooled",
    script:
        "../scripts/measure.py"


rule compute_mauve:
    """MAUVE between consecutive layers, with its split-half null."""
    input:
        states="<results>/states/{model}/{variant}/{shard}.zarr.zip",
    output:
        mauve="<results>/mauve/{model}/{variant}/{shard}.parquet",
    log:
        "<logs>/mauve/{model}/{variant}/{shard}.log",
    conda:
        "../../envs/homogenization.yaml"
    resources:
        runtime=per_attempt(240),
    params:
        code=code("measure", "measures.mauve"),
        module="measures.mauve",
        n_tokens=STUDY.mauve.n_tokens,
        seeds=list(range(STUDY.seed, STUDY.seed + STUDY.mauve.seeds)),
        scale=STUDY.mauve.scale,
    script:
        "../scripts/measure.py"


if STUDY.common_tokens:

    rule compute_common_length:
        """Singular values and geometry of a common number of tokens of every review."""
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
            code=code("measure", "measures.common_length"),
            module="measures.common_length",
            n_tokens=STUDY.common_tokens,
            draws=4,
            seed=STUDY.seed,
            views=sorted(STUDY.views),
        script:
            "../scripts/measure.py"


if STUDY.positional_jobs:

    rule compute_sinks:
        """The tokens besides the first that draw attention or grow massive, and from which block to which."""
        input:
            states="<results>/states/{model}/{variant}/{shard}.zarr.zip",
        output:
            sinks="<results>/sinks/{model}/{variant}/{shard}.parquet",
        log:
            "<logs>/sinks/{model}/{variant}/{shard}.log",
        conda:
            "../../envs/homogenization.yaml"
        params:
            code=code("measure", "measures.sinks"),
            module="measures.sinks",
        script:
            "../scripts/measure.py"


if STUDY.component_jobs:

    rule extract_components:
        """Runs reviews through a model and measures how alike their tokens are at every point of every block."""
        input:
            variant="<results>/variants/{variant}/{shard}.parquet",
            original="<results>/corpus/{shard}.parquet",
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
            runtime=lambda wildcards, attempt: ask.extraction_runtime(
                model_of(wildcards), STUDY.corpus.shard_size, attempt
            ),
            gpu=lambda wildcards: ask.gpus(model_of(wildcards)),
        params:
            code=code("extract_components"),
            model=lambda wildcards: {"name": wildcards.model} | model_of(wildcards).params(),
            variant=lambda wildcards: wildcards.variant,
            shard=lambda wildcards: wildcards.shard,
        script:
            "../scripts/extract_components.py"
