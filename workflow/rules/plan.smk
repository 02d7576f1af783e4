# Tokens, bytes of states, memory of weights and jobs, before anything runs on a GPU: snakemake --cores 4 plan
STARTS = {name: model.weights.start for name, model in STUDY.models.items()}


rule plan:
    """Shows what extraction will take of each model, from its configuration and tokenizer alone."""
    input:
        # a trained model has the tokenizer and the network of its start
        **{f"weights of {name}": start.files(STUDY.results, name) for name, start in STARTS.items()},
        # what a language model will write is counted by its originals
        texts=of_variants("variants", ["original" if name in STUDY.written else name for name in STUDY.variants]),
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
        estimated=bool(STUDY.written),
        code=code("plan", *READ_BY, "plan"),
    script:
        "../scripts/plan.py"
