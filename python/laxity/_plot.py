"""Figures by matplotlib, from the data of the report's figures."""

from __future__ import annotations

from typing import Any

#: Colours that colour-blind readers can distinguish (Okabe and Ito), and a marker for each.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#332288", "#882255", "#117733", "#999933"]
MARKERS = "os^Dv<>pX*"
ALARM = "#C0392B"


def draw(figure: dict[str, Any]) -> Any:
    """A `matplotlib.figure.Figure`."""
    from matplotlib import pyplot

    if figure["bars"] or not figure["panels"]:
        drawn, axes = pyplot.subplots(figsize=(8, 1.4 + 0.4 * max(1, len(figure["bars"]))), layout="constrained")
        bars(axes, figure)
    else:
        panels = figure["panels"]
        columns = 3 if len(panels) > 4 else min(2, len(panels))
        rows = -(-len(panels) // columns)
        size = (4.2 * columns + 2.4, 3.2 * rows + 0.8)
        drawn, grid = pyplot.subplots(
            rows, columns, figsize=size, squeeze=False, sharex=True, sharey=True, layout="constrained"
        )
        for place, axes in enumerate(grid.flat):
            if place < len(panels):
                lines(axes, figure, panels[place])
            else:
                # The panel above is the last of its column.
                axes.set_visible(False)
                grid.flat[place - columns].tick_params(labelbottom=True)
        # The scale is that of all panels, so it begins at zero when they are drawn.
        if not figure["y"]["log"] and grid.flat[0].get_ylim()[0] > 0:
            grid.flat[0].set_ylim(bottom=0)
        handles = {}
        for axes in grid.flat:
            handles |= dict(zip(*reversed(axes.get_legend_handles_labels())))
        if len(handles) > 1:
            drawn.legend(handles.values(), handles.keys(), loc="outside right upper", fontsize="small")
    drawn.suptitle(figure["title"])
    if figure["note"]:
        drawn.text(0.99, 0.01, figure["note"], ha="right", fontsize="small", color="0.4")
    return drawn


def lines(axes: Any, figure: dict[str, Any], panel: dict[str, Any]) -> None:
    """A panel of lines; bounds are dashed, intervals are shades."""
    for line in panel["lines"]:
        colour, marker = COLOURS[line["look"] % len(COLOURS)], MARKERS[line["look"] % len(MARKERS)]
        marked = len(line["points"]) <= 40
        measured = dict(color=colour, marker=marker if marked else None, markersize=4)
        axes.plot(*series(line["points"]), label=line["name"] or "measured", **measured)
        if any(value is not None for _, value in line["bounds"]):
            axes.plot(*series(line["bounds"]), color=colour, linestyle="--", linewidth=1, label="bound")
        if line["deadline"]:
            axes.plot(*series(line["deadline"]), color=colour, linestyle=":", linewidth=1, label="deadline")
        if line["spread"]:
            at = [at for at, _ in line["spread"]]
            low, high = zip(*(ends for _, ends in line["spread"]))
            axes.fill_between(at, low, high, color=colour, alpha=0.2, linewidth=0)
    axes.set_title(panel["title"], fontsize="medium")
    axes.set_xlabel(figure["x"]["label"])
    axes.set_ylabel(figure["y"]["label"])
    if figure["x"]["names"]:
        axes.set_xticks(range(len(figure["x"]["names"])), figure["x"]["names"])
    for scale, set_scale in ((figure["x"], axes.set_xscale), (figure["y"], axes.set_yscale)):
        if scale["log"]:
            set_scale("log")
    axes.grid(color="0.9")


def series(points: list[list[Any]]) -> tuple[list[float], list[float]]:
    """Positions and values, a gap where there is no value."""
    values = [float("nan") if value is None else value for _, value in points]
    return [at for at, _ in points], values


def bars(axes: Any, figure: dict[str, Any]) -> None:
    """A bar for each channel, with its bound as a line and its deadline as a diamond."""
    for place, bar in enumerate(figure["bars"]):
        axes.barh(place, bar["value"], 0.5, color=ALARM if bar["alarm"] else COLOURS[0])
        if bar["bound"] is not None:
            axes.plot([bar["bound"]] * 2, [place - 0.35, place + 0.35], color="black", linewidth=2)
        if bar["deadline"] is not None:
            axes.plot(bar["deadline"], place, marker="D", color=COLOURS[1])
    axes.set_yticks(range(len(figure["bars"])), [bar["name"] for bar in figure["bars"]])
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set_xlabel(figure["x"]["label"])
    axes.grid(axis="x", color="0.9")
