# How large the study is, before anything runs on a GPU: snakemake plan


rule count_tokens:
    input:
        texts=[f"<results>/variants/{counted_as}/{shard}.parquet" for _, shard, counted_as in STUDY.counted_jobs],
        weights=weights_of,
    output:
        tokens="<results>/plan/{model}.parquet",
        architecture="<results>/plan/{model}.json",
    log:
        "<logs>/plan/{model}.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("count_tokens"),
        model=lambda wildcards: {
            key: value
            for key, value in model_of(wildcards).params().items()
            if key in ("weights", "bos", "max_tokens")
        },
        jobs=STUDY.counted_jobs,
    script:
        "../scripts/count_tokens.py"


rule plan_extraction:
    input:
        tokens=expand("<results>/plan/{model}.parquet", model=STUDY.models),
        architectures=expand("<results>/plan/{model}.json", model=STUDY.models),
    output:
        plan="<results>/tables/plan.csv",
        text="<results>/tables/plan.txt",
    log:
        "<logs>/tables/plan_extraction.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("plan_extraction"),
        models=[
            {"name": name, **model.model_dump(include={"dtype", "device", "gpus", "token_budget"})}
            for name, model in STUDY.models.items()
        ],
        states=STUDY.states.params(),
    script:
        "../scripts/plan_extraction.py"
