#!/bin/sh
# How long it takes until a client has read from a full image of 8 GiB, after a shutdown and after a kill, with a cold
# cache and a warm one. Prints a table in Markdown.
# usage: wearwell=PROGRAM mount.sh FOLDER    as root; the folder gets 9 GiB    (exit code 77: this user may not)
set -eu
[ "$(id -u)" = 0 ] || { echo "skipped: a cold cache takes root"; exit 77; }
work=$(mktemp -d -p "$1") server=''
cleanup() {
    [ -z "$server" ] || kill "$server" 2> /dev/null || true
    wait
    rm -rf "$work"
}
trap cleanup EXIT
image=$work/disk.ww
uri="nbd+unix:///?socket=$image.sock"

# Seconds from the start of a server until a client has read a sector.
mounted() {
    [ "$1" = warm ] || { sync; echo 3 > /proc/sys/vm/drop_caches; }
    began=$(date +%s%N)
    "$wearwell" serve "$image" --log-level warn --run "qemu-io -f raw \"\$uri\" -c 'read 0 512' > $work/said"
    echo "$(date +%s%N) $began" | awk '{ printf "%.2f s", ($1 - $2) / 1e9 }'
}
# Writes something, flushes, and kills the server.
kill_it() {
    "$wearwell" serve "$image" --log-level warn > "$work/said" &
    server=$!
    for _ in $(seq 600); do nbdinfo --size "$uri" > "$work/said" 2>&1 && break; sleep 0.1; done
    qemu-io -f raw "$uri" -c 'write -P 7 1M 4k' -c flush > "$work/said"
    kill -9 "$server"
    { wait "$server" || true; } 2> "$work/said"
    server=''
}

for layout in '' '--layout nand'; do
    # shellcheck disable=SC2086 # None, or two words.
    "$wearwell" create "$image" --size 8GiB $layout > "$work/said"
    "$wearwell" serve "$image" --log-level warn --run '
        fio --name=fill --ioengine=nbd --uri="$uri" --size=8g --rw=write --bs=1m --iodepth=4' > "$work/said"
    if [ -z "$layout" ]; then
        echo "| an image of 8 GiB | cold cache | warm |"
        echo "| --- | ---: | ---: |"
    fi
    cold=$(mounted cold)
    echo "| \`--size 8GiB${layout:+ $layout}\`, after a shutdown | $cold | $(mounted warm) |"
    if [ -z "$layout" ]; then
        kill_it
        cold=$(mounted cold)
        kill_it
        echo "| the same, after a write, a flush and \`kill -9\` | $cold | $(mounted warm) |"
    fi
    rm "$image"
done
