# Variants, by another pass through a model -> the attention of each head by the positions of query and key.


if STUDY.positional_jobs:

    rule extract_positional:
        """Runs reviews through a model and sums the attention of each head by the positions of query and key."""
        input:
            variant="<results>/variants/{variant}/{shard}.parquet",
            original="<results>/corpus/{shard}.parquet",
            weights=weights_of,
        output:
            positional="<results>/positional/{model}/{variant}/{shard}.parquet",
        log:
            "<logs>/positional/{model}/{variant}/{shard}.log",
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
            code=code("extract_positional"),
            model=lambda wildcards: {"name": wildcards.model} | model_of(wildcards).params(),
            variant=lambda wildcards: wildcards.variant,
            shard=lambda wildcards: wildcards.shard,
        script:
            "../scripts/extract_positional.py"
