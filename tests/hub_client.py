"""The library as a client of a hub, in a process of its own: the hub's clients read their environment at import."""

import json
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from homogenization.run.errors import HomogenizationError


class HubClient:
    """A process that fetches models and data sets; use it in a `with` block. Its clients wait for nothing.

    Args:
        home: HF_HOME, an empty folder.
        environment: Further variables: HF_ENDPOINT, HF_HUB_OFFLINE.
    """

    def __init__(self, home: Path, **environment: str):
        self.home = home
        self._environment = without_hub() | {"HF_HOME": str(home), "OMP_NUM_THREADS": "1"} | environment

    def __enter__(self) -> "HubClient":
        library = os.pathsep.join(sys.path)
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            env=self._environment | {"PYTHONPATH": library},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        return self

    def __exit__(self, *_) -> None:
        self._process.communicate()

    def model(self, hub: str, revision: str, token: str | None = None) -> tuple[str, str]:
        """Fetch and check weights: ("fetched", folder) or ("refused", message)."""
        return self._ask("model", token, hub=hub, revision=revision)

    def reviews(self, source: str, revision: str, token: str | None = None, **asked: str) -> tuple[str, Any]:
        """Read a data set: ("fetched", its texts) or ("refused", message)."""
        return self._ask("reviews", token, source=source, revision=revision, **asked)

    def _ask(self, call: str, token: str | None, **arguments: str) -> tuple[str, Any]:
        self._process.stdin.write(json.dumps([call, token, arguments]) + "\n")
        self._process.stdin.flush()
        kind, answer = json.loads(self._process.stdout.readline())
        assert kind != "failed", answer
        return kind, answer


def without_hub() -> dict[str, str]:
    """The environment without what tells clients of the hub where and who they are."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}


def _fetch_model(**weights: str) -> str:
    from homogenization.models.digests import verified_weights

    return str(verified_weights(weights).folder)


def _read_reviews(**asked: str) -> list[str]:
    from homogenization.corpus.reading import read_reviews

    return read_reviews(text_column="text", label_column="label", **asked)["text"].to_list()


def _serve() -> None:
    """Do what the lines of standard input ask for, one after the other."""
    time.sleep = lambda seconds: None
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        call, token, arguments = json.loads(line)
        os.environ.pop("HF_TOKEN", None)
        if token is not None:
            os.environ["HF_TOKEN"] = token
        try:
            answer = "fetched", {"model": _fetch_model, "reviews": _read_reviews}[call](**arguments)
        except HomogenizationError as error:
            answer = "refused", str(error)
        except Exception:
            answer = "failed", traceback.format_exc()
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    _serve()
