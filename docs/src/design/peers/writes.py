"""Writes pages of 2 KiB at random, as a trace: writes.py PAGES EVERY, with a flush after each EVERY of them (0: none)."""
import random
import sys

pages, every = int(sys.argv[1]), int(sys.argv[2])
draw = random.Random(1)
print("time_us,op,offset,length")
for i in range(3 * pages + 400_000):
    print(f"{i},W,{draw.randrange(pages) * 2048},2048")
    if every and (i + 1) % every == 0:
        print(f"{i},F,0,0")
