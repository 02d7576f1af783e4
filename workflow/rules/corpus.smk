# Raw reviews -> cleaned, deduplicated reviews -> a nested, balanced sample in shards.


rule download_corpus:
    """Reads the reviews of the source as they are."""
    input:
        file=[local(STUDY.corpus.source)] if STUDY.corpus.is_local else [],
    output:
        raw="<results>/corpus/raw.parquet",
    log:
        "<logs>/corpus/download_corpus.log",
    cache: "omit-software"
    conda:
        "../../envs/texts.yaml"
    params:
        code=code("download_corpus", "corpus"),
        source=STUDY.corpus.params("subset", "revision", "split", "text_column", "label_column")
        | {"source": None if STUDY.corpus.is_local else STUDY.corpus.source},
    script:
        "../scripts/download_corpus.py"


# the folder of results where it lies: with the prefix of a module
RESULTS = str(Path(rules.download_corpus.output.raw).parents[1])


rule clean_corpus:
    """Cleans the reviews and drops duplicates."""
    input:
        raw="<results>/corpus/raw.parquet",
    output:
        clean="<results>/corpus/clean.parquet",
    log:
        "<logs>/corpus/clean_corpus.log",
    conda:
        "../../envs/texts.yaml"
    params:
        code=code("clean_corpus", "corpus"),
    script:
        "../scripts/clean_corpus.py"


rule sample_corpus:
    """Takes one shard of the sample."""
    input:
        clean="<results>/corpus/clean.parquet",
    output:
        shard="<results>/corpus/{shard}.parquet",
    log:
        "<logs>/corpus/sample_corpus/{shard}.log",
    conda:
        "../../envs/texts.yaml"
    params:
        **STUDY.corpus.params("min_words", "max_words"),
        code=code("sample_corpus", "corpus"),
        seed=STUDY.seed,
        start=lambda wildcards: STUDY.ranks(wildcards.shard)[0],
        stop=lambda wildcards: STUDY.ranks(wildcards.shard)[1],
        balance_by=STUDY.corpus.balanced_by,
    script:
        "../scripts/sample_corpus.py"
