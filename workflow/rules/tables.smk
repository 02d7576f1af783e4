# Files of variants, states and measures -> long tables over all models, variants and shards.


rule tabulate_similarity:
    """Applies the threshold of acceptance to the similarity of all rewritten reviews."""
    input:
        similarity=over_variants("<results>/similarity/{variant}/{shard}.parquet", STUDY.rewritten),
        random_pairs=expand("<results>/similarity/random_pairs/{shard}.parquet", shard=STUDY.shards),
        fluency=over_variants("<results>/fluency/{variant}/{shard}.parquet", STUDY.variants) if STUDY.fluency else [],
    output:
        similarity="<results>/tables/similarity.parquet",
        acceptance=report(
            "<results>/tables/acceptance.csv",
            caption="../report/acceptance.rst",
            category="Data",
            labels={"table": "accepted rewritings"},
        ),
    log:
        "<logs>/tables/tabulate_similarity.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("tabulate", "tables.similarity"),
        module="tables.similarity",
        variants=sorted(STUDY.rewritten),
        threshold=STUDY.similarity.threshold,
        max_excess=STUDY.fluency.max_excess if STUDY.fluency else None,
        n_reviews=STUDY.corpus.n_reviews,
    script:
        "../scripts/tabulate.py"


rule tabulate_placement:
    """Collects where every key phrase stood and where it stands."""
    input:
        variants=over_variants("<results>/variants/{variant}/{shard}.parquet", STUDY.variants),
    output:
        placement="<results>/tables/placement.parquet",
    log:
        "<logs>/tables/tabulate_placement.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("tabulate", "tables.placement"),
        module="tables.placement",
    script:
        "../scripts/tabulate.py"


if STUDY.balanced:

    rule tabulate_balance:
        """Differences between variants and their controls in what else may move a metric."""
        input:
            variants=over_variants("<results>/variants/{variant}/{shard}.parquet", STUDY.variants),
            similarity="<results>/tables/similarity.parquet",
            weights=[
                file
                for name, model in STUDY.models.items()
                for file in as_they_lie(model.weights.files(STUDY.results, name))
            ],
        output:
            balance=report(
                "<results>/tables/balance.csv",
                caption="../report/balance.rst",
                category="Data",
                labels={"table": "balance of the controls"},
            ),
        log:
            "<logs>/tables/tabulate_balance.log",
        conda:
            "../../envs/homogenization.yaml"
        params:
            code=code("tabulate", "tables.balance"),
            module="tables.balance",
            pairs=STUDY.balanced,
            models={
                name: model.params("weights") | {"files": model.weights.built_files(RESULTS, name)}
                for name, model in sorted(STUDY.models.items())
            },
            max_imbalance=STUDY.contrasts.max_imbalance,
        script:
            "../scripts/tabulate.py"


if STUDY.written:

    rule tabulate_rewriting:
        """Collects the candidates of language models with their judgements."""
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
            code=code("tabulate", "tables.rewriting"),
            module="tables.rewriting",
        script:
            "../scripts/tabulate.py"


