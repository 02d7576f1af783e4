# Key phrases of each review -> the review with these phrases elsewhere -> its similarity to the original, its fluency.
ENCODER = STUDY.similarity.params("encoder", "layer") | {"device": STUDY.device}
ENCODER_FILES = STUDY.similarity.encoder.files(STUDY.results)
READER = STUDY.fluency.params("weights", "dtype") | {"device": STUDY.device} if STUDY.fluency else None
READER_FILES = STUDY.fluency.weights.files(STUDY.results) if STUDY.fluency else []


def writing_device(wildcards):
    """Where the language model of a job runs that writes; an endpoint runs it elsewhere."""
    return STUDY.device if hasattr(writer_of(wildcards), "weights") else None


def writer_params(wildcards):
    """The language model that writes, as a job makes it."""
    return writer_of(wildcards).params() | when(writing_device(wildcards), device=STUDY.device)


# of jobs in which a language model writes; `resources: connections` in a profile caps the sum over all jobs
WRITING = {
    # keys and values of the texts being written take as much as the weights
    "mem_mb": memory(writing_device, times=2),
    "runtime": per_attempt(480),
    "gpu": lambda wildcards: ask.gpus(writing_device(wildcards)),
    "connections": lambda wildcards: writer_of(wildcards).connections,
    "timeout_seconds": lambda wildcards: writer_of(wildcards).timeout_seconds,
    "max_retries": lambda wildcards: writer_of(wildcards).max_retries,
}


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


if STUDY.keyphrases.scorer == "tfidf":

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
            min_document_frequency=STUDY.keyphrases.min_document_frequency,
        script:
            "../scripts/weigh_words.py"

    rule extract_keyphrases:
        """Finds the key phrases of a shard's reviews by the weights of their words."""
        input:
            shard="<results>/corpus/{shard}.parquet",
            parse="<results>/parses/{shard}.spacy",
            weights="<results>/keyphrases/weights.parquet",
        output:
            keyphrases="<results>/keyphrases/{shard}.parquet",
        log:
            "<logs>/keyphrases/{shard}.log",
        conda:
            "../../envs/texts.yaml"
        params:
            code=code("extract_keyphrases", "corpus", "variants"),
            max_phrases=STUDY.keyphrases.max_phrases,
            ngram_range=list(STUDY.keyphrases.ngram_range),
        script:
            "../scripts/extract_keyphrases.py"

elif STUDY.keyphrases.scorer == "column":

    rule take_keyphrases:
        """Takes the key phrases of a shard's reviews from a column of the corpus."""
        input:
            shard="<results>/corpus/{shard}.parquet",
        output:
            keyphrases="<results>/keyphrases/{shard}.parquet",
        log:
            "<logs>/keyphrases/{shard}.log",
        conda:
            "../../envs/texts.yaml"
        params:
            code=code("take_keyphrases", "corpus", "variants"),
            max_phrases=STUDY.keyphrases.max_phrases,
            column=STUDY.keyphrases.column,
        script:
            "../scripts/take_keyphrases.py"

else:
    # the language model that finds key phrases
    FINDER = STUDY.writers[STUDY.keyphrases.writer]

    rule extract_keyphrases_with_llm:
        """Lets a language model find the key phrases of a shard's reviews."""
        input:
            shard="<results>/corpus/{shard}.parquet",
            weights=FINDER.files(STUDY.results),
        output:
            keyphrases="<results>/keyphrases/{shard}.parquet",
        log:
            "<logs>/keyphrases/{shard}.log",
        cache: "omit-software"
        conda:
            "../../envs/torch.yaml"
        threads: FINDER.threads
        resources:
            **WRITING,
        params:
            code=code("extract_keyphrases_with_llm", "corpus", "models", "variants", "writers"),
            # the key of the between-workflow cache holds parameters, not wildcards
            shard=lambda wildcards: wildcards.shard,
            module=FINDER.module,
            writer=writer_params,
            prompt=load_prompt(STUDY.keyphrases.prompt),
            max_phrases=STUDY.keyphrases.max_phrases,
            ngram_range=list(STUDY.keyphrases.ngram_range),
            candidates=STUDY.rewriting.candidates,
            seed=STUDY.seed,
        script:
            "../scripts/extract_keyphrases_with_llm.py"


# key phrases; none in a study whose variants need none
PHRASES = expand("<results>/keyphrases/{shard}.parquet", shard=STUDY.shards) if STUDY.phrased else []


