# Key phrases of each review -> the review with these phrases elsewhere -> its similarity to the original, its fluency.
# variants whose files have key phrases, and those that are made from the parse
PHRASED = STUDY.phrased
PARSED = set(STUDY.placed) - {*STUDY.written, *STUDY.given}
PHRASES = expand("<results>/keyphrases/{shard}.parquet", shard=STUDY.shards) if PHRASED else []


rule parse_reviews:
    """Parses the sentences of a shard's reviews, once for all variants by rule."""
    input:
        shard="<results>/corpus/{shard}.parquet",
    output:
        parse="<results>/parses/{shard}.spacy",
    log:
        "<logs>/parses/{shard}.log",
    conda:
        "../../envs/texts.yaml"
    params:
        code=code("parse_reviews", "corpus", "variants"),
        package=STUDY.parser.package,
    script:
        "../scripts/parse_reviews.py"


rule weigh_words:
    """Counts in how many reviews of the corpus each word occurs, and weighs it by their number."""
    input:
        clean="<results>/corpus/clean.parquet",
    output:
        weights="<results>/keyphrases/weights.parquet",
    log:
        "<logs>/keyphrases/weigh_words.log",
    conda:
        "../../envs/texts.yaml"
    params:
        code=code("weigh_words", "corpus", "variants"),
    script:
        "../scripts/weigh_words.py"


if STUDY.keyphrases.scorer != "llm":

    rule extract_keyphrases:
        """Finds the key phrases of a shard's reviews by the weights of their words, or takes those of a column."""
        input:
            shard="<results>/corpus/{shard}.parquet",
            parse="<results>/parses/{shard}.spacy" if STUDY.keyphrases.scorer == "tfidf" else [],
            weights="<results>/keyphrases/weights.parquet" if STUDY.keyphrases.scorer == "tfidf" else [],
        output:
            keyphrases="<results>/keyphrases/{shard}.parquet",
        log:
            "<logs>/keyphrases/{shard}.log",
        conda:
            "../../envs/texts.yaml"
        params:
            code=code("extract_keyphrases", "corpus", "variants"),
            chosen=STUDY.corpus.in_sample(STUDY.keyphrases.params()),
        script:
            "../scripts/extract_keyphrases.py"


rule rewrite_reviews:
    """Moves phrases, blocks of words or sentences of a shard's reviews by rule, keeps the reviews, or takes given texts."""
    input:
        shard="<results>/corpus/{shard}.parquet",
        keyphrases=lambda wildcards: "<results>/keyphrases/{shard}.parquet" if wildcards.variant in PHRASED else [],
        parse=lambda wildcards: "<results>/parses/{shard}.spacy" if wildcards.variant in PARSED else [],
    output:
        variant="<results>/variants/{variant}/{shard}.parquet",
    log:
        "<logs>/variants/{variant}/{shard}.log",
    wildcard_constraints:
        variant=any_of([name for name in STUDY.variants if name not in STUDY.written]),
    conda:
        "../../envs/texts.yaml"
    params:
        code=code("rewrite_reviews", "corpus", "variants"),
        chosen=lambda wildcards: STUDY.corpus.in_sample(STUDY.variants[wildcards.variant].params()),
        seed=STUDY.seed,
    script:
        "../scripts/rewrite_reviews.py"


rule rewrite_with_llm:
    """Lets a language model write one variant of a shard's reviews, or find their key phrases."""
    input:
        shard="<results>/corpus/{shard}.parquet",
        keyphrases="<results>/keyphrases/{shard}.parquet",
        weights=writer_files,
    output:
        variant="<results>/variants/{variant}/{shard}.parquet",
        candidates="<results>/variants/{variant}/{shard}.candidates.parquet",
    log:
        "<logs>/variants/{variant}/{shard}.log",
    wildcard_constraints:
        variant=any_of(STUDY.written),
    cache: "omit-software"
    conda:
        "../../envs/torch.yaml"
    threads: 2
    resources:
        # keys and values of the texts being written take as much as the weights
        mem_mb=memory(writing_device, times=2),
        runtime=per_attempt(480),
        gpu=lambda wildcards: ask.gpus(writing_device(wildcards)),
        # in a profile, `resources: connections` caps the sum over all jobs
        connections=lambda wildcards: writer_of(wildcards).connections,
    params:
        code=code("write_with_llm", "corpus", "models", "variants", "writers"),
        # the key of the between-workflow cache holds parameters, not wildcards
        shard=lambda wildcards: wildcards.shard,
        writer=lambda wildcards: writer_of(wildcards).params() | {"device": writing_device(wildcards)},
        prompt=lambda wildcards: load_prompt(STUDY.variants[wildcards.variant].prompt),
        chosen=lambda wildcards: {"variant": wildcards.variant, "position": STUDY.variants[wildcards.variant].position},
        n_candidates=STUDY.rewriting.candidates,
        seed=STUDY.seed,
    script:
        "../scripts/write_with_llm.py"


if STUDY.keyphrases.scorer == "llm":

    use rule rewrite_with_llm as extract_keyphrases_with_llm with:
        input:
            shard="<results>/corpus/{shard}.parquet",
            weights=writer_files,
        output:
            keyphrases="<results>/keyphrases/{shard}.parquet",
        log:
            "<logs>/keyphrases/{shard}.log",
        cache: "omit-software"
        params:
            prompt=load_prompt(STUDY.keyphrases.prompt),
            chosen=STUDY.keyphrases.params("max_phrases"),


rule score_similarity:
    """Scores the variants of a shard against the originals by BERTScore, and pairs of unrelated reviews."""
    input:
        original="<results>/corpus/{shard}.parquet",
        variants=[f"<results>/variants/{variant}/{{shard}}.parquet" for variant in sorted(STUDY.rewritten)],
        encoder=STUDY.similarity.encoder.files(STUDY.results),
    output:
        random_pairs="<results>/similarity/random_pairs/{shard}.parquet",
        variants=[f"<results>/similarity/{variant}/{{shard}}.parquet" for variant in sorted(STUDY.rewritten)],
    log:
        "<logs>/similarity/{shard}.log",
    conda:
        "../../envs/torch.yaml"
    resources:
        mem_mb=memory(),
        runtime=per_attempt(120),
        gpu=GPU,
    params:
        code=code("score_similarity", "corpus", "models", "variants"),
        encoder=STUDY.similarity.params("encoder", "layer") | {"device": STUDY.device},
        seed=STUDY.seed,
    script:
        "../scripts/score_similarity.py"


if STUDY.fluency:

    rule score_fluency:
        """Scores the texts of a shard by their loss under a language model."""
        input:
            variants=[f"<results>/variants/{variant}/{{shard}}.parquet" for variant in sorted(STUDY.variants)],
            weights=STUDY.fluency.weights.files(STUDY.results),
        output:
            variants=[f"<results>/fluency/{variant}/{{shard}}.parquet" for variant in sorted(STUDY.variants)],
        log:
            "<logs>/fluency/{shard}.log",
        conda:
            "../../envs/torch.yaml"
        resources:
            mem_mb=memory(),
            runtime=per_attempt(240),
            gpu=GPU,
        params:
            code=code("score_fluency", "corpus", "models", "variants"),
            reader=STUDY.fluency.params("weights") | {"device": STUDY.device},
        script:
            "../scripts/score_fluency.py"
