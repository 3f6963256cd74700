#!/bin/sh
# What it costs to give space back: a served image beside one whose file system takes none back, measured in turn with
# the same fio job. Prints a table in Markdown.
# usage: wearwell=PROGRAM space.sh JOB.fio [SECONDS-OF-A-MEASUREMENT]    (by default two minutes in all)
set -eu
job=$1 seconds=${2:-5}
size=256
systems='wearwell kept'
. "$(dirname "$0")/measure.sh"

taken() { du -m "$work/$1.ww" | cut -f 1; }
# Trims all, and has its space given back. Segments are erased in idle time, and after a flush their space goes.
trim() {
    run "$1" trim 1m 4 1 0 0 > "$work/trimmed"
    before=
    until [ "$(taken "$1")" = "$before" ]; do
        before=$(taken "$1")
        sleep 2
        qemu-io -f raw "$(uri "$1")" -c 'write 0 4k' -c flush > "$work/trimmed"
    done
}
# What runs once over the disk runs on a trimmed one.
prepare() { [ "$7" -gt 0 ] || trim "$1"; }

cc -O1 -Wall -Wextra -Werror -o "$work/no-punch" "$(dirname "$0")/no-punch.c"
for system in $systems; do
    "$wearwell" create "$work/$system.ww" --chip geometry:4096:64:1280 --logical "${size}MiB" > /dev/null
done
"$wearwell" serve "$work/wearwell.ww" --socket "$(socket wearwell)" --log-level warn > /dev/null &
pid_wearwell=$!
"$work/no-punch" "$wearwell" serve "$work/kept.ww" --socket "$(socket kept)" --log-level warn > /dev/null &
pid_kept=$!
pids="$pid_wearwell $pid_kept"
for system in $systems; do await "$system"; fill "$system"; done
full=$(taken wearwell)

echo "| writes a second | space is given back | space is kept | of that | CPU µs a write: given back | kept |"
echo "| --- | ---: | ---: | ---: | ---: | ---: |"
row '| 4 KiB at random, a flush for each 64' kept randwrite 4k 16 1 64 "$seconds"
row '| 64 KiB at random, each trimmed before, a flush for each 64' kept randtrimwrite 64k 16 1 64 "$seconds"
row '| 4 KiB at random, once over a disk that was trimmed' kept randwrite 4k 16 1 0 0
for system in $systems; do trim "$system"; done
echo
echo "Full, the image takes $full MiB; trimmed, $(taken wearwell) MiB, and $(taken kept) MiB if space is kept."
