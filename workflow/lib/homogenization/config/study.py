"""The configuration as one strict model, and the jobs, tables and figures that rules derive from it.

Every parse of the Snakefile imports it, so it imports neither torch nor transformers nor zarr.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from homogenization.claims.keys import CONTROLS
from homogenization.config.analysis import Consequences
from homogenization.config.claims import load_all_claims
from homogenization.config.interventions import Interventions
from homogenization.config.keys import Keys
from homogenization.config.mistakes import describe_problems
from homogenization.config.reading import Reading
from homogenization.config.texts import OrderVariant, WrittenVariant, with_default_variants
from homogenization.config.training import is_trained
from homogenization.config.weights import RandomWeights, Source
from homogenization.figures.catalogue import HEADLINE_METRICS
from homogenization.interventions.conditions import UNTOUCHED, Condition
from homogenization.measures.views import VIEWS
from homogenization.metrics.attention import ATTENTION_METRICS
from homogenization.metrics.catalogue import METRIC_NAMES, TOKEN_COUNT, describe_metric
from homogenization.names.variants import ORIGINAL
from homogenization.run.errors import HomogenizationError
from homogenization.run.sections import without_nulls


class Study(Keys):
    """The whole configuration."""

    @property
    def warnings(self) -> list[str]:
        """What is allowed, and yet most likely not meant."""
        few, needed = self.corpus.n_reviews, self.contrasts.min_reviews
        if not self.contrasted or few >= needed:
            return []
        return [
            f"corpus.n_reviews: {few} reviews are fewer than the {needed} that a comparison needs "
            "(contrasts.min_reviews), so no two variants will be compared. Raise the one or lower the other."
        ]

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
        return [name for name in self.variants if name != "original"]

    @property
    def written(self) -> list[str]:
        """Variants that a language model writes."""
        return [name for name, variant in self.variants.items() if isinstance(variant, WrittenVariant)]

    @property
    def reordered(self) -> list[str]:
        """Variants by rule that move no phrases, sorted: their disorder is meant, and never rejected."""
        return sorted(name for name, variant in self.variants.items() if isinstance(variant, OrderVariant))

    @property
    def ladder(self) -> list[str]:
        """Variants whose words change places in blocks: more and more disorder. Fewer than two are no ladder."""
        return [name for name in self.reordered if self.variants[name].blocks is not None]

    @property
    def placed(self) -> list[str]:
        """Variants in which phrases have other places in their sentences, in the order of the configuration."""
        return [name for name in self.rewritten if name not in self.reordered]

    @property
    def phrased(self) -> list[str]:
        """Variants that are made from key phrases, sorted; without any, none are looked for."""
        by_words = [name for name in self.reordered if self.variants[name].blocks is not None]
        return sorted(set(self.rewritten) - set(by_words))

    @property
    def parsed(self) -> list[str]:
        """Variants that are made from the parse of the reviews, sorted."""
        return sorted(set(self.placed) - set(self.written))

    @cached_property
    def gguf_sources(self) -> dict[str, Source]:
        """Weights in GGUF that anyone names, by the folder below `weights/` where they are converted."""
        entries = (*self.models.values(), *self.writers.values(), self.fluency)
        sources = [*(getattr(entry, "weights", None) for entry in entries), self.similarity.encoder]
        starts = [source.start for source in sources if source]
        return {source.converted_in: source for source in starts if source.converted_in}

    @cached_property
    def random_sources(self) -> dict[str, RandomWeights]:
        """Random weights by the name of their folder: those of untrained models, and the starts of training."""
        starts = {name: model.weights for name, model in self.models.items()}
        starts |= {name: self.models[name].weights.start for name in self.trained_models}
        return {name: weights for name, weights in starts.items() if isinstance(weights, RandomWeights)}

    @cached_property
    def trained_models(self) -> list[str]:
        """Models that the workflow trains, sorted."""
        return sorted(name for name, model in self.models.items() if is_trained(model))

    @property
    def penalty_controls(self) -> dict[str, str]:
        """The control of each model that is trained with a penalty: one without, where the study has it."""
        trained = {name: self.models[name].weights for name in self.trained_models}
        pairs = [(name, other) for name in trained for other in trained if trained[other].is_control_of(trained[name])]
        return dict(reversed(pairs))

    @property
    def jobs(self) -> list[tuple[str, str, str]]:
        """Every model, variant and shard, sorted: tables do not depend on the order of the configuration."""
        return [
            (model, variant, shard)
            for model in sorted(self.models)
            for variant in sorted(self.variants)
            for shard in self.shards
        ]

    @property
    def n_readings(self) -> int:
        """How often a model reads a review: the memory of tables of all reviews grows with it."""
        return len(self.models) * len(self.variants) * self.corpus.n_reviews

    @property
    def counted_jobs(self) -> list[tuple[str, str, str]]:
        """(variant, shard, variant whose tokens are counted): the original for what a language model writes."""
        return [
            (variant, shard, "original" if variant in self.written else variant)
            for variant in sorted(self.variants)
            for shard in self.shards
        ]

    @property
    def component_jobs(self) -> list[tuple[str, str, str]]:
        """The jobs whose blocks are taken apart."""
        return self.jobs_of(self.components.variants) if self.components else []

    @property
    def conditions(self) -> dict[str, Condition]:
        """The conditions in which models read, by name, the untouched one first."""
        chosen = self.interventions.conditions if self.interventions else [Condition(UNTOUCHED)]
        return {condition.name: condition for condition in chosen}

    @property
    def intervention_jobs(self) -> list[tuple[str, str, str, str]]:
        """Every model, variant, condition and shard that is read with changed attention, or untouched beside it."""
        chosen = self.interventions
        return [
            (model, variant, condition, shard)
            for model, variant, shard in (self.jobs_of(chosen.variants) if chosen else [])
            if model in (chosen.models or self.models) and self.ranks(shard)[0] < chosen.n_reviews
            for condition in self.conditions
        ]

    @property
    def reading(self) -> Reading | None:
        """What is read for the consequences; None without the section."""
        return Reading(self) if self.consequences else None

    def n_read(self, shard: str, section: Interventions | Consequences) -> int:
        """How many reviews of a shard a section reads: the first by rank."""
        first, stop = self.ranks(shard)
        return min(stop, section.n_reviews) - first

    @property
    def n_runs(self) -> int:
        """Reviews of a model and variant that are read with changed attention, times the conditions."""
        return self.interventions.n_reviews * len(self.interventions.conditions) if self.intervention_jobs else 0

    @property
    def is_steered(self) -> bool:
        """Whether a condition has a dose."""
        return bool(self.intervention_jobs and self.interventions.steering)

    @property
    def mauve_variants(self) -> list[str]:
        """Variants whose MAUVE is computed, in the order of the configuration."""
        return [name for name in self.variants if self.mauve.variants is None or name in self.mauve.variants]

    def jobs_of(self, variants: Sequence[str]) -> list[tuple[str, str, str]]:
        """Those of `jobs` that are of `variants`."""
        return [job for job in self.jobs if job[1] in variants]

    @property
    def example_choice(self) -> dict[str, Any]:
        """The difference by which example reviews are chosen: `variant`, `minus`, `metric` and `view`.

        Without contrasts, `variant` and `minus` are None, and the value of the originals counts; without metrics,
        `metric` is None. The order of the configuration decides nothing.
        """
        variant, minus = min(self.contrasted, key=self._placed_example, default=(None, None))
        described = {name: describe_metric(name) for name in self.contrasted_metrics or self.metrics}
        among = sorted(
            described, key=lambda name: (not described[name].homogenization, described[name].extensive, name)
        )
        metric = next((name for name in (*HEADLINE_METRICS, *among) if name in among), None)
        views = (metric and describe_metric(metric).views) or [view for view in VIEWS if view in self.views]
        return {"variant": variant, "minus": minus, "metric": metric, "view": views[0]}

    def _placed_example(self, pair: tuple[str, str]) -> tuple[Any, ...]:
        """Where a contrast stands among those by which examples may be chosen."""
        variant, minus = pair
        at_front = getattr(self.variants[variant], "position", None) == "front"
        ranks = minus != ORIGINAL, variant not in self.controls, not at_front
        return *ranks, pair

    @property
    def controls(self) -> dict[str, dict[str, str]]:
        """The controls of each variant that moves something to an edge: variant, role, control.

        Roles: `edge` (the same phrases, as far, but inward), `key` (others, to the same edge), `side` (the same
        words, at the other end) and `rewriting` (for a variant by a language model, its paraphrase). Of several
        variants with one role, the first in the configuration has it. A variant without any control is left out.
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
        less_original = [(name, "original") for name in self.rewritten]
        return less_original + [(name, control) for name, roles in self.controls.items() for control in roles.values()]

    @property
    def balanced(self) -> list[tuple[str, str, str | None]]:
        """(variant, control, role) whose balance is shown: every control, then further contrasts of two rewritings."""
        roles = {(name, control): role for name, kinds in self.controls.items() for role, control in kinds.items()}
        pairs = [*roles, *(pair for pair in self.contrasted if "original" not in pair and pair not in roles)]
        return [(*pair, roles.get(pair)) for pair in pairs]

    @property
    def contrasted_metrics(self) -> list[str]:
        """The metrics that are contrasted, sorted: as configured, or by default."""
        chosen = self.contrasts.metrics
        if chosen is None:
            described = [(name, describe_metric(name)) for name in self.metrics]
            chosen = [
                name
                for name, metric in described
                if name == TOKEN_COUNT
                or (not metric.extensive and (metric.homogenization or name in ATTENTION_METRICS))
            ]
        return sorted(set(chosen) & set(self.metrics))

    @property
    def claimed_contrasts(self) -> list[tuple[str, str]]:
        """The contrasts, (variant, minus), that claims are about, of variants of the study."""
        pairs = [(claim["where"]["variant"], claim["where"]["minus"]) for claim in self._claimed("contrasts")]
        return [pair for pair in pairs if set(pair) <= self.variants.keys()]

    def estimated_metrics(self, table: str) -> list[str]:
        """The metrics, sorted, of the table `contrasts` or `depth`: those that are contrasted, and those of claims.

        Pooled tokens have some that are not tabulated.
        """
        claimed = {claim["where"]["metric"] for claim in self._claimed(table)}
        return sorted({*self.contrasted_metrics, *claimed.intersection(METRIC_NAMES)})

    def _claimed(self, table: str) -> list[dict[str, Any]]:
        return [claim for claim in self.judged_claims if claim["table"] == table]

    @cached_property
    def judged_claims(self) -> list[dict[str, Any]]:
        """The claims as plain values; a control that `minus` names by its role is that of the claim's variant.

        A role that the study lacks stays as it is: the claim is not tested.

        Raises:
            HomogenizationError: a file of claims can't be read, or a claim is wrong.
        """
        return [self._with_control(claim) for claim in load_all_claims(self.claims or [])]

    def _with_control(self, claim: dict[str, Any]) -> dict[str, Any]:
        where = claim["where"]
        control = self.controls.get(where["variant"], {}).get(CONTROLS.get(where.get("minus")))
        return claim | {"where": where | {"minus": control}} if control else claim


