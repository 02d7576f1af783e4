# Variants, by passes through a model whose attention may be changed -> metrics by layer, doses.
# The same, with pooled states and losses: what homogenization costs.
from homogenization.interventions.conditions import METRICS as INTERVENED_METRICS
from homogenization.names.consequences import METRICS


use rule extract_components as apply_interventions with:
    output:
        metrics="<results>/interventions/{model}/{variant}/{condition}/{shard}.parquet",
        doses="<results>/interventions/{model}/{variant}/{condition}/{shard}.doses.parquet",
    log:
        "<logs>/interventions/{model}/{variant}/{condition}/{shard}.log",
    resources:
        mem_mb=memory(times=2),
        runtime=per_attempt(480),
        gpu=GPU,
    params:
        code=code("measure_passes", *MEASURED_BY, "metrics", "interventions"),
        module="interventions.intervened",
        condition=lambda wildcards: vars(STUDY.conditions[wildcards.condition]),
        metrics=list(INTERVENED_METRICS),
        n_reviews=lambda wildcards: STUDY.n_read(wildcards.shard, STUDY.interventions),
        seed=STUDY.seed,


use rule apply_interventions as read_consequences with:
    output:
        metrics="<results>/consequences/{model}/{variant}/{condition}/{shard}.parquet",
        doses="<results>/consequences/{model}/{variant}/{condition}/{shard}.doses.parquet",
        states="<results>/consequences/{model}/{variant}/{condition}/{shard}.states.parquet",
    log:
        "<logs>/consequences/{model}/{variant}/{condition}/{shard}.log",
    params:
        metrics=list(METRICS),
        n_reviews=lambda wildcards: STUDY.n_read(wildcards.shard, STUDY.consequences),
