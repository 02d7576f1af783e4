# Transitional: goes when rule files collect their own outputs.
from snakemake.io import is_flagged

SAMPLES = over_jobs("<results>/samples/{model}/{variant}/{shard}.zarr.zip") if STUDY.states.sample_tokens else []
FIGURES = [
    f"<results>/figures/{figure}.{suffix}"
    for figure in (
        *(f"metrics/{metric}" for metric in STUDY.tabulated_metrics),
        "mauve",
        "cosine_histogram",
        *(
            ["first_token"]
            if {
                "first_token_norm",
                "other_token_norm",
                "first_token_energy_share",
                "first_token_attention_share",
                "cosine_to_first_token",
            }
            & set(STUDY.tabulated_metrics)
            else []
        ),
        *(["attention_profile", "attention_heatmap"] if STUDY.states.record_attention else []),
        *(["similarity", "placement"] if STUDY.rewritten else []),
        *([f"contrasts/{metric}" for metric in STUDY.contrasted_metrics] if STUDY.contrasted else []),
        *(["first_token_scatter"] if STUDY.correlates_first_token else []),
        *(["components"] if STUDY.component_jobs else []),
        *(["sensitivity"] if STUDY.sensitivity else []),
        *(["claims"] if STUDY.judged_claims else []),
    )
    for suffix in ("svg", "png")
]


def made_in(folder, reported=False):
    """Files that the rules above make in a folder of results; with `reported`, those that the report shows."""
    files = [str(file) for rule in workflow.rules for file in rule.output if not reported or is_flagged(file, "report")]
    return [file for file in files if Path(file).is_relative_to(Path(STUDY.results, folder))]
