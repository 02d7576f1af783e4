# The reviews of the source -> cleaned, deduplicated reviews -> a nested, balanced sample in shards.
SAMPLE = expand("<results>/corpus/{shard}.parquet", shard=STUDY.shards)


rule read_corpus:
    """Reads the reviews of the source, cleans them and drops duplicates."""
    input:
        file=STUDY.corpus.source if STUDY.corpus.is_local else [],
    output:
        clean="<results>/corpus/clean.parquet",
    log:
        "<logs>/corpus/read_corpus.log",
    cache: "omit-software"
    conda:
        "../../envs/texts.yaml"
    params:
        asked=STUDY.corpus.params("source", "subset", "revision", "split", "text_column", "label_column"),
        code=code("read_corpus", "corpus"),
    script:
        "../scripts/read_corpus.py"


rule sample_corpus:
    """Takes one shard of the sample."""
    input:
        clean="<results>/corpus/clean.parquet",
    output:
        shard="<results>/corpus/{shard}.parquet",
    log:
        "<logs>/corpus/{shard}.log",
    conda:
        "../../envs/texts.yaml"
    params:
        **STUDY.corpus.in_sample(STUDY.corpus.params("balance_by", "min_words", "max_words")),
        code=code("sample_corpus", "corpus"),
        seed=STUDY.seed,
        start=lambda wildcards: STUDY.ranks(wildcards.shard)[0],
        stop=lambda wildcards: STUDY.ranks(wildcards.shard)[1],
    script:
        "../scripts/sample_corpus.py"
