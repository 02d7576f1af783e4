# Tokens, bytes of states, memory of weights and jobs of a study, before anything runs on a GPU: snakemake plan


rule plan_model:
    """What extraction will take of one model, from its configuration and tokenizer alone."""
    input:
        texts=[f"<results>/variants/{counted_as}/{shard}.parquet" for _, shard, counted_as in STUDY.counted_jobs],
        weights=start_of,
    output:
        row="<results>/plan/{model}.json",
    log:
        "<logs>/plan/{model}.log",
    conda:
        "../../envs/torch.yaml"
    params:
        code=code("plan_model", *READ_BY, "plan"),
        # a trained model has the tokenizer and the network of its start
        model=lambda wildcards: model_of(wildcards).params("dtype", "bos")
        | {"name": wildcards.model, "weights": model_of(wildcards).weights.start.params()},
        states=STUDY.states.params(),
        jobs=STUDY.counted_jobs,
    script:
        "../scripts/plan_model.py"


rule plan_extraction:
    """What extraction will take of all models."""
    input:
        rows=expand("<results>/plan/{model}.json", model=STUDY.models),
    output:
        plan="<results>/plan/plan.csv",
        text="<results>/plan/plan.txt",
    log:
        "<logs>/plan/plan_extraction.log",
    conda:
        "../../envs/torch.yaml"
    params:
        code=code("plan_extraction", *READ_BY, "plan"),
    script:
        "../scripts/plan_extraction.py"
