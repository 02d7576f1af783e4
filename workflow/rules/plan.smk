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
        code=code("count_tokens", *READ_BY, "plan"),
        # a trained model has the tokenizer and the network of its start
        model=lambda wildcards: model_of(wildcards).params("bos", "max_tokens", "long_texts")
        | {"weights": model_of(wildcards).weights.start.params()},
        jobs=STUDY.counted_jobs,
    script:
        "../scripts/count_tokens.py"


PILOT = "<results>/pilot"
# kinds of jobs that a pilot times, by model, and how many reviews the two jobs of a kind read
TIMED = {model: list(STUDY.works_of(model)) for model in STUDY.models} if STUDY.pilot else {}
PARTS = [STUDY.pilot // 4, STUDY.pilot] if STUDY.pilot else []

if STUDY.pilot:

    use rule sample_corpus as sample_pilot with:
        output:
            shard=f"{PILOT}/corpus/{{shard}}.parquet",
        log:
            "<logs>/pilot/corpus/{shard}.log",
        params:
            start=0,
            stop=lambda wildcards: int(wildcards.shard),

    READ_PILOT = dict.fromkeys(("variant", "original"), f"{PILOT}/corpus/{{shard}}.parquet") | {
        "weights": weights_of
    }
    RECORD = f"{PILOT}/states/{{model}}/{{variant}}/{{shard}}.json"
    PILOT_STORE = f"{PILOT}/states/{{model}}/{{variant}}/{{shard}}.zarr.zip"
    use rule extract_states as time_states with:
        input:
            **READ_PILOT,
        output:
            states=temp(PILOT_STORE),
            run=RECORD,
        log:
            "<logs>/pilot/states/{model}/{variant}/{shard}.log",
        benchmark:
            f"{PILOT}/states/{{model}}/{{variant}}/{{shard}}.tsv"
        cache: False

    for measure in made_measures(STUDY):

        rule:
            """Times a measure of the catalogue."""
            name:
                f"time_{measure.name}"
            input:
                states=PILOT_STORE,
            output:
                *(temp(f"{PILOT}/{path}") for path in measure.paths),
            log:
                f"<logs>/pilot/{measure.name}/{{model}}/{{variant}}/{{shard}}.log",
            benchmark:
                f"{PILOT}/{measure.name}/{{model}}/{{variant}}/{{shard}}.tsv"
            conda:
                "../../envs/homogenization.yaml"
            params:
                **measure.params(STUDY),
                code=code("measure", *MEASURED_BY),
                module=f"measures.{measure.name}",
            script:
                "../scripts/measure.py"

    if STUDY.component_jobs:

        use rule extract_components as time_components with:
            input:
                **READ_PILOT,
            output:
                components=temp(f"{PILOT}/components/{{model}}/{{variant}}/{{shard}}.parquet"),
            log:
                "<logs>/pilot/components/{model}/{variant}/{shard}.log",
            benchmark:
                f"{PILOT}/components/{{model}}/{{variant}}/{{shard}}.tsv"


rule plan_extraction:
    """Estimates the costs of extraction, and the work of all jobs that run a model; hours, where a pilot timed them."""
    input:
        tokens=expand("<results>/plan/{model}.parquet", model=STUDY.models),
        architectures=expand("<results>/plan/{model}.json", model=STUDY.models),
        records=[f"{PILOT}/states/{model}/original/{part}.json" for model in TIMED for part in PARTS],
        benchmarks=[
            f"{PILOT}/{work}/{model}/original/{part}.tsv"
            for model, works in TIMED.items()
            for work in works
            for part in PARTS
        ],
    output:
        plan="<results>/plan/plan.csv",
        works="<results>/plan/works.csv",
        text="<results>/plan/plan.txt",
    log:
        "<logs>/plan/plan_extraction.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("plan_extraction", *READ_BY, "plan"),
        models=[
            {"name": name, "gpus": ask.gpus(model), **model.params("dtype", "device")}
            for name, model in STUDY.models.items()
        ],
        states=STUDY.states.params(),
        works={name: STUDY.works_of(name) for name in STUDY.models},
        readings={name: STUDY.planned_readings(name) for name in STUDY.models},
        training=STUDY.planned_training,
        timed=TIMED,
    script:
        "../scripts/plan_extraction.py"
