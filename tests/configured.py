"""The small study with other keys, and what its mistakes say; both in the folder of the repository."""

from typing import Any

import pytest

from conftest import SMALL, with_changes
from homogenization.config.study import Study, load_study
from homogenization.run.errors import HomogenizationError

ENDPOINT = {"backend": "openai", "model": "m"}


def study_of(changes: dict[str, Any] | None = None, **sections: Any) -> Study:
    """The small study with other values ('corpus.n_reviews': 5, ...) and sections."""
    return load_study(with_changes(SMALL | {"writers": {"served": ENDPOINT}}, (changes or {}) | sections))


def problems(changes: dict[str, Any] | None = None, **sections: Any) -> list[str]:
    """What it says of mistakes, a line each."""
    with pytest.raises(HomogenizationError) as raised:
        study_of(changes, **sections)
    first, *lines, _ = str(raised.value).splitlines()
    assert first in ("config: 1 problem", f"config: {len(lines)} problems")
    return [line.removeprefix("  - ") for line in lines]


def trained(steps: int = 100, **keys: Any) -> dict[str, Any]:
    """An entry of `models` that is trained from random weights."""
    own = {"seeds": keys.pop("seeds")} if "seeds" in keys else {}
    given = {key: keys.pop(key) for key in ("random", "positions") if key in keys}
    options = {"of": {"random": {"model_type": "gpt2"}, **given}, "steps": steps, **keys}
    return {"weights": {"trained": options, **own}}
