# Variants, by passes through a model whose attention is changed -> metrics by layer, doses.
from homogenization.interventions.conditions import STEEPEST

READ_IN_CONDITION = {
    **READ_FILES,
    "depth": lambda wildcards: (
        "<results>/tables/depth.parquet" if STUDY.conditions[wildcards.condition].blocks == STEEPEST else []
    ),
}
READING_IN_CONDITION = {
    **READ_PARAMS,
    "code": code("read_in_condition", *MEASURED_BY, "metrics", "interventions"),
    "condition": lambda wildcards: STUDY.conditions[wildcards.condition].fields,
    "seed": STUDY.seed,
}


def ask_in_condition(section):
    """Memory, time and GPUs of a job that reads a shard in a condition, for a section of the configuration."""

    def minutes(wildcards):
        n_passes = STUDY.n_read(wildcards.shard, section) * STUDY.n_passes(wildcards.condition)
        return ask.extraction_runtime(model_of(wildcards), n_passes)

    return {
        "mem_mb": per_attempt(lambda wildcards: ask.intervention_memory(model_of(wildcards))),
        "runtime": per_attempt(minutes),
        "gpu": lambda wildcards: ask.gpus(model_of(wildcards)),
    }


if STUDY.intervention_jobs:

    rule apply_interventions:
        """Runs reviews through a model with its attention changed, and measures their tokens after every block."""
        input:
            **READ_IN_CONDITION,
        output:
            metrics="<results>/interventions/{model}/{variant}/{condition}/{shard}.parquet",
            doses="<results>/interventions/{model}/{variant}/{condition}/{shard}.doses.parquet",
        log:
            "<logs>/interventions/{model}/{variant}/{condition}/{shard}.log",
        conda:
            "../../envs/homogenization.yaml"
        threads: lambda wildcards: {"cpu": 1}.get(model_of(wildcards).device, 8)
        resources:
            **ask_in_condition(STUDY.interventions),
        params:
            **STUDY.interventions.params("metrics"),
            **READING_IN_CONDITION,
            n_reviews=lambda wildcards: STUDY.n_read(wildcards.shard, STUDY.interventions),
        script:
            "../scripts/read_in_condition.py"
