# Variants, by passes through a model whose attention is changed -> metrics by layer, doses.

from homogenization.interventions.conditions import METRICS as INTERVENED_METRICS

READING_IN_CONDITION = {
    **READ_PARAMS,
    "code": code("read_in_condition", *MEASURED_BY, "metrics", "interventions"),
    "condition": lambda wildcards: vars(STUDY.conditions[wildcards.condition]),
    "seed": STUDY.seed,
}


IN_CONDITION = {
    "mem_mb": memory(times=2),
    "runtime": per_attempt(480),
    "gpu": ask.gpus(STUDY.device),
}


if STUDY.intervention_jobs:

    rule apply_interventions:
        """Runs reviews through a model with its attention changed, and measures their tokens after every block."""
        input:
            **READ_FILES,
        output:
            metrics="<results>/interventions/{model}/{variant}/{condition}/{shard}.parquet",
            doses="<results>/interventions/{model}/{variant}/{condition}/{shard}.doses.parquet",
        log:
            "<logs>/interventions/{model}/{variant}/{condition}/{shard}.log",
        conda:
            "../../envs/torch.yaml"
        threads: {"cpu": 1}.get(STUDY.device, 8)
        resources:
            **IN_CONDITION,
        params:
            **READING_IN_CONDITION,
            metrics=list(INTERVENED_METRICS),
            n_reviews=lambda wildcards: STUDY.n_read(wildcards.shard, STUDY.interventions),
        script:
            "../scripts/read_in_condition.py"
