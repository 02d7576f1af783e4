# Reviews outside of the sample -> models tuned further or trained from random weights, of each seed.


rule train_model:
    """Trains a model from its start."""
    input:
        clean="<results>/corpus/clean.parquet",
        # no model is trained on them
        sampled=SAMPLE,
        weights=lambda wildcards: model_of(wildcards).weights.start.files(STUDY.results, wildcards.model),
    output:
        **{name: f"<results>/training/{{model}}/{file}" for name, file in BUILT_FILES.items()},
        losses="<results>/training/{model}/losses.parquet",
    log:
        "<logs>/training/{model}.log",
    wildcard_constraints:
        model=any_of(STUDY.trained_models),
    cache: "omit-software"
    conda:
        "../../envs/torch.yaml"
    resources:
        # a parameter, its gradient and two moments
        mem_mb=memory(times=5),
        runtime=per_attempt(480),
        gpu=GPU,
    params:
        code=code("train_model", "corpus", "models", "training"),
        # updates are small, so they are made in float32
        model=lambda wildcards: {
            "weights": model_of(wildcards).weights.start.params(),
            "bos": model_of(wildcards).bos,
            "dtype": "float32",
            "device": STUDY.device,
        },
        options=lambda wildcards: model_of(wildcards).weights.trained.params(),
        seed=lambda wildcards: model_of(wildcards).weights.seed,
    script:
        "../scripts/train_model.py"
