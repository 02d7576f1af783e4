"""Every key of the configuration, and whether they fit each other."""

import os
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from homogenization.config.analysis import (
    Audit,
    ClaimsFiles,
    Components,
    Consequences,
    Contrasts,
    Figures,
    Mauve,
)
from homogenization.config.corpus import Corpus
from homogenization.config.interventions import Interventions
from homogenization.config.models import Model, States
from homogenization.config.paths import ExpandedPath
from homogenization.config.reading import FOLDS, check_conditions
from homogenization.config.texts import (
    DEFAULT_VARIANTS,
    AnyKeyphrases,
    AnyVariant,
    CountedKeyphrases,
    Fluency,
    Parser,
    Rewriting,
    Similarity,
    Untouched,
)
from homogenization.config.training import single_models
from homogenization.config.writers import AnyWriter
from homogenization.measures.views import VIEWS
from homogenization.metrics.catalogue import METRIC_NAMES
from homogenization.names.variants import RANDOM_PAIRS
from homogenization.run.errors import nearest
from homogenization.run.sections import Name, Section, names_of

# keys by which sections name entries of the study, and the section of these entries
_NAMED = {"models": "models", "variants": "variants", "pairs": "variants"}


class Keys(Section):
    """What a user may write."""

    results: ExpandedPath = Field("results", min_length=1)
    """Folder of everything that is made."""
    seed: int = Field(0, ge=0)
    """Seed of the sample, of MAUVE."""
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    """Where models, encoders and writers run; `auto`: CUDA, then MPS, then CPU."""
    corpus: Corpus
    writers: dict[Name, AnyWriter] = Field({})
    """Language models that write, by name."""
    parser: Parser = Parser()
    keyphrases: AnyKeyphrases = CountedKeyphrases()
    rewriting: Rewriting = Rewriting()
    variants: dict[Name, AnyVariant] = Field(DEFAULT_VARIANTS, validate_default=True)
    """Variants by name. Where none is called `original`, they are added to the defaults."""
    similarity: Similarity = Field({}, validate_default=True)
    fluency: Fluency | None = None
    """How well the texts read; null: not computed."""
    audit: Audit = Audit()
    models: dict[Name, Model] = Field(min_length=1)
    """Models by name."""
    states: States = States()
    views: names_of(VIEWS, 1) = Field(list(VIEWS))
    """How the token matrix is looked at."""
    metrics: names_of(METRIC_NAMES, 1) = Field(list(METRIC_NAMES))
    """Metrics to tabulate and draw."""
    mauve: Mauve = Mauve()
    contrasts: Contrasts = Contrasts()
    components: Components | None = None
    """Which blocks are taken apart; null: none."""
    interventions: Interventions | None = None
    """What is done to the attention of models; null: nothing."""
    consequences: Consequences | None = None
    """What homogenization costs, untouched and under interventions; null: not computed."""
    claims: ClaimsFiles = Field(["config/claims.yaml"], validate_default=True)
    """File of claims to judge, or several files; null: none."""
    figures: Figures = Figures()

    @field_validator("results")
    @classmethod
    def results_in_a_folder(cls, results: str, info: ValidationInfo) -> str:
        """It is a folder for results alone, where a folder can be made, spelt in one way."""
        if special := sorted(set(results) & set("*?")):
            raise ValueError(f"{results!r}: the name of a folder of results has no {' or '.join(map(repr, special))}")
        if "://" in results:
            raise ValueError(f"{results!r} is an address; name a folder")
        place, results = Path(results).resolve(), os.path.normpath(results)
        if Path.cwd().is_relative_to(place) or (place / "Snakefile").exists():
            raise ValueError(
                f"{results!r} holds other files than results (the working directory or a Snakefile); name a folder of "
                "its own, which may not exist yet"
            )
        there = next(folder for folder in (place, *place.parents) if folder.exists())
        if not there.is_dir():
            raise ValueError(f"{results!r}: {str(there)!r} is a file; name a folder, which may not exist yet")
        if there != place and not os.access(there, os.W_OK):
            raise ValueError(f"{results!r}: {str(there)!r} can't be written to; name another folder")
        return results

    @field_validator("keyphrases", "variants")
    @classmethod
    def writers_exist(cls, chosen: Any, info: ValidationInfo) -> Any:
        """The language models that find key phrases or rewrite are among the writers."""
        for name, entry in chosen.items() if isinstance(chosen, dict) else [("", chosen)]:
            _check_writer(entry, info, name and f"{name}: ")
        return chosen

    @field_validator("variants")
    @classmethod
    def original_among_variants(cls, variants: dict[str, AnyVariant]) -> dict[str, AnyVariant]:
        """The untouched reviews are a variant, since everything is compared with them."""
        if variants.get("original") != Untouched(rewriter="none"):
            raise ValueError("needs 'original: {rewriter: none}': every comparison starts from the untouched reviews")
        if RANDOM_PAIRS in variants:
            raise ValueError(f"the name {RANDOM_PAIRS!r} is taken by the workflow; choose another")
        return variants

    @field_validator("variants")
    @classmethod
    def variants_differ(cls, variants: dict[str, AnyVariant]) -> dict[str, AnyVariant]:
        """Each variant is made in a way of its own: two that are alike compare a text with itself."""
        for other, name in combinations(variants, 2):
            if variants[name] == variants[other]:
                raise ValueError(f"{other!r} and {name!r} are made alike; leave one of them out, or change it")
        return variants

    @field_validator("mauve", "contrasts", "components", "interventions", "consequences")
    @classmethod
    def names_exist(cls, chosen: Section | None, info: ValidationInfo) -> Section | None:
        """The models and variants that a section names are entries of the study."""
        for key, entries in _NAMED.items():
            _check_names(getattr(chosen, key, None) or (), info, entries, key)
        return chosen

    @field_validator("contrasts")
    @classmethod
    def computed(cls, chosen: Contrasts, info: ValidationInfo) -> Contrasts:
        """Metrics are among those that the study computes; where these hold mistakes, among all."""
        if missing := [name for name in chosen.metrics or () if name not in info.data.get("metrics", METRIC_NAMES)]:
            raise ValueError(f"metrics {missing} are not among the computed 'metrics'; add them or leave them out")
        return chosen

    @field_validator("consequences")
    @classmethod
    def consequences_of_what_there_is(cls, chosen: Consequences | None, info: ValidationInfo) -> Consequences | None:
        """Conditions exist; there are enough reviews for the folds of the probes."""
        if chosen is None or not {"variants", "models", "corpus"} <= info.data.keys():
            return chosen
        check_conditions(chosen, info.data.get("interventions"))
        corpus = info.data["corpus"]
        n_reviews = min(chosen.n_reviews, corpus.n_reviews)
        if corpus.label_column and n_reviews < 2 * FOLDS:
            raise ValueError(
                f"n_reviews: probes need {2 * FOLDS} reviews of two labels, and {n_reviews} are read; raise n_reviews "
                "(here and in 'corpus'), or set corpus.label_column: null for no probes"
            )
        return chosen

    @field_validator("models")
    @classmethod
    def one_model_for_each_seed(cls, models: dict[str, Model]) -> dict[str, Model]:
        """An entry that is trained stands for a model of each seed."""
        return single_models(models)

    @field_validator("figures")
    @classmethod
    def labels_of_what_there_is(cls, figures: Figures, info: ValidationInfo) -> Figures:
        """Labels belong to models and variants, and tell them apart."""
        if {"models", "variants"} <= info.data.keys():
            models, labels = info.data["models"], figures.labels
            empty = [name for name, label in labels.items() if not label.strip()]
            if empty:
                raise ValueError(f"labels for {empty} are empty; write a name that figures can show, or leave them out")
            entries = (*models, *info.data["variants"])
            unknown = [name for name in labels if name not in entries]
            if unknown:
                raise ValueError(f"labels for {unknown}: no such model or variant; allowed: {', '.join(entries)}")
            for names in (models, info.data["variants"]):
                shown = Counter(labels.get(name, name) for name in names)
                repeated = sorted(label for label, number in shown.items() if number > 1)
                if repeated:
                    raise ValueError(
                        f"labels: {repeated} would be shown for two entries each; give each a label of its own"
                    )
        return figures


def _check_names(names: Sequence[Any], info: ValidationInfo, entries: str, where: str) -> None:
    """Refuse a name that is no entry of a section; where this holds mistakes itself, the context has its names."""
    known = info.data.get(entries) or (info.context or {}).get(entries)
    for name in names if known else ():
        if not isinstance(name, str):  # a pair of names
            _check_names(name, info, entries, where)
        elif name not in known:
            raise ValueError(
                f"{where}: {name!r} is not among {entries}{nearest(name, known)}; allowed: {', '.join(known)}"
            )


def _check_writer(entry: AnyKeyphrases | AnyVariant, info: ValidationInfo, where: str = "") -> None:
    """Refuse a writer that there is none of."""
    writers = info.data.get("writers")
    name = getattr(entry, "writer", None)
    if name is None or writers is None:
        return
    if name not in writers:
        allowed = ", ".join(writers) or "none is there; add it under 'writers'"
        raise ValueError(f"{where}no writer is called {name!r}{nearest(name, writers)}; allowed: {allowed}")
