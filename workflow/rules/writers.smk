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
        shard=r"\d+" if CONFIG.keyphrases.scorer == "llm" else "(?!)",
    cache: "omit-software"
    conda:
        "../../envs/homogenization.yaml"
    threads: 2
    resources:
        mem_mb=writer_memory,
        runtime=writer_runtime,
        gpu=lambda wildcards: gpus_of(writer_of(wildcards)),
        # how requests are sent comes as resources, which rerun nothing; `resources: connections` in a profile caps all jobs
        connections=lambda wildcards: writer_of(wildcards).connections,
        request_timeout=lambda wildcards: writer_of(wildcards).timeout_seconds,
        request_retries=lambda wildcards: writer_of(wildcards).max_retries,
    params:
        # the key of the between-workflow cache holds parameters, not wildcards
        code=code("extract_keyphrases_with_llm"),
        shard=lambda wildcards: wildcards.shard,
        writer=lambda wildcards: plain(writer_of(wildcards)),
        prompt=lambda wildcards: load_prompt(CONFIG.keyphrases.prompt),
        max_phrases=CONFIG.keyphrases.max_phrases,
        ngram_range=list(CONFIG.keyphrases.ngram_range),
        candidates=CONFIG.rewriting.candidates,
        seed=CONFIG.seed,
    message:
        "Asking a language model for key phrases of shard {wildcards.shard}"
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
        variant=any_of(WRITTEN),
    cache: "omit-software"
    conda:
        "../../envs/homogenization.yaml"
    threads: 2
    resources:
        mem_mb=writer_memory,
        runtime=writer_runtime,
        # the encoder of `similarity` judges candidates too
        gpu=lambda wildcards: max(gpus_of(writer_of(wildcards)), gpus_of_encoder(CONFIG.rewriting.min_f1 is not None)),
        connections=lambda wildcards: writer_of(wildcards).connections,
        request_timeout=lambda wildcards: writer_of(wildcards).timeout_seconds,
        request_retries=lambda wildcards: writer_of(wildcards).max_retries,
    params:
        code=code("rewrite_with_llm"),
        variant=lambda wildcards: wildcards.variant,
        shard=lambda wildcards: wildcards.shard,
        writer=lambda wildcards: plain(writer_of(wildcards)),
        prompt=lambda wildcards: load_prompt(CONFIG.variants[wildcards.variant].prompt),
        position=lambda wildcards: CONFIG.variants[wildcards.variant].position,
        filters=plain(CONFIG.rewriting),
        encoder=plain(CONFIG.similarity.encoder) if CONFIG.rewriting.min_f1 is not None else None,
        layer=CONFIG.similarity.layer if CONFIG.rewriting.min_f1 is not None else None,
        device=CONFIG.similarity.device,
        batch_size=CONFIG.similarity.batch_size,
        seed=CONFIG.seed,
    message:
        "Asking a language model to rewrite shard {wildcards.shard}: {wildcards.variant}"
    script:
        "../scripts/rewrite_with_llm.py"


rule tabulate_rewriting:
    input:
        shards=expand("<results>/corpus/{shard}.parquet", shard=SHARDS),
        candidates=[f"<results>/variants/{variant}/{shard}.candidates.parquet" for variant, shard in WRITING_JOBS],
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
    benchmark:
        "<benchmarks>/tables/tabulate_rewriting.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(4000),
        runtime=per_attempt(60),
    params:
        code=code("tabulate_rewriting"),
        jobs=WRITING_JOBS,
    message:
        "Counting why candidates of language models were rejected"
    script:
        "../scripts/tabulate_rewriting.py"