rule rewrite_reviews:
    """Moves phrases, blocks of words or sentences of a shard's reviews by rule, or keeps the reviews."""
    input:
        shard="<results>/corpus/{shard}.parquet",
        keyphrases="<results>/keyphrases/{shard}.parquet" if STUDY.phrased else [],
        parse=lambda wildcards: "<results>/parses/{shard}.spacy" if wildcards.variant in STUDY.parsed else [],
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
        chosen=lambda wildcards: STUDY.variants[wildcards.variant].params(),
        seed=STUDY.seed,
    script:
        "../scripts/rewrite_reviews.py"


if STUDY.written:

    rule rewrite_with_llm:
        """Lets a language model write one variant of a shard's reviews."""
        input:
            shard="<results>/corpus/{shard}.parquet",
            keyphrases="<results>/keyphrases/{shard}.parquet",
            weights=lambda wildcards: writer_of(wildcards).files(STUDY.results),
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
        threads: lambda wildcards: writer_of(wildcards).threads
        resources:
            **WRITING,
        params:
            code=code("rewrite_with_llm", "corpus", "models", "variants", "writers"),
            variant=lambda wildcards: wildcards.variant,
            shard=lambda wildcards: wildcards.shard,
            module=lambda wildcards: writer_of(wildcards).module,
            writer=writer_params,
            prompt=lambda wildcards: load_prompt(STUDY.variants[wildcards.variant].prompt),
            position=lambda wildcards: STUDY.variants[wildcards.variant].position,
            filters=STUDY.rewriting.params(),
            seed=STUDY.seed,
        script:
            "../scripts/rewrite_with_llm.py"


rule score_similarity:
    """Scores variants of a shard against the originals by BERTScore; with those by rule, pairs of unrelated reviews."""
    input:
        original="<results>/corpus/{shard}.parquet",
        variants=[f"<results>/variants/{variant}/{{shard}}.parquet" for variant in STUDY.moved],
        encoder=ENCODER_FILES,
    output:
        random_pairs="<results>/similarity/random_pairs/{shard}.parquet",
        variants=[f"<results>/similarity/{variant}/{{shard}}.parquet" for variant in STUDY.moved],
    log:
        "<logs>/similarity/{shard}.log",
    conda:
        "../../envs/torch.yaml"
    resources:
        mem_mb=memory(),
        runtime=per_attempt(120),
        gpu=ask.gpus(STUDY.device),
    params:
        code=code("score_similarity", "corpus", "models", "variants"),
        encoder=ENCODER,
        seed=STUDY.seed,
    script:
        "../scripts/score_similarity.py"


if STUDY.written:

    # of a variant that a language model writes
    use rule score_similarity as score_written with:
        input:
            original="<results>/corpus/{shard}.parquet",
            variants=["<results>/variants/{variant}/{shard}.parquet"],
            encoder=ENCODER_FILES,
        output:
            variants=["<results>/similarity/{variant}/{shard}.parquet"],
        log:
            "<logs>/similarity/{variant}/{shard}.log",
        wildcard_constraints:
            variant=any_of(STUDY.written),


if STUDY.fluency:

    rule score_fluency:
        """Scores texts of a shard by their loss under a language model: the originals with the variants by rule."""
        input:
            variants=[f"<results>/variants/{variant}/{{shard}}.parquet" for variant in ["original", *STUDY.moved]],
            weights=READER_FILES,
        output:
            variants=[f"<results>/fluency/{variant}/{{shard}}.parquet" for variant in ["original", *STUDY.moved]],
        log:
            "<logs>/fluency/{shard}.log",
        conda:
            "../../envs/torch.yaml"
        resources:
            mem_mb=memory(),
            runtime=per_attempt(240),
            gpu=ask.gpus(STUDY.device),
        params:
            code=code("score_fluency", "corpus", "models", "variants"),
            reader=READER,
        script:
            "../scripts/score_fluency.py"


if STUDY.fluency and STUDY.written:

    use rule score_fluency as score_written_fluency with:
        input:
            variants=["<results>/variants/{variant}/{shard}.parquet"],
            weights=READER_FILES,
        output:
            variants=["<results>/fluency/{variant}/{shard}.parquet"],
        log:
            "<logs>/fluency/{variant}/{shard}.log",
        wildcard_constraints:
            variant=any_of(STUDY.written),


rule write_audit_sheet:
    """Draws changed sentences of all variants for a blind reading: a table to fill in."""
    input:
        variants=expand(
            "<results>/variants/{variant}/{shard}.parquet", variant=STUDY.audited_variants, shard=STUDY.shards
        ),
    output:
        sheet="<results>/audit/sheet.csv",
    log:
        "<logs>/audit/write_audit_sheet.log",
    conda:
        "../../envs/texts.yaml"
    params:
        code=code("write_audit_sheet", "corpus", "variants"),
        n_passages=STUDY.audit.passages,
        seed=STUDY.seed,
    script:
        "../scripts/write_audit_sheet.py"
