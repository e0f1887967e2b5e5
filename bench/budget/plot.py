# SPDX-License-Identifier: Apache-2.0
"""Overhead against budget, one line for each model, as SVG."""
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 420, 64, 120, 40, 48
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f")


def svg(results):
    lines = {}
    for result in results:
        if "error" not in result and result["ratio"] < 1:
            name = result["model"] + (", spilling" if result["spill"] else "")
            lines.setdefault(name, []).append((result["ratio"], max(0, result["overhead"])))
    points = [point for line in lines.values() for point in line]
    low, most = min((x for x, _ in points), default=0), max((y for _, y in points), default=0) or 0.05
    low, high = min(low, 0.2), 1

    def at(ratio, overhead):
        x = LEFT + (ratio - low) / (high - low) * (WIDTH - LEFT - RIGHT)
        return round(x, 1), round(HEIGHT - BOTTOM - overhead / most * (HEIGHT - TOP - BOTTOM), 1)

    text = [f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' font-family='sans-serif' font-size='12'>",
            "<rect width='100%' height='100%' fill='white'/>",
            f"<text x='{LEFT}' y='22' font-size='14'>Time of a training step that a memory budget adds</text>"]
    for i in range(6):
        _, y = at(low, most * i / 5)
        x, _ = at(low + (high - low) * i / 5, 0)
        text += [f"<line x1='{LEFT}' x2='{WIDTH - RIGHT}' y1='{y}' y2='{y}' stroke='#ddd'/>",
                 f"<text x='{LEFT - 8}' y='{y + 4}' text-anchor='end'>{20 * i * most:.0f} %</text>",
                 f"<text x='{x}' y='{HEIGHT - BOTTOM + 18}' text-anchor='middle'>{low + (high - low) * i / 5:.2f}</text>"]
    text.append(f"<text x='{(LEFT + WIDTH - RIGHT) / 2}' y='{HEIGHT - 10}' text-anchor='middle'>budget / peak without one</text>")
    for i, (name, line) in enumerate(lines.items()):
        colour, dash = COLOURS[i % len(COLOURS)], "5 4" if "spilling" in name else "none"
        places = [at(*point) for point in sorted({*line, (1, 0)})]
        path = " ".join(f"{x},{y}" for x, y in places)
        text += [f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='2' stroke-dasharray='{dash}'/>",
                 *(f"<circle cx='{x}' cy='{y}' r='3' fill='{colour}'/>" for x, y in places),
                 f"<text x='{WIDTH - RIGHT + 8}' y='{TOP + 10 + 18 * i}' fill='{colour}'>{name}</text>"]
    return "\n".join([*text, "</svg>"]) + "\n"
