"""A workflow that imports this one as a module, once or more often."""

import shutil
from pathlib import Path

import yaml

from conftest import Project, copy_workflow

PARENT = """
configfile: "parent.yaml"

{modules}

rule mine:
    default_target: True
    output: "mine.txt"
    shell: "echo {{config[word]}} > {{output}}"

assert set(config) == {{"word", "homogenization"}}, "the module has its own configuration"
assert not {{"all", "plan", "tables"}} & {{rule.name for rule in workflow.rules}}, "and its own names"
"""
MODULE = """
module {name}:
    snakefile: {snakefile}
    config: config["homogenization"]
    {prefix}

use rule * from {name} as {name}_*
"""


class Parent(Project):
    """A folder with a workflow of its own, beside a copy of this one."""

    def __init__(self, folder: Path, config: dict, snakefile: str | None = None, **prefixes: str | None) -> None:
        """Write the workflow, with a module of each name and its prefix."""
        super().__init__(folder / "parent", {"word": "mine", "homogenization": config})
        copy_workflow(folder / "repository")
        snakefile = snakefile or repr(str(folder / "repository/workflow/Snakefile"))
        modules = (
            MODULE.format(name=name, snakefile=snakefile, prefix=f"prefix: {prefix!r}" if prefix else "")
            for name, prefix in prefixes.items()
        )
        (self.folder / "workflow").mkdir(parents=True)
        (self.folder / "workflow/Snakefile").write_text(PARENT.format(modules="\n".join(modules)))
        shutil.copytree(folder / "repository/config", self.folder / "config")

    def _arguments(self, *arguments: str) -> list[str]:
        (self.folder / "parent.yaml").write_text(yaml.safe_dump(self.config))
        return list(arguments)
