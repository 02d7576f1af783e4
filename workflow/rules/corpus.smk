# Raw reviews -> cleaned, deduplicated reviews -> a nested, balanced sample in shards.


rule download_corpus:
    input:
        source=[CONFIG.corpus.source] if CONFIG.corpus.is_local else [],
    output:
        raw="<results>/corpus/raw.parquet",
    log:
        "<logs>/corpus/download_corpus.log",
    cache: "omit-software"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(2000),
        runtime=per_attempt(60),
    params:
        code=code("download_corpus"),
        hub=None if CONFIG.corpus.is_local else CONFIG.corpus.source,
        subset=CONFIG.corpus.subset,
        revision=CONFIG.corpus.revision,
        split=CONFIG.corpus.split,
        text_column=CONFIG.corpus.text_column,
        label_column=CONFIG.corpus.label_column,
    message:
        "Reading the corpus"
    script:
        "../scripts/download_corpus.py"


rule clean_corpus:
    input:
        raw="<results>/corpus/raw.parquet",
    output:
        clean="<results>/corpus/clean.parquet",
    log:
        "<logs>/corpus/clean_corpus.log",
    benchmark:
        "<benchmarks>/corpus/clean_corpus.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(2000),
        runtime=per_attempt(30),
    params:
        code=code("clean_corpus"),
    message:
        "Cleaning the corpus and dropping duplicates"
    script:
        "../scripts/clean_corpus.py"


rule sample_corpus:
    input:
        clean="<results>/corpus/clean.parquet",
    output:
        shard="<results>/corpus/{shard}.parquet",
    log:
        "<logs>/corpus/sample_corpus/{shard}.log",
    benchmark:
        "<benchmarks>/corpus/sample_corpus/{shard}.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(2000),
        runtime=per_attempt(10),
    params:
        code=code("sample_corpus"),
        seed=CONFIG.seed,
        start=lambda wildcards: shard_bounds(wildcards)[0],
        stop=lambda wildcards: shard_bounds(wildcards)[1],
        balance=CONFIG.corpus.label_column is not None,
        min_words=CONFIG.corpus.min_words,
        max_words=CONFIG.corpus.max_words,
    message:
        "Sampling reviews of rank {params.start} to {params.stop}"
    script:
        "../scripts/sample_corpus.py"
