# Measures systems in turn with fio, for the tables of `speed.sh` and `space.sh`, which source this. They set `job`,
# `size` (MiB) and `systems`, and `prepare`, which is called before each measurement with the system and the arguments of
# `measure`. `pid_SYSTEM` is its process, and `pids` are all; they end, and `work` goes, with the script.

work=$(mktemp -d) pids=''
cleanup() {
    for pid in $pids; do kill "$pid" 2> /dev/null || true; done
    wait
    rm -rf "$work"
}
trap cleanup EXIT
socket() { echo "$work/$1.sock"; }
uri() { echo "nbd+unix:///?socket=$(socket "$1")"; }
await() { for _ in $(seq 100); do nbdinfo --size "$(uri "$1")" > /dev/null 2>&1 && break; sleep 0.1; done; }

# Runs the job on a system: rw, block size, depth, connections, writes before a flush (0: none), and for how long; 0 is
# once over the disk. Prints fio's terse line.
run() {
    URI=$(uri "$1") RW=$2 BS=$3 DEPTH=$4 JOBS=$5 FSYNC=$6 FOR=$7 TIMED=$(($7 > 0)) SIZE="${size}m" \
        fio --minimal "$job" | grep '^3;'
}
# Full, and then written at random, so that cleaning is at work from the beginning.
fill() {
    run "$1" write 128k 16 1 0 0 > "$work/fill"
    run "$1" randwrite 4k 16 1 0 0 > "$work/fill"
}

# Microseconds of processor time that a process has used.
cpu_us() { awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($12 + $13) * 1000000 / hz }' "/proc/$1/stat"; }

# Measures the systems three times: rw, block size, depth, connections, writes before a flush, and seconds. Adds lines
# to the results: requests a second, and processor time for one of them.
measure() {
    for turn in 1 2 3; do
        for system in $systems; do
            prepare "$system" "$@"
            eval "pid=\$pid_$system"
            before=$(cpu_us "$pid")
            run "$system" "$@" > "$work/terse"
            awk -F ';' -v used="$(($(cpu_us "$pid") - before))" -v rw="$1" -v bs="${2%k}" -v at="$* $system" '{
                kib = rw ~ /read/ ? $6 : $47; iops = rw ~ /read/ ? $8 : $49
                printf "%s %d %.2f\n", at, iops, used * bs / kib
            }' "$work/terse" >> "$work/results"
        done
    done
}

# The middle one of three numbers.
middle() { sort -n | sed -n 2p; }
# The three values of a column (1: requests a second, 2: processor time) and a system, with the arguments of `measure`.
values() { awk -v at="$3 $4 $5 $6 $7 $8 $2 " -v c="$1" 'index($0, at) == 1 { print $(7 + c) }' "$work/results"; }

# Measures, and prints a line of a table: how it begins, the system to compare wearwell with, and the arguments of
# `measure`. The ratio is that of two measurements in a row. Processor time comes last.
row() {
    line=$1 other=$2
    shift 2
    measure "$@"
    for system in $systems; do line="$line | $(values 1 "$system" "$@" | middle)"; done
    values 1 wearwell "$@" > "$work/ours"
    ratio=$(values 1 "$other" "$@" | paste "$work/ours" - | awk '{ printf "%.2f\n", $1 / $2 }' | middle)
    echo "$line | $ratio | $(values 2 wearwell "$@" | middle) | $(values 2 "$other" "$@" | middle) |"
}
