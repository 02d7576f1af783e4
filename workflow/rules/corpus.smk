# Raw reviews -> cleaned, deduplicated reviews -> a nested, balanced sample in shards.


rule download_corpus:
    input:
        source=[STUDY.corpus.source] if STUDY.corpus.is_local else [],
    output:
        raw="<results>/corpus/raw.parquet",
    log:
        "<logs>/corpus/download_corpus.log",
    cache: "omit-software"
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("download_corpus"),
        hub=None if STUDY.corpus.is_local else STUDY.corpus.source,
        subset=STUDY.corpus.subset,
        revision=STUDY.corpus.revision,
        split=STUDY.corpus.split,
        text_column=STUDY.corpus.text_column,
        label_column=STUDY.corpus.label_column,
    script:
        "../scripts/download_corpus.py"


rule clean_corpus:
    input:
        raw="<results>/corpus/raw.parquet",
    output:
        clean="<results>/corpus/clean.parquet",
    log:
        "<logs>/corpus/clean_corpus.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("clean_corpus"),
    script:
        "../scripts/clean_corpus.py"


rule sample_corpus:
    input:
        clean="<results>/corpus/clean.parquet",
    output:
        shard="<results>/corpus/{shard}.parquet",
    log:
        "<logs>/corpus/sample_corpus/{shard}.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("sample_corpus"),
        seed=STUDY.seed,
        start=lambda wildcards: STUDY.ranks(wildcards.shard)[0],
        stop=lambda wildcards: STUDY.ranks(wildcards.shard)[1],
        balance=STUDY.corpus.label_column is not None,
        min_words=STUDY.corpus.min_words,
        max_words=STUDY.corpus.max_words,
    script:
        "../scripts/sample_corpus.py"
