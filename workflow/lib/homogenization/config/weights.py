"""The part of the configuration on weights: a key holds those of one source (`homogenization.models.weights`)."""

from pathlib import Path
from typing import Annotated, Any, Union

from pydantic import AfterValidator, BeforeValidator, Discriminator, Tag

from homogenization.models.source import Source
from homogenization.models.weights import SOURCES, VOCABULARY_FILES, PathWeights, RandomWeights
from homogenization.run.sections import without_nulls


def one_of_sources(sources: tuple[type[Source], ...]) -> Any:
    """The type of a key that holds one of `sources`, told apart by their first keys."""
    names = tuple(name for source in sources for name in source.names())

    def named_by(given: Any) -> list[str]:
        return [name for name in names if (name in given if isinstance(given, dict) else hasattr(given, name))]

    def one_source(given: Any) -> Any:
        """`given` without empty keys, after a check that it names exactly one source."""
        named = named_by(without_nulls(given))
        if len(named) != 1:
            raise ValueError(f"name exactly one of {', '.join(names)}; found {named or repr(given)}")
        return without_nulls(given)

    return Annotated[
        Union[tuple(Annotated[source, Tag(name)] for source, name in zip(sources, names, strict=True))],  # noqa: UP007
        Discriminator(lambda given: named_by(given)[0]),
        BeforeValidator(one_source),
        AfterValidator(_with_tokenizer),
    ]


def _with_tokenizer(weights: Source) -> Source:
    """`weights`, after a check that a folder on this machine has a tokenizer beside the model."""
    if isinstance(weights, PathWeights) and weights.gguf is None:
        folder = Path(weights.path)
        if not any(file for pattern in VOCABULARY_FILES for file in folder.glob(pattern)):
            raise ValueError(
                f"{weights.path!r} has no vocabulary of a tokenizer ({', '.join(VOCABULARY_FILES)}); save it there "
                "with tokenizer.save_pretrained()"
            )
    return weights


def _learnt(weights: Source) -> Source:
    if isinstance(weights, RandomWeights):
        *names, last = (name for source in SOURCES if source is not RandomWeights for name in source.names())
        raise ValueError(
            f"random weights have learnt nothing; give those of a trained model: {', '.join(names)} or {last}"
        )
    return weights


TrainedWeights = Annotated[one_of_sources(SOURCES), AfterValidator(_learnt)]
