# States -> singular values, geometry, received attention, MAUVE -> long tables.


rule compute_spectra:
    input:
        states="<results>/states/{model}/{variant}/{shard}.zarr.zip",
    output:
        spectra="<results>/spectra/{model}/{variant}/{shard}.parquet",
    log:
        "<logs>/spectra/{model}/{variant}/{shard}.log",
    benchmark:
        "<benchmarks>/spectra/{model}/{variant}/{shard}.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(2000),
        runtime=per_attempt(240),
    params:
        code=code("compute_spectra"),
        views=sorted(CONFIG.views),
    message:
        "Singular values: {wildcards.model}, {wildcards.variant}, shard {wildcards.shard}"
    script:
        "../scripts/compute_spectra.py"


rule compute_geometry:
    input:
        states="<results>/states/{model}/{variant}/{shard}.zarr.zip",
    output:
        geometry="<results>/geometry/{model}/{variant}/{shard}.parquet",
    log:
        "<logs>/geometry/{model}/{variant}/{shard}.log",
    benchmark:
        "<benchmarks>/geometry/{model}/{variant}/{shard}.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(2000),
        runtime=per_attempt(60),
    params:
        code=code("compute_geometry"),
        n_bins=40,
    message:
        "Norms and cosines: {wildcards.model}, {wildcards.variant}, shard {wildcards.shard}"
    script:
        "../scripts/compute_geometry.py"


rule compute_attention:
    input:
        states="<results>/states/{model}/{variant}/{shard}.zarr.zip",
    output:
        attention="<results>/attention/{model}/{variant}/{shard}.parquet",
    log:
        "<logs>/attention/{model}/{variant}/{shard}.log",
    benchmark:
        "<benchmarks>/attention/{model}/{variant}/{shard}.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(1000),
        runtime=per_attempt(30),
    params:
        code=code("compute_attention"),
        n_bins=20,
    message:
        "Received attention: {wildcards.model}, {wildcards.variant}, shard {wildcards.shard}"
    script:
        "../scripts/compute_attention.py"


rule compute_mauve:
    input:
        states="<results>/states/{model}/{variant}/{shard}.zarr.zip",
    output:
        mauve="<results>/mauve/{model}/{variant}/{shard}.parquet",
    log:
        "<logs>/mauve/{model}/{variant}/{shard}.log",
    benchmark:
        "<benchmarks>/mauve/{model}/{variant}/{shard}.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(2000),
        runtime=per_attempt(240),
    params:
        code=code("compute_mauve"),
        n_tokens=CONFIG.mauve.n_tokens,
        seeds=list(range(CONFIG.seed, CONFIG.seed + CONFIG.mauve.seeds)),
        scale=CONFIG.mauve.scale,
    message:
        "MAUVE between consecutive layers: {wildcards.model}, {wildcards.variant}, shard {wildcards.shard}"
    script:
        "../scripts/compute_mauve.py"


rule tabulate_similarity:
    input:
        similarity=[f"<results>/similarity/{variant}/{shard}.parquet" for variant, shard in REWRITING_JOBS],
        random_pairs=expand("<results>/similarity/random_pairs/{shard}.parquet", shard=SHARDS),
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
    benchmark:
        "<benchmarks>/tables/tabulate_similarity.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(4000),
        runtime=per_attempt(60),
    params:
        code=code("tabulate_similarity"),
        jobs=REWRITING_JOBS,
        threshold=CONFIG.similarity.threshold,
        n_reviews=CONFIG.corpus.n_reviews,
    message:
        "Accepting rewritten reviews by BERTScore"
    script:
        "../scripts/tabulate_similarity.py"


rule tabulate_placement:
    input:
        variants=[f"<results>/variants/{variant}/{shard}.parquet" for variant, shard in VARIANT_JOBS],
    output:
        placement="<results>/tables/placement.parquet",
    log:
        "<logs>/tables/tabulate_placement.log",
    benchmark:
        "<benchmarks>/tables/tabulate_placement.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(4000),
        runtime=per_attempt(60),
    params:
        code=code("tabulate_placement"),
        jobs=VARIANT_JOBS,
    message:
        "Collecting where key phrases stood and stand"
    script:
        "../scripts/tabulate_placement.py"


