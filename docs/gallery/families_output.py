"""Draw families_output.png, the figure of the README, from a table of families.md and from contrasts.csv.

After an edit of either, run `python docs/gallery/families_output.py`.
"""

import csv
import re
from pathlib import Path

import matplotlib.pyplot as plt

HERE = Path(__file__).parent
BY_RULE, BY_MODEL, NATURAL = "#0072b2", "#d55e00", "#009e73"
# a row of the table, by its first cell and how often this stood there before -> label and colour
ROWS = {
    ("Front minus original", 0): ("by rule: front − original", BY_RULE),
    ("Inward minus original", 0): ("by rule: inward − original", BY_RULE),
    ("Front minus Inward", 0): ("by rule: front − inward", BY_RULE),
    ("Front minus original", 1): ("by a language model: front − original", BY_MODEL),
    ("Inward minus original", 1): ("by a language model: inward − original", BY_MODEL),
    ("Front minus Inward", 1): ("by a language model: front − inward", BY_MODEL),
    ("without BOS", 0): ("natural orders, no BOS: front − end", NATURAL),
    ("with BOS", 0): ("natural orders, with BOS: front − end", NATURAL),
}
# the models of the page, in contrasts.csv; Gemma always has a BOS token
IN_NATURAL_ORDERS = {
    ("without BOS", 0): ("smollm2", None, "qwen05"),
    ("with BOS", 0): ("smollm2-bos", "gemma", "qwen05-bos"),
}


def differences(page: str) -> tuple[list[str], dict[tuple[str, int], list[list[float]]]]:
    """The models, and of each row of the table the estimate and the ends of its interval for every model."""
    table = page.split("| effective rank at the output |", 1)[1].split("\n\n")[0].splitlines()
    found: dict[tuple[str, int], list[list[float]]] = {}
    for line in table[2:]:
        first, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        name = first.split(",")[-1].strip()
        numbers = [[float(number.replace("−", "-")) for number in re.findall(r"[−+]?\d*\.\d+", cell)] for cell in cells]
        found[name, sum(other == name for other, _ in found)] = numbers
    return [cell.strip() for cell in table[0].strip("|").split("|")], found


def in_natural_orders() -> dict[tuple[str, int], list[list[float]]]:
    """The same of front and end in natural orders; nothing where a model was not read so."""
    asked = {"study": "constructions", "sentences": "all", "statistic": "mean difference", "view": "raw"}
    asked |= {"layers": "output", "metric": "normalized_effective_rank"}
    with open(HERE / "contrasts.csv", encoding="utf-8", newline="") as file:
        rows = {row["model"]: row for row in csv.DictReader(file) if asked.items() <= row.items()}
    numbers = {name: [float(row[key]) for key in ("estimate", "ci_low", "ci_high")] for name, row in rows.items()}
    return {row: [numbers[name] if name else [] for name in models] for row, models in IN_NATURAL_ORDERS.items()}


def main() -> None:
    """Write the figure."""
    models, found = differences((HERE / "families.md").read_text(encoding="utf-8"))
    found |= in_natural_orders()
    plt.rcParams.update({"font.size": 9, "font.family": "DejaVu Sans"})
    figure, axes = plt.subplots(1, len(models), figsize=(8.6, 2.3), sharex=True, sharey=True, layout="constrained")
    for place, (axis, model) in enumerate(zip(axes, models, strict=True)):
        for height, (row, (_, colour)) in enumerate(ROWS.items()):
            if not found[row][place]:
                continue
            mean, low, high = found[row][place]
            axis.errorbar(mean, -height, xerr=[[mean - low], [high - mean]], fmt="o", color=colour, ms=4, lw=1.6)
        axis.axvline(0, color="0.4", lw=0.8)
        axis.set_title(model, fontsize=9, fontweight="bold")
        axis.grid(axis="x", color="0.9")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_yticks([-height for height in range(len(ROWS))], [label for label, _ in ROWS.values()])
    figure.supxlabel("difference of the normalised effective rank at the output, with its 95 % interval", fontsize=9)
    figure.savefig(HERE / "families_output.png", dpi=200)


if __name__ == "__main__":
    main()
