"""What a job has found of a review in a condition, kept until its tables are written."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from homogenization.run.journal import Journal


@dataclass(frozen=True)
class Found:
    """What was measured of a review in a condition.

    Attributes:
        values: metrics, (layers, cells).
        untouched: those of the untouched run over the same tokens.
        dose: columns of the table of doses.
        further: further numbers; None where none are measured.
    """

    values: np.ndarray
    untouched: np.ndarray
    dose: Mapping[str, Any]
    further: np.ndarray | None


@dataclass(frozen=True)
class Finished:
    """Pieces of a journal, each of a review in a condition, with what the condition's rows have to be computed with.

    Attributes:
        journal: file of the pieces.
        stamps: hash of all that rows depend on, by the key of the condition.
    """

    journal: Journal
    stamps: Mapping[str, str]

    def __contains__(self, place: tuple[str, str]) -> bool:
        return self._key(*place) in self.journal

    def __getitem__(self, place: tuple[str, str]) -> Found:
        arrays = self.journal.get(self._key(*place))
        dose = json.loads(str(arrays["dose"]))
        return Found(arrays["values"], arrays["untouched"], dose, arrays.get("further"))

    def put(self, condition: str, review: str, found: Found) -> None:
        """Keep what was found of a review in a condition."""
        arrays = {"values": found.values, "untouched": found.untouched, "dose": np.array(json.dumps(found.dose))}
        if found.further is not None:
            arrays["further"] = found.further
        self.journal.put(self._key(condition, review), arrays)

    def _key(self, condition: str, review: str) -> tuple[str, str, str]:
        return self.stamps[condition], condition, review
