# How large the study is, before anything runs on a GPU: snakemake plan


rule count_tokens:
    input:
        texts=[f"<results>/variants/{counted_as}/{shard}.parquet" for _, shard, counted_as in COUNTING_JOBS],
        weights=weights_of,
    output:
        tokens="<results>/plan/{model}.parquet",
        architecture="<results>/plan/{model}.json",
    log:
        "<logs>/plan/{model}.log",
    benchmark:
        "<benchmarks>/plan/{model}.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(4000),
        runtime=per_attempt(60),
    params:
        code=code("count_tokens"),
        model=lambda wildcards: {
            key: value for key, value in plain(model_of(wildcards)).items() if key in ("weights", "bos", "max_tokens")
        },
        jobs=COUNTING_JOBS,
    message:
        "Counting the tokens that {wildcards.model} will read"
    script:
        "../scripts/count_tokens.py"


rule plan_extraction:
    input:
        tokens=expand("<results>/plan/{model}.parquet", model=MODELS),
        architectures=expand("<results>/plan/{model}.json", model=MODELS),
    output:
        plan="<results>/tables/plan.csv",
        text="<results>/tables/plan.txt",
    log:
        "<logs>/tables/plan_extraction.log",
    benchmark:
        "<benchmarks>/tables/plan_extraction.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(2000),
        runtime=per_attempt(20),
    params:
        code=code("plan_extraction"),
        models=[
            {"name": name, **model.model_dump(include={"dtype", "device", "gpus", "token_budget"})}
            for name, model in CONFIG.models.items()
        ],
        states=plain(CONFIG.states),
    message:
        "Adding up what extraction will take"
    script:
        "../scripts/plan_extraction.py"
