# Tokens, bytes of states, memory of weights and jobs of a study, before anything runs on a GPU: snakemake plan


rule count_tokens:
    """Counts the tokens that a model reads and describes its network, from its configuration and tokenizer alone."""
    input:
        texts=[f"<results>/variants/{counted_as}/{shard}.parquet" for _, shard, counted_as in STUDY.counted_jobs],
        weights=start_of,
    output:
        tokens="<results>/plan/{model}.parquet",
        architecture="<results>/plan/{model}.json",
    log:
        "<logs>/plan/count_tokens/{model}.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("count_tokens", *READ_BY, "plan"),
        # a trained model has the tokenizer and the network of its start
        model=lambda wildcards: model_of(wildcards).params("bos", "max_tokens")
        | {"weights": model_of(wildcards).weights.start.params()},
        jobs=STUDY.counted_jobs,
    script:
        "../scripts/count_tokens.py"


rule plan_extraction:
    """Tokens, bytes of states, memory of weights and jobs, by model."""
    input:
        tokens=expand("<results>/plan/{model}.parquet", model=STUDY.models),
        architectures=expand("<results>/plan/{model}.json", model=STUDY.models),
    output:
        plan="<results>/plan/plan.csv",
        text="<results>/plan/plan.txt",
    log:
        "<logs>/plan/plan_extraction.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("plan_extraction", *READ_BY, "plan"),
        models=[{"name": name, **model.params("dtype")} for name, model in STUDY.models.items()],
        states=STUDY.states.params(),
    script:
        "../scripts/plan_extraction.py"
