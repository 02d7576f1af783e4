# States -> singular values, geometry, received attention, MAUVE -> long tables.


rule compute_spectra:
    input:
        states="<results>/states/{model}/{variant}/{shard}.zarr.zip",
    output:
        spectra="<results>/spectra/{model}/{variant}/{shard}.parquet",
    log:
        "<logs>/spectra/{model}/{variant}/{shard}.log",
    conda:
        "../../envs/homogenization.yaml"
    resources:
        runtime=per_attempt(240),
    params:
        code=code("compute_spectra"),
        views=sorted(STUDY.views),
    script:
        "../scripts/compute_spectra.py"


rule compute_geometry:
    input:
        states="<results>/states/{model}/{variant}/{shard}.zarr.zip",
    output:
        geometry="<results>/geometry/{model}/{variant}/{shard}.parquet",
    log:
        "<logs>/geometry/{model}/{variant}/{shard}.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("compute_geometry"),
        n_bins=40,
    script:
        "../scripts/compute_geometry.py"


rule compute_attention:
    input:
        states="<results>/states/{model}/{variant}/{shard}.zarr.zip",
    output:
        attention="<results>/attention/{model}/{variant}/{shard}.parquet",
    log:
        "<logs>/attention/{model}/{variant}/{shard}.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("compute_attention"),
        n_bins=20,
    script:
        "../scripts/compute_attention.py"


rule compute_mauve:
    input:
        states="<results>/states/{model}/{variant}/{shard}.zarr.zip",
    output:
        mauve="<results>/mauve/{model}/{variant}/{shard}.parquet",
    log:
        "<logs>/mauve/{model}/{variant}/{shard}.log",
    conda:
        "../../envs/homogenization.yaml"
    resources:
        runtime=per_attempt(240),
    params:
        code=code("compute_mauve"),
        n_tokens=STUDY.mauve.n_tokens,
        seeds=list(range(STUDY.seed, STUDY.seed + STUDY.mauve.seeds)),
        scale=STUDY.mauve.scale,
    script:
        "../scripts/compute_mauve.py"


rule tabulate_metrics:
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
        mem_mb=per_attempt(2000 + 60 * len(STUDY.jobs)),
    params:
        code=code("tabulate_metrics"),
        jobs=STUDY.jobs,
        metrics=sorted(STUDY.tabulated_metrics),
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
    conda:
        "../../envs/homogenization.yaml"
    resources:
        mem_mb=per_attempt(2000 + 60 * len(STUDY.jobs)),
    params:
        code=code("summarise_metrics"),
    script:
        "../scripts/summarise_metrics.py"


rule tabulate_mauve:
    input:
        mauve=over_jobs("<results>/mauve/{model}/{variant}/{shard}.parquet"),
    output:
        mauve="<results>/tables/mauve.parquet",
    log:
        "<logs>/tables/tabulate_mauve.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("tabulate_mauve"),
        jobs=STUDY.jobs,
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
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("tabulate_attention"),
        jobs=STUDY.jobs,
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
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("tabulate_cosines"),
        jobs=STUDY.jobs,
    script:
        "../scripts/tabulate_cosines.py"


rule tabulate_extraction:
    input:
        runs=over_jobs("<results>/states/{model}/{variant}/{shard}.json"),
    output:
        extraction="<results>/tables/extraction.parquet",
    log:
        "<logs>/tables/tabulate_extraction.log",
    conda:
        "../../envs/homogenization.yaml"
    params:
        code=code("tabulate_extraction"),
        jobs=STUDY.jobs,
    script:
        "../scripts/tabulate_extraction.py"
