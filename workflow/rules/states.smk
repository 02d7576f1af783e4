# Reviews -> the residual stream after every block, and the attention that each token receives.


rule build_random_model:
    input:
        corpus="<results>/corpus/clean.parquet",
    output:
        **{name: f"<results>/models/{{model}}/{file}" for name, file in MODEL_FILES.items()},
    log:
        "<logs>/models/{model}.log",
    benchmark:
        "<benchmarks>/models/{model}.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=code("build_random_model"),
        random=lambda wildcards: plain(CONFIG.models[wildcards.model].weights)["random"],
        seed=lambda wildcards: CONFIG.models[wildcards.model].weights.seed,
        vocab_size=lambda wildcards: CONFIG.models[wildcards.model].weights.vocab_size,
    message:
        "Drawing random weights and training a tokenizer: {wildcards.model}"
    script:
        "../scripts/build_random_model.py"


rule extract_states:
    input:
        variant="<results>/variants/{variant}/{shard}.parquet",
        weights=weights_of,
    output:
        multiext("<results>/states/{model}/{variant}/{shard}", states=".zarr.zip", run=".json"),
    log:
        "<logs>/states/{model}/{variant}/{shard}.log",
    cache: "omit-software"
    conda:
        "../../envs/homogenization.yaml"
    # on the CPU, small models gain more from jobs side by side than from threads; set-threads in a profile changes it
    threads: lambda wildcards: {"cpu": 1, "auto": 4}.get(CONFIG.models[wildcards.model].device, 2)
    resources:
        mem_mb=lambda wildcards: 4000 if CONFIG.models[wildcards.model].device == "cpu" else 32000,
        runtime=120,
        gpu=lambda wildcards: int(CONFIG.models[wildcards.model].device in ("auto", "cuda")),
    params:
        # the key of the between-workflow cache holds parameters, not wildcards
        code=code("extract_states"),
        model=lambda wildcards: {"name": wildcards.model} | plain(CONFIG.models[wildcards.model]),
        variant=lambda wildcards: wildcards.variant,
        shard=lambda wildcards: wildcards.shard,
        storage={"dtype": CONFIG.states.dtype, "chunk_tokens": CONFIG.states.chunk_tokens},
        record_attention=CONFIG.states.record_attention,
    message:
        "Hidden states of shard {wildcards.shard}: {wildcards.model} reads {wildcards.variant}"
    script:
        "../scripts/extract_states.py"
