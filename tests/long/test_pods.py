"""Jobs on machines that share no files with the one that sends them, but an S3 storage: what Kubernetes gives a study.

A pod is a process in a new folder with the workflow's files and nothing of the environment; moto answers for S3.
"""

import json
import re
import sys
from pathlib import Path

import boto3
import polars as pl
import pytest
from moto.server import ThreadedMotoServer

from compare_runs import differences
from conftest import LLAMA, ROOT, WORKFLOW_PARTS, Project, copy_workflow
from homogenization import open_results
from homogenization.models.untrained import build_random_model

# Snakemake hands them on to jobs
KEYS = {"SNAKEMAKE_STORAGE_S3_ACCESS_KEY": "testing", "SNAKEMAKE_STORAGE_S3_SECRET_KEY": "testing"}
# of the environment, a pod has what chooses the kernels of its processor: with others, last digits differ
SUBMIT = """#!/bin/bash
pod=$(mktemp -d {pods}/pod.XXXXXX)
cp "$1" $pod/jobscript.sh
mkdir $pod/home $pod/work
cp -r {sources} $pod/work
cd $pod/work
nohup setsid env -i HOME=$pod/home PATH={path}:/usr/bin:/bin LC_ALL=C.UTF-8 AWS_DEFAULT_REGION=us-east-1 \\
    $(env | grep -E '^(OPENBLAS|ATEN|ONEDNN)_') OMP_NUM_THREADS=1 \\
    bash -c 'bash ../jobscript.sh > ../out 2>&1; echo $? > ../status' > /dev/null 2>&1 &
basename $pod
"""
STATUS = """#!/bin/bash
status={pods}/$1/status
if [ -s $status ]; then [ "$(cat $status)" = 0 ] && echo success || echo failed; else echo running; fi
"""
# jobs that one pod runs: each start of a pod takes seconds
GROUPS = {
    "texts": "clean_corpus sample_corpus count_document_frequencies parse_reviews extract_keyphrases rewrite_reviews "
    "score_similarity",
    "tables": "tabulate_similarity tabulate_extraction tabulate_mauve tabulate_metrics "
    "tabulate_placement tabulate_pooled tabulate_summary measure_depth test_contrasts "
    "find_extrema plot_metric plot_mauve plot_extrema make_curves make_first_page",
}


class Cluster:
    """A storage, and pods that run the jobs of a project."""

    def __init__(self, project: Project, folder: Path, port: int) -> None:
        self.project, self.pods = project, folder / "pods"
        self.pods.mkdir()
        address = f"http://127.0.0.1:{port}"
        sources = " ".join(str(project.folder / part) for part in (*WORKFLOW_PARTS, "test.yaml"))
        words = {"pods": self.pods, "sources": sources, "path": Path(sys.executable).parent}
        for name, script in (("submit", SUBMIT), ("status", STATUS)):
            (folder / name).write_text(script.format(**words))
            (folder / name).chmod(0o755)
        self.objects = boto3.resource(
            "s3",
            endpoint_url=address,
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
            region_name="us-east-1",
        ).create_bucket(Bucket="study")
        self.arguments = [
            *("--jobs", "2", "--workflow-profile", "none", "--rerun-triggers", "input", "mtime", "params"),
            *("--executor", "cluster-generic", "--cluster-generic-submit-cmd", f"{folder}/submit"),
            *("--cluster-generic-status-cmd", f"{folder}/status", "--seconds-between-status-checks", "1"),
            *("--shared-fs-usage", "none", "--default-storage-provider", "s3"),
            *("--default-storage-prefix", "s3://study/mine", "--storage-s3-endpoint-url", address),
        ]

    def run(self, *arguments: str, status: int = 0) -> str:
        """Run Snakemake, which has to end with `status`; what it printed."""
        done = self.project.run(*self.arguments, *arguments, **KEYS)
        assert done.returncode == status, "\n".join([done.stdout, *self.printed_in_pods()])
        return done.stdout

    def printed_in_pods(self) -> list[str]:
        """What each pod printed."""
        return [pod.joinpath("out").read_text() for pod in self.pods.iterdir()]

    def download(self, folder: Path) -> Path:
        """All objects of the results, as `aws s3 sync` leaves them."""
        for item in self.objects.objects.filter(Prefix="mine/results/"):
            file = folder / item.key.removeprefix("mine/")
            file.parent.mkdir(parents=True, exist_ok=True)
            self.objects.download_file(item.key, str(file))
        return folder / "results"


