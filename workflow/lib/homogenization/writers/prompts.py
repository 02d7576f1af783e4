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
    """The keys of a prompt file; `system` may be empty."""

    version: int = Field(ge=1)
    system: str
    user: str

    @field_validator("system", "user")
    @classmethod
    def known_placeholders(cls, text: str) -> str:
        """Refuse placeholders that `render` can't fill in; a literal dollar is written `$$`."""
        names = Template(text).get_identifiers() if Template(text).is_valid() else ["?"]
        if unknown := [name for name in names if name not in PLACEHOLDERS]:
            allowed = ", ".join(f"${name}" for name in PLACEHOLDERS)
            raise ValueError(f"unknown ${unknown[0]}; allowed: {allowed}, and '$$' for a dollar sign")
        return text

    @field_validator("user")
    @classmethod
    def names_the_text(cls, text: str) -> str:
        """Refuse a text without $review."""
        if "review" not in Template(text).get_identifiers():
            raise ValueError("lacks $review, where the text of the review goes")
        return text


def load_prompt(path: str | Path) -> dict[str, Any]:
    """Read and check a prompt file: its version (from 1), and the texts system and user.

    Raises:
        HomogenizationError: the file is missing or not YAML, or a key or a placeholder is unknown, missing or wrong.
    """
    try:
        return _Prompt.model_validate(read_yaml(path)).model_dump()
    except HomogenizationError as error:
        raise HomogenizationError(f"prompt {error} Give a file like front.yaml.") from error
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, problem['loc'])) or 'file'}: {problem['msg']}" for problem in error.errors())
        raise HomogenizationError(
            f"prompt {path}: {'; '.join(problems)}. A prompt has the keys version (a whole number), system and user."
        ) from None


def render(prompt: dict[str, Any], **values: Any) -> list[dict[str, str]]:
    """The chat that a prompt makes with these values of its placeholders: a system message, unless empty, and a user's.

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
