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
        mem_mb=per_attempt(2000),
        runtime=per_attempt(30),
    params:
        code=code("build_random_model"),
        random=lambda wildcards: plain(model_of(wildcards).weights)["random"],
        seed=lambda wildcards: model_of(wildcards).weights.seed,
        vocab_size=lambda wildcards: model_of(wildcards).weights.vocab_size,
    message:
        "Drawing random weights and training a tokenizer: {wildcards.model}"
    script:
        "../scripts/build_random_model.py"


rule extract_states:
    input:
        variant="<results>/variants/{variant}/{shard}.parquet",
        weights=weights_of,
    output:
        states=stored("<results>/states/{model}/{variant}/{shard}.zarr.zip"),
        run=stored("<results>/states/{model}/{variant}/{shard}.json"),
    log:
        "<logs>/states/{model}/{variant}/{shard}.log",
    cache: "omit-software"
    conda:
        "../../envs/homogenization.yaml"
    # on the CPU, small models gain more from jobs side by side than from threads; set-threads in a profile changes it
    threads: lambda wildcards: {"cpu": 1, "auto": 4}.get(model_of(wildcards).device, 2)
    resources:
        mem_mb=extraction_memory,
        runtime=extraction_runtime,
        gpu=lambda wildcards: gpus_of(model_of(wildcards)),
    params:
        # the key of the between-workflow cache holds parameters, not wildcards
        code=code("extract_states"),
        model=lambda wildcards: {"name": wildcards.model} | plain(model_of(wildcards)),
        variant=lambda wildcards: wildcards.variant,
        shard=lambda wildcards: wildcards.shard,
        storage={key: plain(CONFIG.states)[key] for key in ("dtype", "chunk_tokens", "layers")},
        record_attention=CONFIG.states.record_attention,
    message:
        "Hidden states of shard {wildcards.shard}: {wildcards.model} reads {wildcards.variant}"
    script:
        "../scripts/extract_states.py"


rule sample_states:
    input:
        states="<results>/states/{model}/{variant}/{shard}.zarr.zip",
    output:
        sample="<results>/samples/{model}/{variant}/{shard}.zarr.zip",
    log:
        "<logs>/samples/{model}/{variant}/{shard}.log",
    benchmark:
        "<benchmarks>/samples/{model}/{variant}/{shard}.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(2000),
        runtime=per_attempt(60),
    params:
        code=code("sample_states"),
        sample_tokens=CONFIG.states.sample_tokens,
        seed=CONFIG.seed,
    message:
        "Keeping some tokens of shard {wildcards.shard}: {wildcards.model}, {wildcards.variant}"
    script:
        "../scripts/sample_states.py"
