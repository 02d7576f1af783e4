# Key phrases of each review -> the review with these phrases elsewhere -> how similar it stayed.


rule count_document_frequencies:
    input:
        clean="<results>/corpus/clean.parquet",
    output:
        frequencies="<results>/keyphrases/document_frequencies.parquet",
    log:
        "<logs>/keyphrases/count_document_frequencies.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("count_document_frequencies"),
        ngram_range=list(STUDY.keyphrases.ngram_range),
        min_document_frequency=STUDY.keyphrases.min_document_frequency,
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
    wildcard_constraints:
        shard=r"(?!)" if STUDY.keyphrases.scorer == "llm" else r"\d+",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("extract_keyphrases"),
        scorer=STUDY.keyphrases.scorer,
        max_phrases=STUDY.keyphrases.max_phrases,
        ngram_range=list(STUDY.keyphrases.ngram_range),
        keybert=STUDY.keyphrases.keybert.params() if STUDY.keyphrases.scorer == "keybert" else None,
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
    wildcard_constraints:
        variant=any_of([name for name in STUDY.variants if name not in STUDY.written]),
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("rewrite_reviews"),
        rewriter=lambda wildcards: STUDY.variants[wildcards.variant].rewriter,
        position=lambda wildcards: STUDY.variants[wildcards.variant].position,
        seed=STUDY.seed,
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
    conda:
        "../../envs/homogenization.yaml"
    resources:
        gpu=ask.encoder_gpus(STUDY.similarity),
    params:
        code=code("score_similarity"),
        encoder=STUDY.similarity.encoder.params(),
        layer=STUDY.similarity.layer,
        device=STUDY.similarity.device,
        batch_size=STUDY.similarity.batch_size,
    script:
        "../scripts/score_similarity.py"


rule score_random_pairs:
    input:
        original="<results>/corpus/{shard}.parquet",
    output:
        similarity="<results>/similarity/random_pairs/{shard}.parquet",
    log:
        "<logs>/similarity/random_pairs/{shard}.log",
    conda:
        "../../envs/homogenization.yaml"
    resources:
        gpu=ask.encoder_gpus(STUDY.similarity),
    params:
        code=code("score_random_pairs"),
        encoder=STUDY.similarity.encoder.params(),
        layer=STUDY.similarity.layer,
        device=STUDY.similarity.device,
        batch_size=STUDY.similarity.batch_size,
        seed=STUDY.seed,
    script:
        "../scripts/score_random_pairs.py"
