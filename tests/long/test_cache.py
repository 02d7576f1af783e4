"""What one working directory computed, another takes from the cache they share, unless anything behind it differs."""

import copy
import re
import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from conftest import SMALL, Project, copy_workflow, with_changes
from tiny_chat import build_chat_model

CACHED_RULES = ("read_corpus", "extract_keyphrases_with_llm", "rewrite_with_llm", "extract_states")
ORIGINAL = "states/tiny/original/000.zarr.zip"
PARAPHRASE = "states/tiny/paraphrase/000.zarr.zip"
REWRITTEN = "variants/paraphrase/000.parquet"
CACHED_FILES = {"corpus/clean.parquet", ORIGINAL, PARAPHRASE, REWRITTEN}
# one that reads a cached file
CONSUMER = "measures/tiny/paraphrase/000/texts.parquet"


class Directory(Project):
    """A working directory that shares the cache beside it."""

    @property
    def cache(self) -> Path:
        return self.folder.parent / "cache"

    @property
    def results(self) -> Path:
        return self.folder / self.config["results"]

    def run_cached(self, *arguments: str) -> str:
        """Run Snakemake with the cache, with `arguments`; return what it printed."""
        environment = {"SNAKEMAKE_OUTPUT_CACHE": str(self.cache), "OMP_NUM_THREADS": "1"}
        return self.make("--cache", *CACHED_RULES, *arguments, **environment)

    def compute(self) -> None:
        self.run_cached("--", "states", f"{self.config['results']}/{CONSUMER}")

    def misses(self) -> set[str]:
        """The files that a dry run would compute and put into the cache, of those that it holds or could hold."""
        said = self.run_cached("--dry-run", "--", "states")
        found = dict(re.findall(r"^Output file (\S+) will be (obtained from|written to) global", said, re.MULTILINE))
        found = {str(Path(file).relative_to(self.config["results"])): fate for file, fate in found.items()}
        assert found.keys() == CACHED_FILES
        return {file for file, fate in found.items() if fate == "written to"}


def contents(folder: Path) -> dict[str, str]:
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def first(tmp_path_factory) -> Directory:
    """A directory that has computed everything, and so has filled the cache."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "cache").mkdir()
    writer = {"backend": "transformers", "max_new_tokens": 32, "temperature": 1.0}
    config = SMALL | {
        "results": "results",
        "corpus": {"source": "config/reviews.jsonl", "n_reviews": 4, "shard_size": 4},
        "consequences": None,
        "writers": {"tiny": writer | {"weights": {"path": str(build_chat_model(folder / "chat"))}}},
        "variants": {
            "original": {"rewriter": "none"},
            "paraphrase": {"rewriter": "llm", "writer": "tiny", "prompt": "config/prompts/paraphrase.yaml"},
        },
    }
    copy_workflow(folder / "first")
    directory = Directory(folder / "first", config)
    directory.compute()
    return directory


@pytest.fixture
def new(first) -> Directory:
    """Another directory beside the first, nothing run yet; its results have a name of their own."""
    folder = first.folder.parent / "new"
    shutil.rmtree(folder, ignore_errors=True)
    copy_workflow(folder)
    return Directory(folder, copy.deepcopy(first.config) | {"results": "results_of_a_second_study"})


def test_the_second_directory_computes_nothing_that_the_cache_holds(first, new):
    before = contents(new.cache)
    new.compute()
    assert contents(new.cache) == before, "what reads cached files wrote to the cache, or it was missed"
    for file in CACHED_FILES:
        assert (new.results / file).is_symlink()
        assert (new.results / file).samefile(first.results / file)
    for log in ("corpus/read_corpus", "variants/paraphrase/000", "states/tiny/original/000"):
        assert (first.results / f"logs/{log}.log").read_text().startswith("INFO rule")
        assert (new.results / f"logs/{log}.log").read_text() == "", f"{log} ran again"
    # what is not cached did run
    assert (new.results / "logs/corpus/000.log").read_text().startswith("INFO rule")
    assert (new.results / CONSUMER).is_file()


def test_an_edited_key_misses_what_depends_on_it_and_another_order_or_a_comment_nothing(new):
    new.config = dict(reversed(new.config.items()))
    new.edit("config/prompts/paraphrase.yaml", "system:", "# a comment\nsystem:")
    assert new.misses() == set()
    new.config = with_changes(new.config, {"writers.tiny.temperature": 0.5})
    assert new.misses() == {REWRITTEN, PARAPHRASE}