@pytest.fixture
def cluster(tmp_path):
    """A study of one's own texts, without labels, and of a model in a folder; both lie where the run is started."""
    copy_workflow(tmp_path / "project")
    project = Project(tmp_path / "project")
    rows = [json.loads(line) for line in (ROOT / "config/reviews.jsonl").read_text().splitlines()]
    (project.folder / "mine.jsonl").write_text("".join(json.dumps({"text": row["text"]}) + "\n" for row in rows))
    build_random_model(LLAMA, 0, [row["text"] for row in rows], 400, project.folder / "model")
    project.config = {
        "results": "./results/",
        "corpus": {"source": "mine.jsonl", "n_reviews": 8, "shard_size": 8},
        "variants": {"original": {"rewriter": "none"}},
        "models": {"own": {"weights": {"path": "model"}, "device": "cpu"}},
        "states": {"keep": False, "record_attention": False},
        "views": ["raw"],
        "metrics": ["effective_rank", "resultant_length"],
        "mauve": {"n_tokens": 100, "seeds": 1},
        "examples": {"tokens": 8},
        "similarity": {"device": "cpu"},
        **dict.fromkeys(("sensitivity", "claims")),
    }
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    yield Cluster(project, tmp_path, server.get_host_and_port()[1])
    server.stop()


def test_a_study_runs_in_pods(cluster, tmp_path):
    groups = [f"{rule}={group}" for group, rules in GROUPS.items() for rule in rules.split()]
    first = cluster.run("--groups", *groups)
    results = cluster.download(tmp_path / "first")
    in_pods = {
        rule for text in cluster.printed_in_pods() for rule in re.findall(r"^\w*rule (\w+):", text, re.MULTILINE)
    }
    here = set(re.findall(r"^Finished jobid: \d+ \(Rule: (\w+)\)", first, re.MULTILINE)) - in_pods
    # where files lie on this machine, they are read here; and Snakemake's records are here
    assert here == {"download_corpus", "keep_columns", "carry_weights", "make_report", "all"}

    direct = Project(tmp_path / "direct", cluster.project.config)
    copied = cluster.project.folder
    copy_workflow(direct.folder)
    for name in ("mine.jsonl", "model"):
        (direct.folder / name).symlink_to(copied / name)
    direct.make()
    differing = differences(direct.folder / "results", results)
    # its model lies in another place: JSON says what it was made by
    expected = ["states/own/original/000.json: other values"]
    assert [line for line in differing if not line.startswith("weights/")] == expected
    assert open_results(results).table("metrics").equals(open_results(direct.folder / "results").table("metrics"))
    report = (results / "report.html").read_text()
    runtimes = json.loads(re.search(r"var runtimes_spec = (\{.*?\});?\n", report)[1])["data"]["values"]
    assert {"measure_states", "tabulate_metrics", "plot_metric"} <= {job["rule"] for job in runtimes}
    assert all(job["runtime"] > 0 for job in runtimes if job["rule"] == "measure_states")
    assert "Nothing to be done" in cluster.run("--dry-run")

    # of files in which rows stay, Snakemake has no copy here; and a damaged object is named, and made anew once deleted
    cluster.project.config["examples"] = {"tokens": 9}
    key = "mine/results/tables/similarity.parquet"
    cluster.objects.put_object(Key=key, Body=b"damaged")
    cluster.run("--groups", *groups, status=1)
    logs = "\n".join(file.read_text() for file in cluster.download(tmp_path / "failed").glob("logs/**/*.log"))
    assert f"It is a copy of s3://study/{key}. Delete this object in the storage" in logs
    cluster.objects.Object(key).delete()
    cluster.run("--groups", *groups)
    again = cluster.download(tmp_path / "healed")
    before, after = (pl.read_parquet(folder / "examples/own.tokens.parquet") for folder in (results, again))
    assert not before.equals(after)
    assert (again / "tables/similarity.parquet").read_bytes() == (results / "tables/similarity.parquet").read_bytes()
