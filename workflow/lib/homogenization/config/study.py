"""The configuration as one checked model, and what stages share that follows from it.

Every parse of the Snakefile imports it, so it imports neither torch nor transformers nor zarr.
"""

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, ValidationInfo, field_validator

from homogenization.claims.keys import CONTROLS
from homogenization.config import analysis, texts
from homogenization.config.claims import load_all_claims
from homogenization.config.corpus import Corpus
from homogenization.config.mistakes import describe_problems, unknown_names
from homogenization.config.models import Model, StartWeights, States, TrainedWeights
from homogenization.config.paths import ExpandedPath
from homogenization.config.writers import AnyWriter
from homogenization.interventions.conditions import UNTOUCHED, Condition, conditions_of
from homogenization.measures.views import VIEWS
from homogenization.metrics.attention import ATTENTION_METRICS
from homogenization.metrics.catalogue import METRIC_NAMES, TOKEN_COUNT, describe_metric
from homogenization.names.variants import DISORDER, ORIGINAL, RANDOM_PAIRS
from homogenization.run.errors import HomogenizationError
from homogenization.run.sections import Name, Section, names_of, without_nulls


class Study(Section):
    """The whole configuration."""

    results: ExpandedPath = Field("results", min_length=1)
    """Folder of everything that is made."""
    seed: int = Field(0, ge=0)
    """Seed of all that is drawn: the sample, orders of words, MAUVE, tests."""
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    """Where models, encoders and writers run; `auto`: CUDA, then MPS, then CPU."""
    corpus: Corpus
    writers: dict[Name, AnyWriter] = Field({})
    """Language models that write, by name."""
    parser: texts.Parser = texts.Parser()
    keyphrases: texts.AnyKeyphrases = texts.CountedKeyphrases()
    rewriting: texts.Rewriting = texts.Rewriting()
    variants: dict[Name, texts.AnyVariant] = Field(texts.DEFAULT_VARIANTS, validate_default=True)
    """Variants by name. Where none is called `original`, they are added to the defaults."""
    similarity: texts.Similarity = Field({}, validate_default=True)
    fluency: texts.Fluency | None = None
    """How well the texts read; null: not computed."""
    audit: analysis.Audit = analysis.Audit()
    models: dict[Name, Model] = Field(min_length=1)
    """Models by name."""
    states: States = States()
    views: names_of(VIEWS, 1) = Field(list(VIEWS))
    """How the token matrix is looked at."""
    metrics: names_of(METRIC_NAMES, 1) = Field(list(METRIC_NAMES))
    """Metrics to tabulate and draw."""
    mauve: analysis.Mauve = analysis.Mauve()
    contrasts: analysis.Contrasts = analysis.Contrasts()
    components: analysis.Components | None = None
    """Which blocks are taken apart; null: none."""
    interventions: analysis.Interventions | None = None
    """What is done to the attention of models; null: nothing."""
    consequences: analysis.Consequences | None = None
    """What homogenization costs, untouched and under interventions; null: not computed."""
    claims: analysis.ClaimsFiles = Field(["config/claims.yaml"], validate_default=True)
    """File of claims to judge, or several files; null: none."""
    figures: analysis.Figures = analysis.Figures()

    @field_validator("results")
    @classmethod
    def results_in_a_folder(cls, results: str) -> str:
        """It is a folder for results alone, spelt in one way."""
        place = Path(results).resolve()
        if Path.cwd().is_relative_to(place) or (place / "Snakefile").exists():
            raise ValueError(f"{results!r} holds other files than results; name a folder of its own, which may be new")
        if place.is_file():
            raise ValueError(f"{results!r} is a file; name a folder, which may be new")
        return os.path.normpath(results)

    @field_validator("variants")
    @classmethod
    def original_among_variants(cls, variants: dict[str, Any]) -> dict[str, Any]:
        """The untouched reviews are a variant, and no variant bears a name that tables use."""
        if taken := variants.keys() & {RANDOM_PAIRS, DISORDER}:
            raise ValueError(f"{', '.join(sorted(taken))!r} has another meaning in the tables; rename the variant")
        if variants.get(ORIGINAL) != texts.Untouched(rewriter="none"):
            raise ValueError("needs 'original: {rewriter: none}': every comparison starts from the untouched reviews")
        return variants

    @field_validator("keyphrases", "variants", "contrasts")
    @classmethod
    def columns_of_its_file(cls, given: Any, checked: ValidationInfo) -> Any:
        """A local file has the columns that are named."""
        corpus = checked.data.get("corpus")
        for name, section in given.items() if isinstance(given, dict) else [("", given)]:
            for key in ("by", "column") if corpus else ():
                corpus.look_for(f"{name}.{key}".lstrip("."), getattr(section, key, None))
        return given

    @field_validator("models")
    @classmethod
    def one_model_for_each_seed(cls, models: dict[str, Model]) -> dict[str, Model]:
        """An entry that is trained stands for a model of each seed."""
        singles: dict[str, Model] = {}
        for name, model in models.items():
            for single, weights in model.weights.of_each_seed(name).items():
                if single in singles or (single != name and single in models):
                    raise ValueError(f"{name}: one of its models is called {single!r}, as another is; rename one")
                singles[single] = model.model_copy(update={"weights": weights})
        return singles

    @property
    def shards(self) -> list[str]:
        """Numbers of the shards, three digits each."""
        return [f"{number:03d}" for number in range(-(-self.corpus.n_reviews // self.corpus.shard_size))]

    def ranks(self, shard: str) -> tuple[int, int]:
        """Rank of the first review of a shard, and the rank after its last."""
        start = int(shard) * self.corpus.shard_size
        return start, min(start + self.corpus.shard_size, self.corpus.n_reviews)

    @property
    def rewritten(self) -> list[str]:
        """Variants other than the original, in the order of the configuration."""
        return [name for name in self.variants if name != ORIGINAL]

    @property
    def written(self) -> list[str]:
        """Variants that a language model writes."""
        return [name for name, variant in self.variants.items() if isinstance(variant, texts.WrittenVariant)]

    @property
    def given(self) -> list[str]:
        """Variants that the user's file has."""
        return [name for name, variant in self.variants.items() if isinstance(variant, texts.GivenVariant)]

    @property
    def ladder(self) -> list[str]:
        """Variants whose words change places in blocks, the least disorder first. Fewer than two are no ladder."""
        blocks = {name: getattr(variant, "blocks", None) for name, variant in self.variants.items()}
        return sorted(filter(blocks.get, blocks), key=lambda name: (blocks[name] == "words", blocks[name]))

    @property
    def placed(self) -> list[str]:
        """Variants in which phrases have other places in their sentences, in the order of the configuration."""
        return [name for name in self.rewritten if not isinstance(self.variants[name], texts.OrderVariant)]

    @property
    def phrased(self) -> list[str]:
        """Variants that are made from key phrases, and the original, whose file has the places of these."""
        made = [name for name in self.rewritten if name not in {*self.ladder, *self.given}]
        return [ORIGINAL, *made] if made else []

    @cached_property
    def gguf_sources(self) -> dict[str, TrainedWeights]:
        """Weights in GGUF that anyone names, by the folder below `weights/` where they are converted."""
        entries = (*self.writers.values(), self.fluency)
        sources = [*(getattr(entry, "weights", None) for entry in entries), self.similarity.encoder]
        sources += [model.weights.start for model in self.models.values()]
        return {source.converted_in: source for source in sources if source and source.converted_in}

    @cached_property
    def random_sources(self) -> dict[str, StartWeights]:
        """Random weights by the name of their folder: those of untrained models, and the starts of training."""
        starts = {name: model.weights.start for name, model in self.models.items()}
        return {name: weights for name, weights in starts.items() if weights.random}

    @cached_property
    def trained_models(self) -> list[str]:
        """Models that the workflow trains, sorted."""
        return sorted(name for name, model in self.models.items() if model.weights.trained)

    @property
    def jobs(self) -> list[tuple[str, ...]]:
        """Every model, variant and shard, sorted: tables do not depend on the order of the configuration."""
        return self.jobs_of(self.variants)

    def jobs_of(self, variants: Sequence[str]) -> list[tuple[str, ...]]:
        """Those of some variants."""
        return [
            (model, variant, shard)
            for model in sorted(self.models)
            for variant in sorted(variants)
            for shard in self.shards
        ]

    @cached_property
    def conditions(self) -> dict[str, Condition]:
        """The conditions in which models read, by name, the untouched one first."""
        chosen = conditions_of(self.interventions.params()) if self.interventions else [Condition(UNTOUCHED)]
        return {condition.name: condition for condition in chosen}

    @property
    def intervention_jobs(self) -> list[tuple[str, ...]]:
        """Every model, variant, condition and shard that is read with changed attention, or untouched beside it."""
        chosen = self.interventions
        return [
            (model, variant, condition, shard)
            for model, variant, shard in (self.jobs_of(chosen.variants) if chosen else [])
            if model in (chosen.models or self.models) and self.n_read(shard, chosen)
            for condition in self.conditions
        ]

    @property
    def consequence_jobs(self) -> list[tuple[str, ...]]:
        """Every model, variant, condition and shard that is read for the consequences.

        Originals are read in each condition of the models that are changed, all other texts untouched.
        """
        chosen = self.consequences
        if chosen is None:
            return []
        changed = (self.interventions and self.interventions.models) or self.models
        return [
            (model, variant, condition, shard)
            for model, variant, shard in self.jobs_of({ORIGINAL, *(chosen.variants or self.variants)})
            if self.n_read(shard, chosen)
            for condition in (self.conditions if variant == ORIGINAL and model in changed else [UNTOUCHED])
        ]

    def n_read(self, shard: str, section: analysis.Interventions | analysis.Consequences) -> int:
        """How many reviews of a shard a section reads: the first by rank."""
        first, stop = self.ranks(shard)
        return max(min(stop, section.n_reviews) - first, 0)

    @property
    def controls(self) -> dict[str, dict[str, str]]:
        """The controls of each variant that moves something to an edge and has any: variant, role, control.

        Roles: `edge` (the same phrases, as far, but inward), `key` (others, to the same edge), `side` (the same words,
        at the other end), `rewriting` (the paraphrase). Of several variants with one role, the first has it.
        """
        controls = {}
        params = {name: variant.params() | {"prompt": None} for name, variant in self.variants.items()}
        for name, variant in self.variants.items():
            wanted = {role: control.params() | {"prompt": None} for role, control in variant.controls().items()}
            found = {role: other for role, one in wanted.items() for other in reversed(params) if params[other] == one}
            if found:
                controls[name] = found
        return controls

    @property
    def contrasted(self) -> list[tuple[str, str]]:
        """The contrasts, (variant, minus): as configured, or by default."""
        if self.contrasts.pairs is not None:
            return [(variant, minus) for variant, minus in self.contrasts.pairs]
        less_original = [(name, ORIGINAL) for name in self.rewritten]
        return less_original + [(name, control) for name, roles in self.controls.items() for control in roles.values()]

    @property
    def balanced(self) -> list[tuple[str, str, str | None]]:
        """(variant, control, role) whose balance is shown: every control, then further contrasts of two rewritings."""
        roles = {(name, control): role for name, kinds in self.controls.items() for role, control in kinds.items()}
        pairs = [*roles, *(pair for pair in self.contrasted if ORIGINAL not in pair and pair not in roles)]
        return [(*pair, roles.get(pair)) for pair in pairs]

    @property
    def contrasted_metrics(self) -> list[str]:
        """The metrics that are contrasted, sorted: as configured, or by default."""
        chosen = self.contrasts.metrics
        if chosen is None:
            described = {name: describe_metric(name) for name in self.metrics}
            moved = [name for name, metric in described.items() if metric.homogenization or name in ATTENTION_METRICS]
            chosen = [TOKEN_COUNT, *(name for name in moved if not described[name].extensive)]
        return sorted(set(chosen) & set(self.metrics))

    @cached_property
    def judged_claims(self) -> list[dict[str, Any]]:
        """The claims as plain values; a control that `minus` names by its role is that of the claim's variant.

        A role that the study lacks stays as it is: the claim is not tested.
        """
        claims = load_all_claims(self.claims or [])
        for where in (claim["where"] for claim in claims):
            role = CONTROLS.get(where.get("minus"))
            if control := self.controls.get(where["variant"], {}).get(role):
                where["minus"] = control
        return claims

    @property
    def estimated_contrasts(self) -> list[tuple[str, str]]:
        """The contrasts, (variant, minus), sorted, and those of variants of the study that claims are about.

        What is beyond disorder is estimated beside the difference to the original.
        """
        claims = [claim["where"] for claim in self.judged_claims if claim["table"] == "contrasts"]
        claimed = {(one["variant"], ORIGINAL if one["minus"] == DISORDER else one["minus"]) for one in claims}
        return sorted({*self.contrasted, *(pair for pair in claimed if self.variants.keys() >= set(pair))})

    def estimated_metrics(self, table: str) -> list[str]:
        """The metrics, sorted, of the table `contrasts` or `depth`: those that are contrasted, and those of claims.

        Pooled tokens have some that are not tabulated.
        """
        claimed = {claim["where"]["metric"] for claim in self.judged_claims if claim["table"] == table}
        return sorted({*self.contrasted_metrics, *claimed.intersection(METRIC_NAMES)})


def load_study(raw: Mapping[str, Any], source: str = "config") -> Study:
    """Check `raw` (as Snakemake merged it) and return it as a `Study`.

    A model, variant or writer that is set to null is dropped, so that an overlay can remove entries of its base.
    `source` is where the configuration comes from, for messages.

    Raises:
        HomogenizationError: the message names every problem: key, value, what is allowed, nearest spelling.
    """
    given = dict(raw)
    if isinstance(given.get("variants"), dict) and ORIGINAL not in given["variants"]:
        given["variants"] = texts.DEFAULT_VARIANTS | given["variants"]
    given |= {key: without_nulls(given[key]) for key in ("models", "variants", "writers") if key in given}
    problems = unknown_names({"variants": texts.DEFAULT_VARIANTS, "metrics": METRIC_NAMES} | given)
    try:
        study = Study.model_validate(given)
    except ValidationError as error:
        problems = describe_problems(error, Study) + problems
    if not problems:
        return study
    count = f"{len(problems)} problem{'s' * (len(problems) > 1)}"
    lines = "\n".join(f"  - {problem}" for problem in problems)
    raise HomogenizationError(f"{source}: {count}\n{lines}\nEvery key is described in config/README.md.")
