# Tables -> figures. Titles and labels are parameters of these rules alone.
from homogenization.config.presentation import parameters
from homogenization.figures.catalogue import drawn_figures

FIGURES = [
    f"<results>/figures/{path}.{suffix}"
    for figure in drawn_figures(STUDY)
    for path in figure.paths(STUDY)
    for suffix in ("svg", "png")
]


for figure in drawn_figures(STUDY):

    rule:
        """A figure of the catalogue, as SVG and PNG."""
        name:
            f"plot_{figure.name}"
        input:
            expand("<results>/tables/{table}", table=figure.tables),
        output:
            svg=report(
                f"<results>/figures/{figure.path}.svg",
                caption=f"../report/{figure.name}.rst",
                category=figure.category,
                labels=figure.labels,
            ),
            png=f"<results>/figures/{figure.path}.png",
        log:
            f"<logs>/figures/{figure.path}.log",
        conda:
            "../../envs/homogenization.yaml"
        params:
            **parameters(STUDY, figure),
            code=code("plot", f"figures.{figure.name}"),
            module=f"figures.{figure.name}",
        script:
            "../scripts/plot.py"
