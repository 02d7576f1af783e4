# Tokens, bytes of states, memory of weights and jobs, before anything runs on a GPU: snakemake --cores 4 plan
STARTS = {name: model.weights.start for name, model in STUDY.models.items()}

# (variant, shard, variant whose tokens are counted): the original for what a language model writes
COUNTED = [
    (variant, shard, "original" if variant in STUDY.written else variant)
    for variant in sorted(STUDY.variants)
    for shard in STUDY.shards
]


rule plan:
    """Shows what extraction will take of each model, from its configuration and tokenizer alone."""
    input:
        # a trained model has the tokenizer and the network of its start
        **{f"weights of {name}": start.files(STUDY.results, name) for name, start in STARTS.items()},
        texts=[f"<results>/variants/{counted_as}/{shard}.parquet" for _, shard, counted_as in COUNTED],
    log:
        "<logs>/plan.log",
    localrule: True
    conda:
        "../../envs/torch.yaml"
    params:
        models=[
            {"name": name, "weights": start.params(), **STUDY.models[name].params("dtype", "bos")}
            for name, start in STARTS.items()
        ],
        states=STUDY.states.params(),
        jobs=COUNTED,
        code=code("plan", *READ_BY, "plan"),
    script:
        "../scripts/plan.py"
