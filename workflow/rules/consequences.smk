# Variants, by passes through a model -> pooled states, loss, likeness -> probes.

from homogenization.names.consequences import METRICS

if STUDY.consequences:

    rule read_consequences:
        """Reads a text in a condition: its pooled states, its loss, how alike its tokens are."""
        input:
            **READ_FILES,
        output:
            metrics="<results>/consequences/{model}/{variant}/{condition}/{shard}.parquet",
            doses="<results>/consequences/{model}/{variant}/{condition}/{shard}.doses.parquet",
            states="<results>/consequences/{model}/{variant}/{condition}/{shard}.states.parquet",
        log:
            "<logs>/consequences/{model}/{variant}/{condition}/{shard}.log",
        conda:
            "../../envs/torch.yaml"
        threads: {"cpu": 1}.get(STUDY.device, 8)
        resources:
            **IN_CONDITION,
        params:
            **READING_IN_CONDITION,
            metrics=list(METRICS),
            n_reviews=lambda wildcards: STUDY.n_read(wildcards.shard, STUDY.consequences),
        script:
            "../scripts/read_in_condition.py"

    rule probe_states:
        """Probes of the labels, from the pooled states of a model."""
        input:
            states=lambda wildcards: [
                f"<results>/consequences/{'/'.join(job)}.states.parquet"
                for job in STUDY.reading.jobs
                if job[0] == wildcards.model
            ],
            shards=expand("<results>/corpus/{shard}.parquet", shard=STUDY.reading.shards),
        output:
            readings="<results>/consequences/{model}.parquet",
        log:
            "<logs>/consequences/{model}.log",
        conda:
            "../../envs/analysis.yaml"
        resources:
            mem_mb=per_attempt(8000),
            runtime=per_attempt(240),
        params:
            code=code("tabulate", "corpus", "interventions.schemas", "consequences"),
            tables=lambda wildcards: {
                "consequences.probing": {
                    "model": wildcards.model,
                    "variants": STUDY.reading.variants,
                    "folds": STUDY.reading.folds,
                    "seed": STUDY.seed,
                }
            },
        script:
            "../scripts/tabulate.py"
