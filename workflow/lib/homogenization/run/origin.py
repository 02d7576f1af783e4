"""What a report is told of its study's origin, by the job that makes it, in a variable of its environment."""

import json
import os
from typing import Any

ORIGIN = "HOMOGENIZATION_PROVENANCE"


def told_origin() -> dict[str, Any]:
    """The key `provenance` (`reading.citation.provenance`) for what captions read; empty if untold."""
    return {"provenance": json.loads(os.environ[ORIGIN])} if ORIGIN in os.environ else {}
