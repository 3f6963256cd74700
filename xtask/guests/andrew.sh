#!/bin/sh
# Three runs of the benchmark behind Kawaguchi's table 8, and what they leave behind: nothing, even if they are stopped.
# usage: wearwell=PROGRAM andrew.sh FOLDER    (exit code 77: this machine cannot)
set -eu

fail() { echo "error: $1"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/papers/three"
echo 'title = "Three"' > "$work/papers/three/paper.toml"
cat > "$work/papers/three/runs.toml" <<'END'
title = "Three runs"
columns = ["run_s", "flash_s", "erases"]
[[row]]
name = "two kept"
args = "--chip kawaguchi-28f008sa --logical 14864KiB --when falling:12:455"
[row.andrew]
runs = 3
keep = 2
mkfs = "-O ^has_journal,^resize_inode -E lazy_itable_init=0 -b 4096 -I 128 -N 4096 -m 0"
mount = "dirsync"
host_s = [1, 1, 1, 1, 1, 1]
END
# All that the benchmark makes is in here.
mkdir "$work/tmp"
export TMPDIR="$work/tmp"
left() { losetup -a | grep -F "$work" || true; grep -F "$work" /proc/mounts || true; ls "$work/tmp"; }
reproduce() { exec "$wearwell" reproduce --papers "$work/papers" --out "$work/out" --guests > "$work/said" 2>&1; }

code=0
(reproduce) || code=$?
if [ "$code" = 2 ]; then echo "skipped: $(cat "$work/said")"; exit 77; fi
[ "$code" = 0 ] || fail "$(cat "$work/said")"
flash_s=$(sed -n 's/^three,runs,two kept,flash_s,,\([0-9.]*\),.*/\1/p' "$work/out/report.csv")
# 1.2 MiB a run at 400 KiB/s.
echo "$flash_s" | awk '{ exit !($1 > 2 && $1 < 6) }' || fail "a run writes for $flash_s s"

reproduce &
pid=$!
for _ in $(seq 200); do if grep -qF "$work" /proc/mounts; then break; fi; sleep 0.1; done
kill "$pid"
wait "$pid" || true
for _ in $(seq 200); do if [ -z "$(left)" ]; then break; fi; sleep 0.1; done
[ -z "$(left)" ] || fail "something is left: $(left)"
echo "the Andrew benchmark: $flash_s s of a run are for flash; nothing is left of one that was stopped"
