# Variants, by passes through a model -> pooled states, loss, likeness -> probes.

from homogenization.names.consequences import METRICS

if STUDY.consequences:

    rule read_consequences:
        """Reads a text untouched and with changed attention: its pooled states, its loss, how alike its tokens are."""
        input:
            **READ_FILES,
            depth=lambda wildcards: STUDY.reading.depth(wildcards.model, wildcards.variant),
        output:
            # rows of earlier conditions stay
            metrics=update("<results>/consequences/{model}/{variant}/{shard}.parquet"),
            texts=update("<results>/consequences/{model}/{variant}/{shard}.texts.parquet"),
            states=update("<results>/consequences/{model}/{variant}/{shard}.states.parquet"),
        log:
            "<logs>/consequences/{model}/{variant}/{shard}.log",
        wildcard_constraints:
            variant=any_of(STUDY.reading.variants),
        conda:
            "../../envs/homogenization.yaml"
        threads: lambda wildcards: {"cpu": 1}.get(model_of(wildcards).device, 8)
        resources:
            mem_mb=per_attempt(lambda wildcards: ask.intervention_memory(model_of(wildcards))),
            runtime=per_attempt(
                lambda wildcards: ask.extraction_runtime(
                    model_of(wildcards), STUDY.reading.n_passes(wildcards.model, wildcards.variant, wildcards.shard)
                )
            ),
            gpu=lambda wildcards: ask.gpus(model_of(wildcards)),
        params:
            **READ_PARAMS,
            code=code("read_in_conditions", *MEASURED_BY, "metrics", "interventions", "consequences"),
            module="consequences.shard",
            n_reviews=lambda wildcards: STUDY.n_read(wildcards.shard, STUDY.consequences),
            conditions=lambda wildcards: STUDY.reading.conditions(wildcards.model, wildcards.variant),
            metrics=list(METRICS),
            seed=STUDY.seed,
        script:
            "../scripts/read_in_conditions.py"

    rule probe_states:
        """Probes of the labels, from the pooled states of a model."""
        input:
            states=expand(
                "<results>/consequences/{{model}}/{variant}/{shard}.states.parquet",
                variant=STUDY.reading.variants,
                shard=STUDY.reading.shards,
            ),
            shards=expand("<results>/corpus/{shard}.parquet", shard=STUDY.reading.shards),
        output:
            readings="<results>/consequences/{model}.parquet",
        log:
            "<logs>/consequences/{model}.log",
        conda:
            "../../envs/homogenization.yaml"
        resources:
            mem_mb=per_attempt(8000),
            runtime=per_attempt(240),
        params:
            code=code("tabulate", "corpus", "interventions.schemas", "consequences"),
            module="consequences.probing",
            model=lambda wildcards: wildcards.model,
            variants=STUDY.reading.variants,
            probes=STUDY.reading.probes,
            seed=STUDY.seed,
        script:
            "../scripts/tabulate.py"
