"""What one working directory computed, another takes from the cache they share, unless anything behind it differs."""

import copy
import re
import shutil
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from conftest import SMALL, Project, copy_workflow, with_changes
from homogenization.states.store import open_store
from tiny_chat import build_chat_model

CACHED_RULES = ("download_corpus", "extract_keyphrases_with_llm", "rewrite_with_llm", "extract_states")
ORIGINAL = "states/tiny/original/000.zarr.zip"
PARAPHRASE = "states/tiny/paraphrase/000.zarr.zip"
REWRITTEN = "variants/paraphrase/000.parquet"
CACHED_FILES = {"corpus/raw.parquet", ORIGINAL, PARAPHRASE, REWRITTEN}
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


def arrays(path: Path) -> dict[str, np.ndarray]:
    """Every array of a store, decoded."""
    with open_store(path) as store:
        decoded = {str(layer): store.residual_stream(layer) for layer in store.layers}
        return decoded | {"attention": store.attention_received(), "final_norm": store.final_norm()}


@pytest.fixture(scope="module")
def first(tmp_path_factory) -> Directory:
    """A directory that has computed everything, and so has filled the cache."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "cache").mkdir()
    writer = {"backend": "transformers", "dtype": "float32", "max_new_tokens": 32, "temperature": 1.0}
    config = SMALL | {
        "results": "results",
        "corpus": {"source": "config/reviews.jsonl", "n_reviews": 4, "shard_size": 4},
        "writers": {"tiny": writer | {"weights": {"path": str(build_chat_model(folder / "chat"))}}},
        "rewriting": {"min_coverage": 0, "length_ratio": [0.01, 10]},
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


@pytest.fixture(scope="module")
def second(first) -> Directory:
    """Another directory that has run the same study."""
    copy_workflow(first.folder.parent / "second")
    directory = Directory(first.folder.parent / "second", first.config | {"results": "results_of_a_second_study"})
    before = contents(directory.cache)
    directory.compute()
    assert contents(directory.cache) == before, "what reads cached files wrote to the cache, or it was missed"
    return directory


def test_the_second_directory_computes_nothing_that_the_cache_holds(first, second):
    for file in CACHED_FILES:
        assert (second.results / file).is_symlink()
        assert (second.results / file).samefile(first.results / file)
    for log in ("corpus/download_corpus", "variants/paraphrase/000", "states/tiny/original/000"):
        assert (first.results / f"logs/{log}.log").read_text().startswith("INFO rule")
        assert (second.results / f"logs/{log}.log").read_text() == "", f"{log} ran again"
    # what is not cached did run
    assert (second.results / "logs/corpus/clean_corpus.log").read_text().startswith("INFO rule")
    assert (second.results / CONSUMER).is_file()


def test_what_is_taken_is_what_would_have_been_computed(first, second):
    """Without the cache, over files that are links into it."""
    before = contents(second.cache)
    targets = [f"{second.config['results']}/{file}" for file in (ORIGINAL, PARAPHRASE)]
    second.make("--forcerun", "extract_states", "--", *targets, OMP_NUM_THREADS="1")
    for file in (ORIGINAL, PARAPHRASE):
        assert not (second.results / file).is_symlink()
        taken, computed = arrays(first.results / file), arrays(second.results / file)
        assert taken.keys() == computed.keys()
        for name, array in taken.items():
            np.testing.assert_array_equal(array, computed[name], err_msg=name)
    assert contents(second.cache) == before, "a job wrote through a link"


def test_the_same_study_misses_nothing(new):
    assert new.misses() == set()


def test_another_order_of_keys_or_a_comment_misses_nothing(new):
    new.config = dict(reversed(new.config.items()))
    new.edit("config/prompts/paraphrase.yaml", "system:", "# a comment\nsystem:")
    assert new.misses() == set()


@pytest.mark.parametrize(
    ("file", "missed"),
    [
        ("states/forward", {ORIGINAL, PARAPHRASE}),
        ("run/files", set()),  # how jobs run
    ],
)
def test_an_edited_formula_misses(new, file, missed):
    path = new.folder / f"workflow/lib/homogenization/{file}.py"
    path.write_text(path.read_text() + "\n_EDITED = True\n")
    assert new.misses() == missed


@pytest.mark.parametrize(
    ("key", "value", "missed"),
    [
        ("writers.tiny.temperature", 0.5, {REWRITTEN, PARAPHRASE}),
        ("models.tiny.weights.seed", 1, {ORIGINAL, PARAPHRASE}),
        ("seed", 1, {REWRITTEN, ORIGINAL, PARAPHRASE}),
        ("similarity.threshold", 0.9, set()),
    ],
)
def test_an_edited_key_misses_what_depends_on_it(new, key, value, missed):
    new.config = with_changes(new.config, {key: value})
    assert new.misses() == missed


def test_another_corpus_misses_everything(new):
    path = new.folder / "config/reviews.jsonl"
    path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")
    assert new.misses() == CACHED_FILES
