#!/bin/sh
# A served image beside nbdkit's memory and file plugins, measured in turn with the same fio job. Prints a table in
# Markdown. usage: wearwell=PROGRAM speed.sh JOB.fio [SECONDS-OF-A-MEASUREMENT]    (by default ten minutes in all)
set -eu
job=$1 seconds=${2:-2}
size=256
systems='wearwell memory file'
. "$(dirname "$0")/measure.sh"

prepare() { :; }

# A quarter more flash than disk. All that a system is asked for is in the page cache, or in its memory.
"$wearwell" create "$work/disk.ww" --chip geometry:4096:64:1280 --logical "${size}MiB" > /dev/null
truncate -s "${size}M" "$work/file"
"$wearwell" serve "$work/disk.ww" --socket "$(socket wearwell)" --log-level warn > /dev/null &
pid_wearwell=$!
nbdkit -f -U "$(socket memory)" memory "${size}M" &
pid_memory=$!
nbdkit -f -U "$(socket file)" file "$work/file" &
pid_file=$!
pids="$pid_wearwell $pid_memory $pid_file"
for system in $systems; do await "$system"; fill "$system"; done

echo "| requests a second | depth | connections | wearwell | nbdkit memory | nbdkit file | of nbdkit file | CPU µs a request: wearwell | nbdkit file |"
echo "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
for rw in randwrite randread write read; do
    case $rw in rand*) bs=4k ;; *) bs=128k ;; esac
    for queue in '1 1' '16 1' '64 1' '4 1' '4 2' '4 4' '4 8'; do
        depth=${queue% *} connections=${queue#* }
        row "| ${bs%k} KiB $rw | $depth | $connections" file $rw $bs "$depth" "$connections" 0 "$seconds"
    done
done
