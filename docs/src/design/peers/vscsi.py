"""A VSCSI trace (version 1) as rows of an Alibaba block trace, on a device of the pages that it reads or writes.

    python3 vscsi.py FILE > requests.csv

A row of VSCSI has 32 bytes: number, bytes, scatter-gather elements, command, version, sector, microseconds. The pages
of 4 KiB that no request touches are left out, so that the device is full. Prints the number of pages on stderr.
"""

import struct
import sys

COMMANDS = {0x28: "R", 0x2A: "W", 0x88: "R", 0x8A: "W"}
PAGE = 4096

with open(sys.argv[1], "rb") as file:
    rows = list(struct.iter_unpack("<IIIHHQQ", file.read()))
requests = [(COMMANDS[row[3]], row[5] * 512, row[1], row[6]) for row in rows if row[3] in COMMANDS and row[1]]
touched = {page for _, at, length, _ in requests for page in range(at // PAGE, (at + length - 1) // PAGE + 1)}
places = {page: place for place, page in enumerate(sorted(touched))}
print(len(places), file=sys.stderr)
for command, at, length, time in requests:
    print(f"0,{command},{places[at // PAGE] * PAGE + at % PAGE},{length},{time}")
