"""The writes of a random workload, as rows of an Alibaba block trace: the pages in order, and then single pages.

    python3 streams.py WORKLOAD PAGES WRITES SEED > writes.csv

WORKLOAD is `random`, `scattered:90/10` (90 % of the writes go to 10 % of the pages) or `zipf:EXPONENT`. Which pages are
hot is drawn, too.
"""

import itertools
import random
import sys

name, _, rest = sys.argv[1].partition(":")
pages, writes, seed = map(int, sys.argv[2:])
drawn = random.Random(seed)
places = list(range(pages))
drawn.shuffle(places)
if name == "zipf":
    weights = itertools.accumulate((rank + 1) ** -float(rest) for rank in range(pages))
elif name == "scattered":
    share, part = (int(percent) / 100 for percent in rest.split("/"))
    hot = int(pages * part)
    weights = itertools.accumulate(share / hot if rank < hot else (1 - share) / (pages - hot) for rank in range(pages))
else:
    weights = itertools.count(1)
weights = list(itertools.islice(weights, pages))


def stream():
    yield from range(pages)
    for first in range(0, writes, 65536):
        yield from drawn.choices(places, cum_weights=weights, k=min(65536, writes - first))


for time, page in enumerate(stream(), 1):
    sys.stdout.write(f"0,W,{page * 4096},4096,{time}\n")
