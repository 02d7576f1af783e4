"""Prompts for language models: YAML files with a version and two texts with $placeholders, such as $review."""

from pathlib import Path
from string import Template
from typing import Any

from pydantic import Field, ValidationError, field_validator

from homogenization.run.errors import HomogenizationError
from homogenization.run.sections import Section
from homogenization.run.yaml_files import read_yaml

PLACEHOLDERS = ("review", "phrases", "max_phrases")


class _Prompt(Section):
    """The keys of a prompt file."""

    version: int = Field(ge=1)
    system: str
    user: str

    @field_validator("system", "user")
    @classmethod
    def known_placeholders(cls, text: str) -> str:
        """Refuse placeholders that `render` can't fill in; a literal dollar is written `$$`."""
        template = Template(text)
        if not template.is_valid():
            raise ValueError("a '$' stands alone; write '$$' for a dollar sign")
        unknown = [name for name in template.get_identifiers() if name not in PLACEHOLDERS]
        if unknown:
            raise ValueError(f"unknown ${unknown[0]}; allowed: {', '.join(f'${name}' for name in PLACEHOLDERS)}")
        return text

    @field_validator("user")
    @classmethod
    def names_the_text(cls, text: str) -> str:
        """Refuse a text without $review."""
        if "review" not in Template(text).get_identifiers():
            raise ValueError("lacks $review, where the text of the review goes")
        return text


def load_prompt(path: str | Path) -> dict[str, Any]:
    """Read and check a prompt file.

    Returns:
        version (from 1), and the texts system (may be empty) and user, which may hold the `PLACEHOLDERS`.

    Raises:
        HomogenizationError: the file is missing or not YAML, or a key or a placeholder is unknown, missing or wrong.
    """
    try:
        content = read_yaml(path)
    except HomogenizationError as error:
        raise HomogenizationError(f"prompt {error} Give a file like front.yaml.") from error
    try:
        return _Prompt.model_validate(content).model_dump()
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, problem['loc'])) or 'file'}: {problem['msg']}" for problem in error.errors())
        raise HomogenizationError(
            f"prompt {path}: {'; '.join(problems)}. A prompt has the keys version (a whole number), system and user."
        ) from None


def render(prompt: dict[str, Any], **values: Any) -> list[dict[str, str]]:
    """Fill in a prompt.

    Args:
        prompt: Prompt from `load_prompt`.
        values: Values of the placeholders, inserted literally, dollars included.

    Returns:
        The chat: a system message, unless it is empty, and a user message.

    Raises:
        HomogenizationError: a placeholder of the prompt has no value in this step.
    """
    try:
        texts = {role: Template(prompt[role]).substitute(values) for role in ("system", "user")}
    except KeyError as error:
        raise HomogenizationError(
            f"prompt: ${error.args[0]} has no value in this step, which knows "
            f"{', '.join(f'${name}' for name in values)}. Take it out of the prompt."
        ) from error
    return [{"role": role, "content": text} for role, text in texts.items() if text.strip() or role == "user"]
