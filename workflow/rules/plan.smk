# Tokens, disk, GPU memory and operations of a study, estimated before anything runs on a GPU: snakemake plan


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
        code=code("count_tokens"),
        # a trained model has the tokenizer and the network of its start
        model=lambda wildcards: model_of(wildcards).params("bos", "max_tokens", "long_texts")
        | {"weights": model_of(wildcards).weights.start.params()},
        jobs=STUDY.counted_jobs,
    script:
        "../scripts/count_tokens.py"


rule plan_extraction:
    """Estimates the costs of extraction, and the time of all jobs that load a model or measure states."""
    input:
        tokens=expand("<results>/plan/{model}.parquet", model=STUDY.models),
        architectures=expand("<results>/plan/{model}.json", model=STUDY.models),
    output:
        plan="<results>/plan/plan.csv",
        durations="<results>/plan/durations.csv",
        measures="<results>/plan/measures.csv",
        text="<results>/plan/plan.txt",
    log:
        "<logs>/plan/plan_extraction.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("plan_extraction"),
        models=[
            {"name": name, "gpus": model.gpus, **model.params("dtype", "device", "token_budget")}
            for name, model in STUDY.models.items()
        ],
        states=STUDY.states.params(),
        measured=STUDY.planned_measures,
        in_pass=IN_PASS,
        store_limit=workflow.global_resources.get("store_mb").value,
        read_again={name: STUDY.read_again(name) for name in STUDY.models},
        interventions={name: STUDY.intervention_costs(name) for name in STUDY.models},
        consequences={name: STUDY.consequence_costs(name) for name in STUDY.models},
        training=STUDY.planned_training,
        writers=[
            {
                "name": name,
                "n_parameters": ask.n_parameters(STUDY.writers[name]),
                **work,
                **STUDY.writers[name].planned,
            }
            for name, work in STUDY.planned_writers.items()
        ],
        encoders=[
            {
                "n_parameters": ask.encoder_parameters(STUDY.similarity),
                "n_together": 1 + len(STUDY.moved),
                "n_scored": len(SCORED),
                "n_judged": len(JUDGED),
                "candidates": STUDY.rewriting.candidates,
                **STUDY.similarity.params("device", "layer"),
            }
        ],
        readers=[
            {
                "gpus": reader.gpus,
                "n_parameters": ask.n_parameters(reader),
                "n_together": 1 + len(STUDY.moved),
                "n_written": len(STUDY.written),
                "counted_by": next((name for name, m in STUDY.models.items() if m.weights == reader.weights), None),
                **reader.params("dtype", "device"),
            }
            for reader in filter(None, [STUDY.fluency])
        ],
        hardware=STUDY.hardware.params(),
    script:
        "../scripts/plan_extraction.py"
