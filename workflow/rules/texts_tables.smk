# What became of the texts -> tables.


rule tabulate_similarity:
    """Applies the threshold of acceptance to the similarity of all rewritten reviews."""
    input:
        similarity=over_variants("<results>/similarity/{variant}/{shard}.parquet", STUDY.rewritten),
        random_pairs=expand("<results>/similarity/random_pairs/{shard}.parquet", shard=STUDY.shards),
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
        threshold=STUDY.similarity.threshold,
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


if STUDY.written:

    rule tabulate_rewriting:
        """Collects what became of the candidates of language models."""
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
