"""A report of made-up tables: two models, three variants, two texts, claims of every verdict."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import polars as pl

from examples import example_table
from homogenization.claims.judgement import CLAIMS_SCHEMA
from homogenization.measures.measure import READ_TEXTS_SCHEMA, TOKENS_SCHEMA
from homogenization.report.report import report_page
from homogenization.run.parquet import write_table
from homogenization.statistics.contrasts import CONTRASTS_SCHEMA
from homogenization.tables.balance import BALANCE_SCHEMA
from homogenization.tables.similarity import ACCEPTANCE_SCHEMA, SIMILARITY_SCHEMA
from homogenization.tables.summary import SUMMARY_SCHEMA

BAD = '<b>& "{braces}" \N{CLAPPER BOARD} </script>'  # what labels and texts may hold
MODELS = [["big", f"Big {BAD}"], ["small", "Small"]]
VARIANTS = [["original", "Original"], ["front", f"Front {BAD}"], ["inward", "Inward"]]
METRIC = "normalized_effective_rank"
TEXTS = {
    "original": f"We saw a film of note here today. A {BAD} film it was.",
    "front": f"A film of note we saw here today. A film {BAD} it was.",
    "inward": f"We a film of note saw here today. A {BAD} it film was.",
}
REVIEWS, LAYERS = ["0" * 12, "1" * 12], (0, 1, 2)
SVG = '<?xml version="1.0"?><svg width="9pt"><metadata>http://x</metadata><g id="axes">'
SVG += '<use href="#axes" x="1.234567" transform="scale(0.015625)"/></g></svg>'
SHOWN = {
    "models": MODELS,
    "variants": VARIANTS,
    "by": "category",
    "margin": 0.02,
    "sources": {"front-lower": "A paper", "own": f"Mine {BAD}"},
    "weights": {"big": {"hub": "someone/big", "revision": "0a1b"}, "small": {"wheel": "small==1", "gguf": "s.Q4.gguf"}},
    "corpus": {"source": "texts.csv", "n_reviews": 20},
    "uncontrolled": ["inward"],
    "examples": {"model": "big", "choice": {"variant": "front", "minus": "original", "metric": METRIC, "view": "raw"}},
    "curves": {"metrics": [[METRIC, "Normalised effective rank"]], "margin": 0.02},
    "figures": [
        {"name": "disorder", "title": "Disorder", "section": "Answer", "caption": "Not *position*."},
        {"name": "metrics/rank", "title": f"Rank {BAD}", "section": "Metrics", "caption": "Falls < rises."},
    ],
    "csv": [{"title": "Accepted", "caption": "How many.", "file": "acceptance.csv"}],
}
ORIGIN = {"software": "a 1.0, commit 0c", "snakemake": "9.27", "digest": "0123abcd", "configuration": f"x: {BAD}\n"}


def claims_table():
    """A claim that the first token turns, one of one view at two layers, one that can't be tested."""
    lower, own = ("front-lower", "Front is lower."), ("own", f"Mine {BAD}")
    down, unsure, up = (-0.03, -0.04, -0.02, "yes"), (0.01, -0.01, 0.03, "undecided"), (0.02, 0.01, 0.03, "no")
    less = (0.001, -0.002, 0.003, "negligible")
    rows = [
        (*lower, "small", "raw_without_first", "all", 20, *down),
        (*lower, "small", "raw", "all", 20, *unsure),
        (*lower, "big", "raw_without_first", "all", 20, *unsure),
        (*lower, "big", "raw", "all", 20, *up),
        (*lower, "small", "pooled_centred", "all", 2, *down),
        (*lower, "big", "pooled_centred", "all", 2, *unsure),
        *((*own, "small", "raw", layers, 18, *less) for layers in ("all", "output")),
        ("end-lower", "End is lower.", "big", *[None] * 6, "not tested"),
    ]
    columns = ["claim", "statement", "model", "view", "layers", "n_reviews", "estimate", "ci_low", "ci_high", "verdict"]
    compared = ["front − original"] * 6 + ["front − inward"] * 2 + ["end − original"]
    more = {"statistic": "contrast", "metric": METRIC, "yardstick": 0.5, "compared": compared}
    told = pl.DataFrame(rows, columns, orient="row").to_dict() | {
        "reason": [None] * 8 + ["no variant `end`"],
        "p": 0.001,
    }
    return example_table(CLAIMS_SCHEMA, **told, **more)


def contrasts_table():
    """Layers and the mean over them of front − original, the latter for two groups too."""
    curve = {"model": ["big"] * 3, "variant": "front", "minus": "original", "layer": LAYERS, "depth": [0, 0.5, 1.0]}
    curve |= {"mean": [0.1, 0.2, 0.3], "ci_low": [0.0, 0.1, 0.2], "ci_high": [0.2, 0.3, 0.4], "yardstick": 0.5}
    where = {"point": "residual_stream", "view": "raw_without_first", "metric": METRIC, "n_reviews": 20}
    layers = example_table(CONTRASTS_SCHEMA, **curve, **where, verdict=["undecided", "lower", "lower"])
    numbers = {"mean": [0.05, -0.07], "ci_low": [0.03, -0.08], "ci_high": [0.07, -0.06], "verdict": "lower"}
    groups = {"group": ["news", BAD], "model": "big", "variant": "front", "minus": "original", "layers": "all"}
    return pl.concat([layers, example_table(CONTRASTS_SCHEMA, **where, **groups, **numbers)])