rule tabulate_metrics:
    """Every metric of every accepted review."""
    input:
        spectra=over_jobs("<results>/spectra/{model}/{variant}/{shard}.parquet"),
        geometry=over_jobs("<results>/geometry/{model}/{variant}/{shard}.parquet"),
        attention=(
            over_jobs("<results>/attention/{model}/{variant}/{shard}.parquet") if STUDY.states.record_attention else []
        ),
        similarity="<results>/tables/similarity.parquet",
    output:
        metrics="<results>/tables/metrics.parquet",
    log:
        "<logs>/tables/tabulate_metrics.log",
    conda:
        "../../envs/homogenization.yaml"
    resources:
        mem_mb=per_attempt(2000 + 6 * STUDY.n_readings // 5),
    params:
        code=code("tabulate", "tables.metrics"),
        module="tables.metrics",
        metrics=sorted(STUDY.tabulated_metrics),
    script:
        "../scripts/tabulate.py"


rule tabulate_summary:
    """Every metric averaged over reviews."""
    input:
        metrics="<results>/tables/metrics.parquet",
    output:
        summary="<results>/tables/summary.parquet",
        csv="<results>/tables/summary.csv",
    log:
        "<logs>/tables/tabulate_summary.log",
    conda:
        "../../envs/homogenization.yaml"
    resources:
        mem_mb=per_attempt(2000 + 6 * STUDY.n_readings // 5),
    params:
        code=code("tabulate", "tables.summary"),
        module="tables.summary",
    script:
        "../scripts/tabulate.py"


rule tabulate_mauve:
    """MAUVE between layers over shards and seeds."""
    input:
        mauve=over_jobs("<results>/mauve/{model}/{variant}/{shard}.parquet", STUDY.jobs_of(STUDY.mauve_variants)),
    output:
        mauve="<results>/tables/mauve.parquet",
    log:
        "<logs>/tables/tabulate_mauve.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("tabulate", "tables.mauve"),
        module="tables.mauve",
    script:
        "../scripts/tabulate.py"


if STUDY.states.record_attention:

    rule tabulate_attention:
        """Received attention by relative position, averaged over reviews."""
        input:
            attention=over_jobs("<results>/attention/{model}/{variant}/{shard}.parquet"),
            similarity="<results>/tables/similarity.parquet",
        output:
            attention="<results>/tables/attention.parquet",
        log:
            "<logs>/tables/tabulate_attention.log",
        conda:
            "../../envs/homogenization.yaml"
        params:
            code=code("tabulate", "tables.attention"),
            module="tables.attention",
        script:
            "../scripts/tabulate.py"


rule tabulate_cosines:
    """Cosines of token pairs, averaged over reviews."""
    input:
        geometry=over_jobs("<results>/geometry/{model}/{variant}/{shard}.parquet"),
        similarity="<results>/tables/similarity.parquet",
    output:
        cosines="<results>/tables/cosines.parquet",
    log:
        "<logs>/tables/tabulate_cosines.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("tabulate", "tables.cosines"),
        module="tables.cosines",
    script:
        "../scripts/tabulate.py"


if STUDY.intervention_jobs:

    rule tabulate_intervened:
        """Reduces runs with changed attention: reviews over parts of the depth, layers over reviews, and doses."""
        input:
            intervened=over_jobs("<results>/interventions/{model}/{variant}/{shard}.parquet", STUDY.intervention_jobs),
            doses=over_jobs("<results>/interventions/{model}/{variant}/{shard}.doses.parquet", STUDY.intervention_jobs),
            similarity="<results>/tables/similarity.parquet",
        output:
            intervened="<results>/tables/intervened.parquet",
            layers="<results>/tables/intervened_layers.parquet",
            doses=report(
                "<results>/tables/doses.csv",
                caption="../report/doses.rst",
                category="Causes",
                labels={"table": "doses of each condition"},
            ),
        log:
            "<logs>/tables/tabulate_intervened.log",
        conda:
            "../../envs/homogenization.yaml"
        resources:
            # the runs of one model and variant are in memory at a time
            mem_mb=per_attempt(4000 + STUDY.n_runs // 4),
        params:
            code=code("tabulate", "tables.intervened"),
            module="tables.intervened",
        script:
            "../scripts/tabulate.py"


rule tabulate_pooled:
    """Metrics of pooled tokens of every shard."""
    input:
        pooled=over_jobs("<results>/pooled/{model}/{variant}/{shard}.parquet", STUDY.jobs_of(STUDY.pooled.variants)),
    output:
        pooled="<results>/tables/pooled.parquet",
    log:
        "<logs>/tables/tabulate_pooled.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("tabulate", "tables.pooled"),
        module="tables.pooled",
    script:
        "../scripts/tabulate.py"


rule tabulate_extraction:
    """Time, memory and tokens of every extraction, and which reviews were too long."""
    input:
        runs=over_jobs("<results>/states/{model}/{variant}/{shard}.json"),
    output:
        extraction="<results>/tables/extraction.parquet",
        long_texts=report(
            "<results>/tables/long_texts.csv",
            caption="../report/long_texts.rst",
            category="Data",
            labels={"table": "long reviews"},
        ),
    log:
        "<logs>/tables/tabulate_extraction.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("tabulate", "tables.extraction"),
        module="tables.extraction",
    script:
        "../scripts/tabulate.py"


if STUDY.common_tokens:

    rule tabulate_common_length:
        """Metrics of every accepted review on a common number of tokens."""
        input:
            spectra=over_jobs("<results>/common_length/{model}/{variant}/{shard}.spectra.parquet"),
            geometry=over_jobs("<results>/common_length/{model}/{variant}/{shard}.geometry.parquet"),
            similarity="<results>/tables/similarity.parquet",
        output:
            common_length="<results>/tables/common_length.parquet",
        log:
            "<logs>/tables/tabulate_common_length.log",
        conda:
            "../../envs/homogenization.yaml"
        resources:
            mem_mb=per_attempt(2000 + 6 * STUDY.n_readings // 5),
        params:
            code=code("tabulate", "tables.common_length"),
            module="tables.common_length",
            metrics=STUDY.contrasted_metrics,
        script:
            "../scripts/tabulate.py"


if STUDY.component_jobs:

    rule tabulate_components:
        """Changes of the anisotropies of accepted reviews by each component of a block."""
        input:
            components=over_jobs("<results>/components/{model}/{variant}/{shard}.parquet", STUDY.component_jobs),
            similarity="<results>/tables/similarity.parquet",
        output:
            components="<results>/tables/components.parquet",
        log:
            "<logs>/tables/tabulate_components.log",
        conda:
            "../../envs/homogenization.yaml"
        params:
            code=code("tabulate", "tables.components"),
            module="tables.components",
        script:
            "../scripts/tabulate.py"


if STUDY.positional_jobs:

    rule tabulate_positional:
        """How positional the attention of each head is, and what positions alone predict."""
        input:
            positional=over_jobs("<results>/positional/{model}/{variant}/{shard}.parquet", STUDY.positional_jobs),
        output:
            positional="<results>/tables/positional.parquet",
            templates="<results>/tables/templates.parquet",
        log:
            "<logs>/tables/tabulate_positional.log",
        conda:
            "../../envs/homogenization.yaml"
        params:
            code=code("tabulate", "tables.positional"),
            module="tables.positional",
        script:
            "../scripts/tabulate.py"

    rule tabulate_sinks:
        """The tokens besides the first that draw attention or grow massive, by their text."""
        input:
            sinks=over_jobs("<results>/sinks/{model}/{variant}/{shard}.parquet", STUDY.positional_jobs),
            variants=over_variants("<results>/variants/{variant}/{shard}.parquet", STUDY.positional.variants),
            similarity="<results>/tables/similarity.parquet",
        output:
            sinks="<results>/tables/sinks.parquet",
        log:
            "<logs>/tables/tabulate_sinks.log",
        conda:
            "../../envs/homogenization.yaml"
        params:
            code=code("tabulate", "tables.sinks"),
            module="tables.sinks",
        script:
            "../scripts/tabulate.py"


if STUDY.consequences:

    rule tabulate_consequences:
        """Reduces what conditions do to tokens, predictions and pooled states to parts of the depth, by review."""
        input:
            metrics=over_jobs("<results>/consequences/{model}/{variant}/{shard}.parquet", STUDY.reading.of_variants),
            texts=over_jobs("<results>/consequences/{model}/{variant}/{shard}.texts.parquet", STUDY.reading.jobs),
            readings=expand("<results>/consequences/{model}.parquet", model=STUDY.reading.models),
            similarity="<results>/tables/similarity.parquet",
        output:
            consequences="<results>/tables/consequences.parquet",
        log:
            "<logs>/tables/tabulate_consequences.log",
        conda:
            "../../envs/homogenization.yaml"
        resources:
            mem_mb=per_attempt(8000),
        params:
            code=code("tabulate", "tables.consequences"),
            module="tables.consequences",
        script:
            "../scripts/tabulate.py"


if STUDY.trained_models:

    rule tabulate_training:
        """Losses of every training run."""
        input:
            losses=[file for *_, file in STUDY.losses],
        output:
            training="<results>/tables/training.parquet",
        log:
            "<logs>/tables/tabulate_training.log",
        conda:
            "../../envs/homogenization.yaml"
        params:
            code=code("tabulate", "tables.training"),
            module="tables.training",
            arms=[[arm, seed] for arm, seed, _ in STUDY.losses],
        script:
            "../scripts/tabulate.py"

    rule tabulate_arms:
        """Every metric of trained models over seeds, and of pairs of arms seed by seed."""
        input:
            summary="<results>/tables/summary.parquet",
            training="<results>/tables/training.parquet",
        output:
            arms="<results>/tables/arms.parquet",
        log:
            "<logs>/tables/tabulate_arms.log",
        conda:
            "../../envs/homogenization.yaml"
        params:
            code=code("tabulate", "tables.arms"),
            module="tables.arms",
            models=STUDY.trained_models,
            pairs=STUDY.arms,
        script:
            "../scripts/tabulate.py"
