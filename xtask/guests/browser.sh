#!/bin/sh
# The live page in headless Chromium, while fio writes to the disk that it shows. Leaves pictures in the current folder.
# usage: wearwell=PROGRAM browser.sh FOLDER-OF-browser.mjs-AND-ITS-MODULES    (exit code 77: this machine cannot)
set -eu
test=$1
command -v chromium > /dev/null || { echo "skipped: no chromium"; exit 77; }
command -v node > /dev/null || { echo "skipped: no node"; exit 77; }

work=$(mktemp -d) server='' writer=''
# The writer first, and to its end: fio whose server is gone says so without end.
cleanup() {
    for pid in $writer $server; do kill "$pid" 2> /dev/null && wait "$pid" || true; done
    rm -rf "$work"
}
trap cleanup EXIT

: > "$work/serve.log"
"$wearwell" serve --memory --chip geometry:4096:32:400 --logical 40MiB --which cat --where hot-cold-readonly \
    --wear static-threshold:15 --socket "$work/sock" --control "$work/ctl" --http 127.0.0.1:0 > "$work/serve.log" &
server=$!
for _ in $(seq 100); do grep -q 'page at' "$work/serve.log" && break; sleep 0.1; done
page=$(sed -n 's/.*page at \(.*\)/\1/p' "$work/serve.log")
uri="nbd+unix:///?socket=$work/sock"
fio --name=fill --ioengine=nbd --uri="$uri" --size=40m --rw=write --bs=128k > "$work/fio.log"
# Some segments that cannot be erased any more.
"$wearwell" ctl --control "$work/ctl" fault --erase 0.01 --seed 1 > "$work/fault"
fio --name=wear --ioengine=nbd --uri="$uri" --size=40m --rw=randwrite --bs=4k --iodepth=8 > "$work/fio.log"
"$wearwell" ctl --control "$work/ctl" fault > "$work/fault"
fio --name=hot --ioengine=nbd --uri="$uri" --size=40m --rw=randwrite --bs=4k --iodepth=8 --random_distribution=zoned:90/10:10/90 \
    --norandommap --time_based --runtime=600 --rate=,8m > "$work/fio.log" 2>&1 &
writer=$!
node "$test/browser.mjs" "$page"
kill -0 "$writer" || { echo "error: fio ended"; cat "$work/fio.log"; exit 1; }