rule tabulate_metrics:
    input:
        spectra=over_jobs("<results>/spectra/{model}/{variant}/{shard}.parquet"),
        geometry=over_jobs("<results>/geometry/{model}/{variant}/{shard}.parquet"),
        attention=over_jobs("<results>/attention/{model}/{variant}/{shard}.parquet") if ATTENTION else [],
        similarity="<results>/tables/similarity.parquet",
    output:
        metrics="<results>/tables/metrics.parquet",
    log:
        "<logs>/tables/tabulate_metrics.log",
    benchmark:
        "<benchmarks>/tables/tabulate_metrics.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(2000 + 60 * len(JOBS)),
        runtime=per_attempt(60),
    params:
        code=code("tabulate_metrics"),
        jobs=JOBS,
        metrics=sorted(METRICS),
    message:
        "Computing metrics of every review and layer"
    script:
        "../scripts/tabulate_metrics.py"


rule summarise_metrics:
    input:
        metrics="<results>/tables/metrics.parquet",
    output:
        summary="<results>/tables/summary.parquet",
        csv="<results>/tables/summary.csv",
    log:
        "<logs>/tables/summarise_metrics.log",
    benchmark:
        "<benchmarks>/tables/summarise_metrics.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(2000 + 60 * len(JOBS)),
        runtime=per_attempt(60),
    params:
        code=code("summarise_metrics"),
    message:
        "Averaging metrics over reviews"
    script:
        "../scripts/summarise_metrics.py"


rule tabulate_mauve:
    input:
        mauve=over_jobs("<results>/mauve/{model}/{variant}/{shard}.parquet"),
    output:
        mauve="<results>/tables/mauve.parquet",
    log:
        "<logs>/tables/tabulate_mauve.log",
    benchmark:
        "<benchmarks>/tables/tabulate_mauve.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(4000),
        runtime=per_attempt(60),
    params:
        code=code("tabulate_mauve"),
        jobs=JOBS,
    message:
        "Collecting MAUVE over shards and seeds"
    script:
        "../scripts/tabulate_mauve.py"


rule tabulate_attention:
    input:
        attention=over_jobs("<results>/attention/{model}/{variant}/{shard}.parquet"),
        similarity="<results>/tables/similarity.parquet",
    output:
        attention="<results>/tables/attention.parquet",
    log:
        "<logs>/tables/tabulate_attention.log",
    benchmark:
        "<benchmarks>/tables/tabulate_attention.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(4000),
        runtime=per_attempt(60),
    params:
        code=code("tabulate_attention"),
        jobs=JOBS,
    message:
        "Averaging received attention over reviews"
    script:
        "../scripts/tabulate_attention.py"


rule tabulate_cosines:
    input:
        geometry=over_jobs("<results>/geometry/{model}/{variant}/{shard}.parquet"),
        similarity="<results>/tables/similarity.parquet",
    output:
        cosines="<results>/tables/cosines.parquet",
    log:
        "<logs>/tables/tabulate_cosines.log",
    benchmark:
        "<benchmarks>/tables/tabulate_cosines.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(4000),
        runtime=per_attempt(60),
    params:
        code=code("tabulate_cosines"),
        jobs=JOBS,
    message:
        "Averaging histograms of cosines over reviews"
    script:
        "../scripts/tabulate_cosines.py"


rule tabulate_extraction:
    input:
        runs=over_jobs("<results>/states/{model}/{variant}/{shard}.json"),
    output:
        extraction="<results>/tables/extraction.parquet",
    log:
        "<logs>/tables/tabulate_extraction.log",
    benchmark:
        "<benchmarks>/tables/tabulate_extraction.tsv"
    conda:
        "../../envs/homogenization.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(4000),
        runtime=per_attempt(60),
    params:
        code=code("tabulate_extraction"),
        jobs=JOBS,
    message:
        "Collecting time, memory and tokens of the extraction"
    script:
        "../scripts/tabulate_extraction.py"
