"""Host pages a second of processor time, of policies in Python beside the engine's own.

``python crates/wearwell-py/benches/policies.py``
"""

import time

import numpy as np

import wearwell


class HotByInterval:
    classes = 4

    def host(self, batch):
        return np.where((batch.last_write >= 0) & (batch.clock - batch.last_write < 8192), 0, 1)

    def copied(self, batch):
        return np.where(batch.clock - batch.last_write < 8192, 2, 3)


class CostBenefit:
    def __init__(self, victims_per_call):
        self.victims_per_call = victims_per_call

    def score(self, batch):
        u = batch.valid_pages / batch.pages
        return (batch.clock - batch.invalidated) * (1 - u) / (2 * u)


def measure(chip, name, **policies):
    began = time.process_time()
    result = wearwell.run(chip=chip, workload="zipf:0.99", progress=False, **policies)
    seconds = time.process_time() - began
    pages = result.host_pages + result.config.fill_pages
    print(f"{chip:<24} {name:<34} {pages / seconds / 1e6:5.2f} M pages/s, WA {result.wa_data:.3f}")


for chip in ("w25n01gv", "geometry:4096:256:2048", "geometry:16384:1024:1024"):
    measure(chip, "sepbit, cost-benefit", where="sepbit", which="cost-benefit")
    measure(chip, "where in Python", where=HotByInterval(), which="cost-benefit")
    measure(chip, "which in Python", where="sepbit", which=CostBenefit(1))
    measure(chip, "both in Python", where=HotByInterval(), which=CostBenefit(1))
    measure(chip, "both, 8 victims per call", where=HotByInterval(), which=CostBenefit(8))