def tables():
    """The tables of the study by their names."""
    levels = {"model": ["big"] * 3 + ["small"] * 3, "variant": "original", "point": "residual_stream", "metric": METRIC}
    levels |= {"layer": [*LAYERS] * 2, "depth": [0, 0.5, 1.0] * 2, "view": "raw_without_first", "n_reviews": 20}
    levels |= {"mean": np.linspace(0.9, 0.4, 6), "ci_low": 0.1, "ci_high": 0.95}
    both = {"review_id": REVIEWS * 2, "variant": ["front"] * 2 + ["inward"] * 2}
    last = {"model": "big", "review_id": REVIEWS * 2, "variant": ["original"] * 2 + ["front"] * 2, "view": "raw"}
    last |= {"point": "residual_stream", "layer": 2, METRIC: [0.5, 0.5, 0.4, 0.7]}
    accepted = {"variant": ["front", "inward"], "n_reviews": 20, "n_accepted": [20, 11], "acceptance_rate": [1.0, 0.55]}
    unlike = {"variant": "front", "control": "inward", "covariate": ["first_word", "f1"], "balanced": [False, True]}
    return {
        "claims": claims_table(),
        "contrasts": contrasts_table(),
        "summary": example_table(SUMMARY_SCHEMA, **levels),
        "metrics": pl.DataFrame(last),
        "similarity": example_table(SIMILARITY_SCHEMA, **both, accepted=True, changed=True),
        "acceptance": example_table(ACCEPTANCE_SCHEMA, **accepted),
        "balance": example_table(BALANCE_SCHEMA, **unlike),
        "sample": pl.DataFrame({"review_id": REVIEWS}),
        "keyphrases": pl.DataFrame({"review_id": REVIEWS, "phrase": ["film of note", "film"]}),
        "variants": pl.DataFrame(
            [{"variant": name, "review_id": review, "text": text} for name, text in TEXTS.items() for review in REVIEWS]
        ),
        **read_tables(),
    }


def read_tables():
    """The tables `texts` and `tokens` of one model: words are tokens, behind one that is none of the text's."""
    generator, texts, tokens = np.random.default_rng(0), [], []
    for variant, text in TEXTS.items():
        starts, ends = zip((0, 0), *(run.span() for run in re.finditer(r"\S+", text)), strict=True)
        for review_id in REVIEWS:
            keys = {"model": "big", "variant": variant, "review_id": review_id}
            texts.append(keys | {"n_tokens": len(starts), "token_starts": list(starts), "token_ends": list(ends)})
            for layer in LAYERS:
                cosines, ratios = generator.uniform(-1, 1, len(starts)), np.exp(generator.normal(0, 1, len(starts)))
                values = {"layer": layer, "cosine_to_mean": cosines, "norm": ratios, "attention": ratios}
                tokens.append(keys | values | ({} if layer else {"attention": None}))
    return {
        "texts": example_table(READ_TEXTS_SCHEMA, **pl.DataFrame(texts).to_dict()),
        "tokens": pl.DataFrame(tokens, TOKENS_SCHEMA),
    }


def made_page(folder, changed=None, left_out=3, svg=SVG, **shown):
    """The page of files in `folder`: of the tables, some of which are `changed`, or None for those not made."""
    given = {name: table for name, table in (tables() | (changed or {})).items() if table is not None}
    csv, several = ("claims", "acceptance", "balance"), ("sample", "keyphrases", "variants", "texts", "tokens")
    inputs: dict = {name: [] for name in csv}
    for name, table in given.items():
        file = folder / f"{name}.{'csv' if name in csv else 'parquet'}"
        write_table(table, file)
        inputs[name] = [str(file)] if name in several else str(file)
    (folder / "figure.svg").write_text(svg)
    inputs["runs"] = [str(folder / "run.json")]
    record = {"model": "big", "n_reviews": 2, "n_left_out": left_out, "max_tokens": 9}
    (folder / "run.json").write_text(json.dumps(record))
    shown = SHOWN | shown
    inputs["figures"] = [str(folder / "figure.svg")] * len(shown["figures"])
    inputs["csv"] = [str(folder / "acceptance.csv")] * len(shown["csv"])
    return report_page(inputs, shown, ORIGIN)


def in_script(page, name):
    """What a script of the page reads."""
    return json.loads(re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL)[1])


class Read(HTMLParser):
    """A page as a browser has it: `tags` with attributes, `tables` by id as rows of cells, `text` outside scripts."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.tables, self.text, self.rows = [], [], {}, "", []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in ("meta", "br", "input", "hr", "link", "img"):
            self.open.append(tag)
        if tag == "table":
            self.rows = self.tables.setdefault(dict(attributes).get("id"), [])
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open):
            self.text += data
            if {"td", "th"} & set(self.open):
                self.rows[-1][-1] += data
