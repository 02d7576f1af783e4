# Reviews -> the residual stream after every block, and the attention that each token receives.
STORE = "<results>/states/{model}/{variant}/{shard}.zarr.zip"

# what rules share in which a model reads one shard of a variant
READ_FILES = {
    "variant": "<results>/variants/{variant}/{shard}.parquet",
    # a review is left out whose original is longer than the model's context
    "original": "<results>/corpus/{shard}.parquet",
    # files that the workflow builds or that lie in a local folder; others are not tracked
    "weights": lambda wildcards: model_of(wildcards).weights.files(STUDY.results, wildcards.model),
}
READ_BY = ("corpus", "models", "states")
READ_PARAMS = {
    # the key of the between-workflow cache holds parameters, not wildcards
    "model": lambda wildcards: {"name": wildcards.model, "device": STUDY.device} | model_of(wildcards).params(),
    "variant": lambda wildcards: wildcards.variant,
    "shard": lambda wildcards: wildcards.shard,
}
EXTRACTED_WITH = READ_PARAMS | {
    "code": code("extract_states", *READ_BY),
    "storage": STUDY.states.params("dtype", "layers"),
}
EXTRACTION = {"mem_mb": memory(n_reviews=STUDY.corpus.shard_size), "runtime": per_attempt(240), "gpu": GPU}


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
        "../../envs/torch.yaml"
    # on the CPU, small models gain more from jobs side by side than from threads; set-threads in a profile changes it
    threads: {"cpu": 1, "auto": 4}.get(STUDY.device, 2)
    resources:
        **EXTRACTION,
        # temporary stores on the disk, each held by the job that writes it and by those that read it
        states=0 if STUDY.states.keep else 1,
    params:
        **EXTRACTED_WITH,
    script:
        "../scripts/extract_states.py"
