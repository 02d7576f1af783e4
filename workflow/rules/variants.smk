# Key phrases of each review -> the review with these phrases elsewhere -> how similar it stayed.


rule count_document_frequencies:
    input:
        clean="<results>/corpus/clean.parquet",
    output:
        frequencies="<results>/keyphrases/document_frequencies.parquet",
    log:
        "<logs>/keyphrases/count_document_frequencies.log",
    benchmark:
        "<benchmarks>/keyphrases/count_document_frequencies.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(4000),
        runtime=per_attempt(30),
    params:
        code=code("count_document_frequencies"),
        ngram_range=list(CONFIG.keyphrases.ngram_range),
        min_document_frequency=CONFIG.keyphrases.min_document_frequency,
    message:
        "Counting in how many reviews of the corpus each term occurs"
    script:
        "../scripts/count_document_frequencies.py"


rule extract_keyphrases:
    input:
        shard="<results>/corpus/{shard}.parquet",
        frequencies="<results>/keyphrases/document_frequencies.parquet",
    output:
        keyphrases="<results>/keyphrases/{shard}.parquet",
    log:
        "<logs>/keyphrases/{shard}.log",
    benchmark:
        "<benchmarks>/keyphrases/{shard}.tsv"
    wildcard_constraints:
        shard=r"(?!)" if CONFIG.keyphrases.scorer == "llm" else r"\d+",
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(2000),
        runtime=per_attempt(30),
    params:
        code=code("extract_keyphrases"),
        scorer=CONFIG.keyphrases.scorer,
        max_phrases=CONFIG.keyphrases.max_phrases,
        ngram_range=list(CONFIG.keyphrases.ngram_range),
        keybert=plain(CONFIG.keyphrases.keybert) if CONFIG.keyphrases.scorer == "keybert" else None,
    message:
        "Finding key phrases of shard {wildcards.shard}"
    script:
        "../scripts/extract_keyphrases.py"


rule rewrite_reviews:
    input:
        shard="<results>/corpus/{shard}.parquet",
        keyphrases="<results>/keyphrases/{shard}.parquet",
    output:
        variant="<results>/variants/{variant}/{shard}.parquet",
    log:
        "<logs>/variants/{variant}/{shard}.log",
    benchmark:
        "<benchmarks>/variants/{variant}/{shard}.tsv"
    wildcard_constraints:
        variant=any_of([name for name in VARIANTS if name not in WRITTEN]),
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(1000),
        runtime=per_attempt(10),
    params:
        code=code("rewrite_reviews"),
        rewriter=lambda wildcards: CONFIG.variants[wildcards.variant].rewriter,
        position=lambda wildcards: CONFIG.variants[wildcards.variant].position,
        seed=CONFIG.seed,
    message:
        "Rewriting shard {wildcards.shard}: {wildcards.variant}"
    script:
        "../scripts/rewrite_reviews.py"


rule score_similarity:
    input:
        original="<results>/corpus/{shard}.parquet",
        variant="<results>/variants/{variant}/{shard}.parquet",
    output:
        similarity="<results>/similarity/{variant}/{shard}.parquet",
    log:
        "<logs>/similarity/{variant}/{shard}.log",
    benchmark:
        "<benchmarks>/similarity/{variant}/{shard}.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(4000),
        runtime=per_attempt(60),
        gpu=gpus_of_encoder(),
    params:
        code=code("score_similarity"),
        encoder=plain(CONFIG.similarity.encoder),
        layer=CONFIG.similarity.layer,
        device=CONFIG.similarity.device,
        batch_size=CONFIG.similarity.batch_size,
    message:
        "BERTScore of shard {wildcards.shard}: {wildcards.variant} against original"
    script:
        "../scripts/score_similarity.py"


rule score_random_pairs:
    input:
        original="<results>/corpus/{shard}.parquet",
    output:
        similarity="<results>/similarity/random_pairs/{shard}.parquet",
    log:
        "<logs>/similarity/random_pairs/{shard}.log",
    benchmark:
        "<benchmarks>/similarity/random_pairs/{shard}.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(4000),
        runtime=per_attempt(60),
        gpu=gpus_of_encoder(),
    params:
        code=code("score_random_pairs"),
        encoder=plain(CONFIG.similarity.encoder),
        layer=CONFIG.similarity.layer,
        device=CONFIG.similarity.device,
        batch_size=CONFIG.similarity.batch_size,
        seed=CONFIG.seed,
    message:
        "BERTScore of shard {wildcards.shard}: unrelated reviews, the baseline"
    script:
        "../scripts/score_random_pairs.py"
