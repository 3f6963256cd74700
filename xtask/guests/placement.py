#!/usr/bin/env python3
"""The table of recorded sessions under each placement policy, on a page of the book, as a picture: write amplification,
each session to its own scale. The policies in green are told by the host.

usage: placement.py PAGE.md PICTURE.svg"""
import pathlib
import sys

TOLD = ("by-stream", "by-handle")
WIDTH, BAR, TALL, COLUMNS = 980, 20, 150, 3


def table(page):
    """The heads of the columns, and for each policy its values."""
    lines = page.read_text().splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("| `--where` |"))
    cells = lambda line: [cell.strip() for cell in line.strip("|").split("|")]
    rows = {}
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        policy, *values = cells(line)
        rows[policy.strip("`")] = [float(value) for value in values]
    return cells(lines[start])[1:], rows


def picture(heads, rows):
    height = 40 + 280 * -(-len(heads) // COLUMNS)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">']
    out.append(f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>')
    for group, head in enumerate(heads):
        left, foot = 30 + 320 * (group % COLUMNS), 200 + 280 * (group // COLUMNS)
        out.append(f'<text x="{left}" y="{foot - TALL - 22}" font-weight="bold">{head} spare</text>')
        most = max(values[group] for values in rows.values())
        for at, (policy, values) in enumerate(rows.items()):
            x, tall = left + at * (BAR + 2), TALL * values[group] / most
            value = f"{values[group]:.2f}" if values[group] < 10 else f"{values[group]:.1f}"
            colour = "#2a6" if policy.startswith(TOLD) else "#48c"
            out.append(f'<rect x="{x}" y="{foot - tall:.0f}" width="{BAR}" height="{tall:.0f}" fill="{colour}"/>')
            out.append(f'<text x="{x + BAR / 2:.0f}" y="{foot - tall - 3:.0f}" text-anchor="middle" font-size="9">{value}</text>')
            out.append(f'<text transform="translate({x + BAR / 2 - 3:.0f} {foot + 6}) rotate(90)" font-size="10">{policy}</text>')
    return "\n".join(out + ["</svg>", ""])


if len(sys.argv) != 3:
    sys.exit(__doc__)
pathlib.Path(sys.argv[2]).write_text(picture(*table(pathlib.Path(sys.argv[1]))))
