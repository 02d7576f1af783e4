# Variants and perturbed texts, by passes through a model -> pooled states, loss, likeness -> probes and shifts.

if STUDY.consequences:

    rule read_consequences:
        """Reads a text untouched and with changed attention: its pooled states, its loss, how alike its tokens are."""
        input:
            # a perturbed text is made of the original
            variant=lambda wildcards: (
                "<results>/variants/{text}/{shard}.parquet" if wildcards.text in STUDY.variants else []
            ),
            original="<results>/corpus/{shard}.parquet",
            weights=weights_of,
            depth=lambda wildcards: STUDY.reading.depth(wildcards.model, wildcards.text),
            positional=lambda wildcards: STUDY.reading.positional(wildcards.model, wildcards.text),
        output:
            # rows of earlier conditions stay
            metrics=grown("<results>/consequences/{model}/{text}/{shard}.parquet"),
            texts=grown("<results>/consequences/{model}/{text}/{shard}.texts.parquet"),
            states=grown("<results>/consequences/{model}/{text}/{shard}.states.parquet"),
        log:
            "<logs>/consequences/{model}/{text}/{shard}.log",
        wildcard_constraints:
            text=any_of(STUDY.reading.texts),
        conda:
            "../../envs/homogenization.yaml"
        threads: lambda wildcards: {"cpu": 1}.get(model_of(wildcards).device, 8)
        resources:
            mem_mb=per_attempt(lambda wildcards: ask.intervention_memory(model_of(wildcards))),
            runtime=per_attempt(
                lambda wildcards: ask.extraction_runtime(
                    model_of(wildcards), STUDY.reading.n_passes(wildcards.model, wildcards.text, wildcards.shard)
                )
            ),
            gpu=lambda wildcards: ask.gpus(model_of(wildcards)),
        params:
            code=code("read_in_conditions", *MEASURED_BY, "metrics", "interventions", "consequences"),
            module="consequences.shard",
            model=lambda wildcards: {"name": wildcards.model} | model_of(wildcards).params(),
            text=lambda wildcards: wildcards.text,
            shard=lambda wildcards: wildcards.shard,
            n_reviews=lambda wildcards: STUDY.n_read(wildcards.shard, STUDY.consequences),
            conditions=lambda wildcards: STUDY.reading.conditions(wildcards.model, wildcards.text),
            metrics=lambda wildcards: STUDY.reading.metrics(wildcards.text),
            seed=STUDY.seed,
        script:
            "../scripts/read_in_conditions.py"

    rule probe_states:
        """Probes of the labels and shifts of texts, from the pooled states of a model."""
        input:
            states=expand(
                "<results>/consequences/{{model}}/{text}/{shard}.states.parquet",
                text=STUDY.reading.texts,
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
            texts=STUDY.reading.texts,
            probes=STUDY.reading.probes,
            seed=STUDY.seed,
        script:
            "../scripts/tabulate.py"