def load_study(raw: Mapping[str, Any], source: str = "config") -> Study:
    """Check `raw` (as Snakemake merged it) and return it as a `Study`.

    A model, variant or writer that is set to null is dropped, so that an overlay can remove entries of its base.

    Args:
        raw: the configuration.
        source: where it comes from, for messages.

    Raises:
        HomogenizationError: the message names every problem: key, value, what is allowed, nearest spelling.
    """
    _check_locale(raw)
    sections = dict(raw)
    for key in {"models", "variants", "writers"} & sections.keys():
        sections[key] = without_nulls(with_default_variants(sections[key]) if key == "variants" else sections[key])
    try:
        return Study.model_validate(sections, context=_names(sections))
    except ValidationError as error:
        problems = describe_problems(error, Study)
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        lines = "\n".join(f"  - {problem}" for problem in problems)
        raise HomogenizationError(f"{source}: {count}\n{lines}\nEvery key is described in config/README.md.") from None


def _check_locale(raw: Mapping[str, Any]) -> None:
    """Refuse a locale in which the paths of this study can't be written: each file would seem to be missing."""
    encoding = sys.getfilesystemencoding()
    if encoding != "utf-8" and (path := next((one for one in [os.getcwd(), *_texts(raw)] if not one.isascii()), None)):
        raise HomogenizationError(
            f"the locale encodes names of files as {encoding}, and {path!r} is not ASCII. Set a locale with UTF-8, "
            "such as by `export LC_ALL=C.UTF-8`."
        )


def _texts(content: Any) -> Iterator[str]:
    """Every key and every text in it."""
    if isinstance(content, Mapping):
        content = [*map(str, content), *content.values()]
    if isinstance(content, str):
        yield content
    elif isinstance(content, (list, tuple)):
        for value in content:
            yield from _texts(value)


def _names(sections: Mapping[str, Any]) -> dict[str, list[str]]:
    """The names of the models and variants, for checks of what names them where they hold mistakes themselves.

    Of models, only where none is trained: such an entry stands for several models.
    """
    given = {key: sections[key] for key in ("models", "variants") if isinstance(sections.get(key), dict)}
    weights = [entry.get("weights") for entry in given.get("models", {}).values() if isinstance(entry, dict)]
    trained = any("trained" in of_model for of_model in weights if isinstance(of_model, dict))
    names = {key: list(entries) for key, entries in given.items() if not (trained and key == "models")}
    if "variants" in names and ORIGINAL not in names["variants"]:
        names["variants"].append(ORIGINAL)  # that it is set to null is the mistake, not that it is named
    return names
