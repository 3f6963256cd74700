#!/bin/sh
# A served image beside nbdkit's memory and file plugins, measured in turn with the same fio job. Prints tables in Markdown.
# usage: wearwell=PROGRAM speed.sh JOB.fio [SECONDS-OF-A-MEASUREMENT]    (by default ten minutes in all)
set -eu
job=$1 seconds=${2:-2}
size=256
systems='wearwell memory file'

work=$(mktemp -d) pids=''
cleanup() {
    for pid in $pids; do kill "$pid" 2> /dev/null || true; done
    wait
    rm -rf "$work"
}
trap cleanup EXIT

# A quarter more flash than disk. All that a system is asked for is in the page cache, or in its memory.
"$wearwell" create "$work/disk.ww" --chip geometry:4096:64:1280 --logical "${size}MiB" > /dev/null
truncate -s "${size}M" "$work/file"
"$wearwell" serve "$work/disk.ww" --socket "$work/wearwell" > /dev/null &
pid_wearwell=$!
nbdkit -f -U "$work/memory" memory "${size}M" &
pid_memory=$!
nbdkit -f -U "$work/file.sock" file "$work/file" &
pid_file=$!
pids="$pid_wearwell $pid_memory $pid_file"
socket() { case $1 in file) echo "$work/file.sock" ;; *) echo "$work/$1" ;; esac; }
for system in $systems; do
    for _ in $(seq 100); do [ -S "$(socket "$system")" ] && break; sleep 0.1; done
done

# Runs the job on a system: rw, block size, depth, connections, and for how long; 0 is once over the disk. Prints fio's
# terse line.
run() {
    URI="nbd+unix:///?socket=$(socket "$1")" RW=$2 BS=$3 DEPTH=$4 JOBS=$5 FOR=$6 TIMED=$(($6 > 0)) SIZE="${size}m" \
        fio --minimal "$job" | grep '^3;'
}
# Microseconds of processor time that a process has used.
cpu_us() { awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($12 + $13) * 1000000 / hz }' "/proc/$1/stat"; }

# Full, and then written at random, so that cleaning is at work from the beginning.
for system in $systems; do
    run "$system" write 128k 16 1 0 > "$work/fill"
    run "$system" randwrite 4k 16 1 0 > "$work/fill"
done

# Measures the systems in turn, three times: rw, block size, depth, connections. Adds lines to the results: requests a
# second, and processor time for one of them.
measure() {
    for turn in 1 2 3; do
        for system in $systems; do
            eval "pid=\$pid_$system"
            before=$(cpu_us "$pid")
            run "$system" "$1" "$2" "$3" "$4" "$seconds" > "$work/terse"
            awk -F ';' -v used="$(($(cpu_us "$pid") - before))" -v rw="$1" -v bs="${2%k}" -v at="$* $system" '{
                kib = rw ~ /read/ ? $6 : $47; iops = rw ~ /read/ ? $8 : $49
                printf "%s %d %.2f\n", at, iops, used * bs / kib
            }' "$work/terse" >> "$work/results"
        done
    done
}

# The middle one of three numbers.
middle() { sort -n | sed -n 2p; }
# The three values of the same four, and the system: column 6 for requests a second or 7 for processor time.
values() { awk -v at="$1 $2 $3 $4 $5 " -v c="$6" 'index($0, at) == 1 { print $c }' "$work/results"; }
# Of the same four: what wearwell reached of nbdkit's file in each turn.
ratios() {
    values "$@" wearwell 6 > "$work/ours"
    values "$@" file 6 | paste "$work/ours" - | awk '{ printf "%.2f\n", $1 / $2 }'
}

# A line of a table: the same four.
row() {
    measure "$@"
    line="| ${2%k} KiB $1 | $3 | $4 "
    for system in $systems; do line="$line| $(values "$@" "$system" 6 | middle) "; done
    echo "$line| $(ratios "$@" | middle) | $(values "$@" wearwell 7 | middle) |"
}

echo "| requests a second | depth | connections | wearwell | nbdkit memory | nbdkit file | of nbdkit file | wearwell's CPU µs a request |"
echo "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
for rw in randwrite randread write read; do
    case $rw in rand*) bs=4k ;; *) bs=128k ;; esac
    for depth in 1 16 64; do row $rw $bs $depth 1; done
    for connections in 1 2 4 8; do row $rw $bs 4 $connections; done
done
