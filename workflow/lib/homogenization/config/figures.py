"""What the configuration says about figures, as plain values."""

from typing import Any

from homogenization.config.study import Study


def shown_of(study: Study) -> dict[str, Any]:
    """The fields of `figures.grammar.Shown` that all figures have."""
    blocks = {name: study.variants[name].blocks for name in study.ladder}
    return {
        "models": {name: study.figures.labels.get(name, name) for name in study.models},
        "variants": {name: study.figures.labels.get(name, name) for name in study.variants},
        "ladder": sorted(blocks, key=lambda name: (blocks[name] == "words", blocks[name])),
        "pairs": study.contrasted,
        "margin": study.contrasts.margin,
        "threshold": study.similarity.threshold,
        "min_reviews": study.contrasts.min_reviews,
    }
