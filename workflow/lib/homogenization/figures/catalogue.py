"""What the Snakefile knows of figures without drawing: their titles, and the metrics of the figure of the first token.

The configuration can replace the titles; those of metric figures come with the metrics.
"""

FIGURE_TITLES = {
    "mauve": "MAUVE between consecutive layers",
    "attention_profile": "Attention received, by position in the review",
    "attention_heatmap": "Attention received, relative to uniform attention",
    "cosine_histogram": "Cosines between the tokens of a review, by layer",
    "similarity": "Similarity of the variants to the original reviews",
    "placement": "Where the key phrases stand in their sentences",
    "first_token": "The first token and the others, by depth",
    "contrast": "Differences between variants",
    "first_token_scatter": "Singular anisotropy and the first token",
    "components": "What each component of a block adds to anisotropy",
    "sensitivity": "What the metrics answer to",
    "claims": "Published claims, judged on these reviews",
}

# The figure `first_token` needs one of these among the configured metrics, and shows those that are.
FIRST_TOKEN_METRICS = (
    "first_token_norm",
    "other_token_norm",
    "first_token_energy_share",
    "first_token_attention_share",
    "cosine_to_first_token",
)
