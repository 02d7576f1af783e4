# Reviews outside of the sample -> models tuned further or trained from random weights, of each seed and snapshot.


rule train_model:
    """Trains a model to a snapshot, from its start or from the snapshot before."""
    input:
        clean="<results>/corpus/clean.parquet",
        # no model is trained on them
        sampled=expand("<results>/corpus/{shard}.parquet", shard=STUDY.shards),
        weights=start_of,
        before=lambda wildcards: STUDY.training_runs[wildcards.run].states_before(wildcards.step, STUDY.results),
    output:
        **{name: f"<results>/training/{{run}}/{{step}}/{file}" for name, file in BUILT_FILES.items()},
        losses="<results>/training/{run}/{step}/losses.parquet",
        state=temp("<results>/training/{run}/{step}/state/tensors.safetensors"),
        notes=temp("<results>/training/{run}/{step}/state/notes.json"),
    log:
        "<logs>/training/{run}/{step}.log",
    wildcard_constraints:
        run=any_of(STUDY.training_runs),
        step=r"\d+",
    cache: "omit-software"
    conda:
        "../../envs/homogenization.yaml"
    threads: lambda wildcards: model_of(wildcards).weights.options.threads
    resources:
        mem_mb=per_attempt(lambda wildcards: ask.training_memory(model_of(wildcards))),
        runtime=per_attempt(lambda wildcards: ask.training_runtime(model_of(wildcards))),
        gpu=lambda wildcards: ask.gpus(model_of(wildcards)),
    params:
        code=code("train_model", "corpus", "models", "training", "metrics.cosines", "metrics.differentiable", "metrics.gram"),
        entry=lambda wildcards: model_of(wildcards).params("device", "bos")
        | {"weights": model_of(wildcards).weights.start.params()},
        options=lambda wildcards: model_of(wildcards).weights.options.params(),
        seed=lambda wildcards: model_of(wildcards).weights.seed,
        step=lambda wildcards: wildcards.step,
    script:
        "../scripts/train_model.py"
