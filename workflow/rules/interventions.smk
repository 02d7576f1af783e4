# Variants, by passes through a model whose attention is changed -> metrics by layer, doses.

if STUDY.intervention_jobs:

    rule apply_interventions:
        """Runs reviews through a model with its attention changed, and measures their tokens after every block."""
        input:
            **READ_FILES,
            depth="<results>/tables/depth.parquet" if STUDY.interventions.needs_depth else [],
        output:
            # rows of earlier conditions stay
            metrics=update("<results>/interventions/{model}/{variant}/{shard}.parquet"),
            doses=update("<results>/interventions/{model}/{variant}/{shard}.doses.parquet"),
        log:
            "<logs>/interventions/{model}/{variant}/{shard}.log",
        conda:
            "../../envs/homogenization.yaml"
        threads: lambda wildcards: {"cpu": 1}.get(model_of(wildcards).device, 8)
        resources:
            mem_mb=per_attempt(lambda wildcards: ask.intervention_memory(model_of(wildcards))),
            runtime=per_attempt(
                lambda wildcards: ask.extraction_runtime(
                    model_of(wildcards),
                    STUDY.n_read(wildcards.shard, STUDY.interventions) * len(STUDY.interventions.conditions),
                )
            ),
            gpu=lambda wildcards: ask.gpus(model_of(wildcards)),
        params:
            **STUDY.interventions.params("metrics"),
            **READ_PARAMS,
            code=code("read_in_conditions", *MEASURED_BY, "metrics", "interventions"),
            module="interventions.shard",
            n_reviews=lambda wildcards: STUDY.n_read(wildcards.shard, STUDY.interventions),
            conditions=[condition.fields for condition in STUDY.interventions.conditions],
            seed=STUDY.seed,
        script:
            "../scripts/read_in_conditions.py"
