# What language models write: key phrases, and reviews with their key phrases elsewhere. The rules of variants.smk write
# the same files where the configuration names no language model.


rule extract_keyphrases_with_llm:
    input:
        shard="<results>/corpus/{shard}.parquet",
    output:
        keyphrases="<results>/keyphrases/{shard}.parquet",
    log:
        "<logs>/keyphrases/{shard}.log",
    wildcard_constraints:
        shard=r"\d+" if STUDY.keyphrases.scorer == "llm" else "(?!)",
    cache: "omit-software"
    conda:
        "../../envs/homogenization.yaml"
    threads: 2
    resources:
        mem_mb=lambda wildcards, attempt: ask.writer_memory(writer_of(wildcards), attempt),
        runtime=lambda wildcards, attempt: ask.writer_runtime(
            writer_of(wildcards), STUDY.corpus.shard_size, STUDY.rewriting.candidates, attempt
        ),
        gpu=lambda wildcards: ask.gpus(writer_of(wildcards)),
        # how requests are sent comes as resources, which rerun nothing; `resources: connections` in a profile caps all jobs
        connections=lambda wildcards: writer_of(wildcards).connections,
        request_timeout=lambda wildcards: writer_of(wildcards).timeout_seconds,
        request_retries=lambda wildcards: writer_of(wildcards).max_retries,
    params:
        # the key of the between-workflow cache holds parameters, not wildcards
        code=code("extract_keyphrases_with_llm"),
        shard=lambda wildcards: wildcards.shard,
        writer=lambda wildcards: writer_of(wildcards).params(),
        prompt=lambda wildcards: load_prompt(STUDY.keyphrases.prompt),
        max_phrases=STUDY.keyphrases.max_phrases,
        ngram_range=list(STUDY.keyphrases.ngram_range),
        candidates=STUDY.rewriting.candidates,
        seed=STUDY.seed,
    script:
        "../scripts/extract_keyphrases_with_llm.py"


rule rewrite_with_llm:
    input:
        shard="<results>/corpus/{shard}.parquet",
        keyphrases="<results>/keyphrases/{shard}.parquet",
    output:
        variant="<results>/variants/{variant}/{shard}.parquet",
        candidates="<results>/variants/{variant}/{shard}.candidates.parquet",
    log:
        "<logs>/variants/{variant}/{shard}.log",
    wildcard_constraints:
        variant=any_of(STUDY.written),
    cache: "omit-software"
    conda:
        "../../envs/homogenization.yaml"
    threads: 2
    resources:
        mem_mb=lambda wildcards, attempt: ask.writer_memory(writer_of(wildcards), attempt),
        runtime=lambda wildcards, attempt: ask.writer_runtime(
            writer_of(wildcards), STUDY.corpus.shard_size, STUDY.rewriting.candidates, attempt
        ),
        # the encoder of `similarity` judges candidates too
        gpu=lambda wildcards: max(
            ask.gpus(writer_of(wildcards)),
            ask.encoder_gpus(STUDY.similarity) if STUDY.rewriting.min_f1 is not None else 0,
        ),
        connections=lambda wildcards: writer_of(wildcards).connections,
        request_timeout=lambda wildcards: writer_of(wildcards).timeout_seconds,
        request_retries=lambda wildcards: writer_of(wildcards).max_retries,
    params:
        code=code("rewrite_with_llm"),
        variant=lambda wildcards: wildcards.variant,
        shard=lambda wildcards: wildcards.shard,
        writer=lambda wildcards: writer_of(wildcards).params(),
        prompt=lambda wildcards: load_prompt(STUDY.variants[wildcards.variant].prompt),
        position=lambda wildcards: STUDY.variants[wildcards.variant].position,
        filters=STUDY.rewriting.params(),
        encoder=STUDY.similarity.encoder.params() if STUDY.rewriting.min_f1 is not None else None,
        layer=STUDY.similarity.layer if STUDY.rewriting.min_f1 is not None else None,
        device=STUDY.similarity.device,
        batch_size=STUDY.similarity.batch_size,
        seed=STUDY.seed,
    script:
        "../scripts/rewrite_with_llm.py"


if STUDY.written:

    rule tabulate_rewriting:
        input:
            shards=expand("<results>/corpus/{shard}.parquet", shard=STUDY.shards),
            candidates=over_variants("<results>/variants/{variant}/{shard}.candidates.parquet", STUDY.written),
        output:
            candidates="<results>/tables/candidates.parquet",
            rewriting=report(
                "<results>/tables/rewriting.csv",
                caption="../report/rewriting.rst",
                category="Data",
                labels={"table": "rejected rewritings"},
            ),
        log:
            "<logs>/tables/tabulate_rewriting.log",
        conda:
            "../../envs/homogenization.yaml"
        params:
            code=code("tabulate_rewriting"),
            jobs=[[v, s] for v in sorted(STUDY.written) for s in STUDY.shards],
        script:
            "../scripts/tabulate_rewriting.py"
