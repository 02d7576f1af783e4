# States -> pooled tokens; MAUVE; singular values, geometry, received attention, losses, tokens of pages.
# Variants, by another pass through a model -> how alike tokens are at each point of each block.

# a new spectral metric is computed of what is measured, and measures nothing again
MEASURED_BY = (*READ_BY, "measures", "metrics.cosines", "metrics.geometry", "metrics.attention", "metrics.registry")

# A store that is deleted can't tell of an edit whose job fails, so what reads it has the parameters of what made it.
MADE_WITH = {f"made_with_{name}": value for name, value in EXTRACTED_WITH.items()}


rule measure_pooled:
    """Measures states of a model for a shard of a variant: pooled tokens, MAUVE between layers, or each review."""
    input:
        states=STORE,
    output:
        pooled="<results>/pooled/{model}/{variant}/{shard}.parquet",
    log:
        "<logs>/pooled/{model}/{variant}/{shard}.log",
    # next, so that states that are not kept go soon
    priority: 0 if STUDY.states.keep else 1
    conda:
        "../../envs/analysis.yaml"
    resources:
        runtime=per_attempt(240),
        states=0 if STUDY.states.keep else 1,
    params:
        **MADE_WITH,
        code=code("measure", *MEASURED_BY),
        module="measures.pooled",
    script:
        "../scripts/measure.py"


use rule measure_pooled as compute_mauve with:
    output:
        mauve="<results>/mauve/{model}/{variant}/{shard}.parquet",
    log:
        "<logs>/mauve/{model}/{variant}/{shard}.log",
    params:
        code=code("measure", *READ_BY, "measures.mauve", "measures.reviews", "metrics.cosines"),
        module="measures.mauve",
        n_tokens=STUDY.mauve.n_tokens,
        seed=STUDY.seed,


use rule measure_pooled as measure with:
    output:
        matrices="<results>/measures/{model}/{variant}/{shard}/matrices.parquet",
        attention="<results>/measures/{model}/{variant}/{shard}/attention.parquet",
        texts="<results>/measures/{model}/{variant}/{shard}/texts.parquet",
        tokens="<results>/measures/{model}/{variant}/{shard}/tokens.parquet",
    log:
        "<logs>/measures/{model}/{variant}/{shard}.log",
    params:
        module="measures.measure",
        views=sorted(STUDY.views),


rule extract_components:
    """Runs reviews through a model, as it is or with changed attention, and measures how alike their tokens are."""
    input:
        **READ_FILES,
    output:
        components="<results>/components/{model}/{variant}/{shard}.parquet",
    log:
        "<logs>/components/{model}/{variant}/{shard}.log",
    conda:
        "../../envs/torch.yaml"
    threads: {"cpu": 1, "mps": 2}.get(STUDY.device, 8)
    resources:
        **EXTRACTION,
    params:
        **READ_PARAMS,
        code=code("measure_passes", *MEASURED_BY),
        module="measures.components",
    script:
        "../scripts/measure_passes.py"
