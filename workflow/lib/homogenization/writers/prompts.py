"""Prompts for language models: YAML files with a version and two texts with $placeholders, such as $review."""

from pathlib import Path
from string import Template
from typing import Any

from pydantic import Field, ValidationError, field_validator

from homogenization.run.errors import HomogenizationError
from homogenization.run.sections import Section
from homogenization.run.yaml_files import read_yaml

_PLACEHOLDERS = {"review", "phrases", "max_phrases"}


class _Prompt(Section):
    """The keys of a prompt file; `system` may be empty."""

    version: int = Field(ge=1)
    system: str
    user: str = Field(pattern=r"^(?:[^$]|\$\$|\$\{?\w)*\$\{?review\b")

    @field_validator("system", "user")
    @classmethod
    def known_placeholders(cls, text: str) -> str:
        """Refuse placeholders that `render` can't fill in; a literal dollar is written `$$`."""
        if not Template(text).is_valid() or {*Template(text).get_identifiers()} - _PLACEHOLDERS:
            raise ValueError("allowed are $review, $phrases, $max_phrases, and '$$' for a dollar sign")
        return text


def load_prompt(path: str | Path) -> dict[str, Any]:
    """Read and check a prompt file: its version (from 1), and the texts system and user.

    Raises:
        HomogenizationError: the file is missing or not YAML, or a key or a placeholder is unknown, missing or wrong.
    """
    try:
        return _Prompt.model_validate(read_yaml(path)).model_dump()
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors())
        raise HomogenizationError(f"prompt {path}: {'; '.join(problems)}. See config/prompts/front.yaml.") from None


def render(prompt: dict[str, Any], **values: Any) -> list[dict[str, str]]:
    """The chat that a prompt makes with these values of its placeholders: a system message, unless empty, and a user's.

    Raises:
        HomogenizationError: a placeholder of the prompt has no value in this step.
    """
    try:
        texts = {role: Template(prompt[role]).substitute(values) for role in ("system", "user")}
    except KeyError as error:
        raise HomogenizationError(f"prompt: {error} has no value in this step; take it out of the prompt.") from error
    return [{"role": role, "content": text} for role, text in texts.items() if text.strip() or role == "user"]
