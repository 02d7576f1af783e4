# Variants, by another pass through a model -> the attention of each head by the positions of query and key.


if STUDY.positional_jobs:

    rule extract_positional:
        """Runs reviews through a model and sums the attention of each head by the positions of query and key."""
        input:
            **READ_FILES,
        output:
            positional="<results>/positional/{model}/{variant}/{shard}.parquet",
        log:
            "<logs>/positional/{model}/{variant}/{shard}.log",
        conda:
            "../../envs/homogenization.yaml"
        threads: lambda wildcards: {"cpu": 1, "auto": 4}.get(model_of(wildcards).device, 2)
        resources:
            **EXTRACTION,
        params:
            **READ_PARAMS,
            code=code("extract_positional", *MEASURED_BY),
        script:
            "../scripts/extract_positional.py"
