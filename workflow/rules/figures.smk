# Tables -> figures. Titles and labels are parameters of these rules alone.
from homogenization.config.presentation import drawn_files, parameters
from homogenization.figures.catalogue import drawn_figures

DRAWN_BY = (*TABULATED_BY, "interventions.conditions", *FURTHER["claims"], "figures")
FIGURES = [f"<results>/figures/{file}" for figure in drawn_figures(STUDY) for file, _ in drawn_files(STUDY, figure)]


for figure in drawn_figures(STUDY):

    rule:
        """A figure of the catalogue, or all figures of a kind, as SVG and PDF."""
        name:
            f"plot_{figure.name}"
        input:
            expand("<results>/tables/{table}", table=figure.tables),
        output:
            *(
                report(f"<results>/figures/{file}", **entry) if entry else f"<results>/figures/{file}"
                for file, entry in drawn_files(STUDY, figure)
            ),
        log:
            f"<logs>/figures/{figure.name}.log",
        conda:
            "../../envs/homogenization.yaml"
        params:
            **parameters(STUDY, figure),
            code=code("plot", *DRAWN_BY),
            module=f"figures.{figure.module}",
            figure=figure.name,
        script:
            "../scripts/plot.py"
