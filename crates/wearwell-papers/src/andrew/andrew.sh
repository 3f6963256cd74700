# An Andrew-like benchmark on ext4 by this machine's kernel, on a served disk whose requests are recorded.
# usage: wearwell=PROGRAM sh -c "$(cat andrew.sh)" andrew check
#        wearwell=PROGRAM sh -c "$(cat andrew.sh)" andrew RUNS KEEP MKFS-OPTIONS MOUNT-OPTIONS SERVE-FLAGS
# Before each run after the first KEEP ones the oldest run's folder is removed.
# Prints a line for each part of a run, `mark RUN PART CALLS`: part 0 is removing (and at first making the file system),
# 1 to 5 are Andrew's phases, CALLS so many rows of the recording end there. Then `used PERCENT`, the largest share of the
# file system, `recording`, and the recording itself. Exit code 77: this machine cannot.
set -eu

cannot() { echo "$1" >&2; exit 77; }
[ "$(id -u)" = 0 ] || cannot "only root mounts file systems"
for needed in nbdfuse:libnbd-bin fusermount3:fuse3 losetup:mount mkfs.ext4:e2fsprogs cc:gcc setsid:util-linux; do
    command -v "${needed%:*}" > /dev/null || cannot "there is no ${needed%:*}, which Debian has in ${needed#*:}"
done
[ -c /dev/fuse ] || cannot "there is no /dev/fuse"
losetup -f > /dev/null 2>&1 || cannot "there are no loop devices"
grep -qw ext4 /proc/filesystems || modprobe ext4 2> /dev/null || cannot "the kernel has no ext4"
[ "$1" != check ] || exit 0
runs=$1 keep=$2 mkfs=$3 mount=$4 serve=$5

work='' loop='' server='' is_mounted=''
cleanup() {
    trap '' INT TERM HUP PIPE
    cd /
    if [ -n "$is_mounted" ]; then umount "$work/mnt" 2> /dev/null || umount -l "$work/mnt" || true; fi
    if [ -n "$loop" ]; then losetup -d "$loop" || true; fi
    if [ -n "$work" ]; then fusermount3 -uz "$work/fuse" 2> /dev/null || true; fi
    if [ -n "$server" ]; then kill "$server" 2> /dev/null || true; wait "$server" || true; fi
    if [ -n "$work" ]; then rm -rf "$work"; fi
}
trap cleanup EXIT
# Who reads the marks may go at any moment: that is an end like any other.
trap 'exit 1' INT TERM HUP PIPE
work=$(mktemp -d)
mkdir "$work/fuse" "$work/mnt" "$work/source"

fail() { echo "$1" >&2; exit 1; }
until_so() { # a condition, for at most 20 seconds
    for _ in $(seq 200); do if eval "$1"; then return 0; fi; sleep 0.1; done
    fail "still not so: $1"
}

# 70 files of 200 KB in 20 folders, a third of them to be compiled: the same bytes everywhere.
make_source() {
    for folder in a b c d; do mkdir "$1/$folder" "$1/$folder/0" "$1/$folder/1" "$1/$folder/2" "$1/$folder/3"; done
    awk -v source="$1" 'BEGIN {
        for (i = 0; i < 70; i++) {
            kind = substr("cht", i % 3 + 1, 1)
            file = sprintf("%s/%s/%d/f%02d.%s", source, substr("abcd", i % 4 + 1, 1), int(i / 4) % 4, i, kind)
            if (kind == "c") {
                printf "#include \"f%02d.h\"\nint table%d[%d] = { %d };\n", i < 69 ? i + 1 : 1, i, i ? 16 : 1536, i + 1 > file
                if (i == 0) printf "int main(void) { return table0[0] - 1; }\n" > file
            }
            lines = 22 + i * 7 % 17
            for (k = 0; k < lines; k++) {
                if (kind == "h") printf "#define STEP%d(x) (((x) << %d) ^ %d) /* what step %d of header %d means to whoever includes it */\n", k, k % 31, i, k, i > file
                if (kind == "t") printf "Line %d of text %d says as little as most documentation does, and is read about as seldom as that.\n", k, i > file
                if (kind == "c" && k % 2) printf "/* Function %d of file %d goes down to zero, and sums up what the table has at each step on the way. */\n", k, i > file
                if (kind == "c" && k % 2 == 0) printf "int f%d_%d(int x) { int sum = STEP%d(x); for (; x > 0; x -= %d) sum += table%d[x & 15]; return sum; }\n", i, k, k % 18, k + 1, i > file
            }
            close(file)
        }
    }'
}

mark() {
    sync -f "$work/mnt"
    calls=$("$wearwell" ctl --control "$work/ctl" stats --json | sed -n 's/.*"recorded_calls": \([0-9]*\).*/\1/p')
    echo "mark $1 $2 $calls"
}

phases() { # the five of Andrew, on a folder of run $1
    to=$work/mnt/run$1
    (cd "$work/source" && find . -type d | sort) > "$work/folders"
    mkdir "$to"
    (cd "$to" && tail -n +2 "$work/folders" | xargs mkdir)
    mark "$1" 1
    cp -r "$work/source/." "$to"
    mark "$1" 2
    find "$to" -type f -exec stat -c '%s %n' {} + > "$work/stat"
    mark "$1" 3
    find "$to" -type f -exec cat {} + | wc -c > "$work/read"
    mark "$1" 4
    (cd "$to/a" && cc -w $(cd "$to" && find . -mindepth 2 -type d | sort | sed 's/^\./-I../') -c ../*/*/*.c && cc -o andrew ./*.o && ./andrew)
    mark "$1" 5
}

make_source "$work/source"
# In sessions of their own, so that Ctrl-C leaves them to the cleanup.
setsid "$wearwell" serve $serve --idle off --socket "$work/sock" --control "$work/ctl" --record "$work/recording" \
    > "$work/serve.log" 2>&1 &
server=$!
until_so 'grep -q nbd+unix "$work/serve.log" || ! kill -0 $server 2> /dev/null'
grep -q nbd+unix "$work/serve.log" || fail "wearwell serve: $(cat "$work/serve.log")"
setsid nbdfuse "$work/fuse/nbd" --unix "$work/sock" > "$work/nbdfuse.log" 2>&1 &
until_so '[ -f "$work/fuse/nbd" ]'
loop=$(losetup -f --show --direct-io=on "$work/fuse/nbd")
mkfs.ext4 -q $mkfs "$loop" > "$work/mkfs.log"
mount -t ext4 -o "$mount" "$loop" "$work/mnt"
is_mounted=yes

used=0
for run in $(seq "$runs"); do
    if [ "$run" -gt "$keep" ]; then rm -r "$work/mnt/run$((run - keep))"; fi
    mark "$run" 0
    phases "$run"
    now=$(df --output=used,size "$work/mnt" | awk 'NR == 2 { printf "%.1f", 100 * $1 / $2 }')
    used=$(printf '%s\n' "$used" "$now" | sort -n | tail -n 1)
done
echo "used $used"
umount "$work/mnt"
is_mounted=''
losetup -d "$loop"
loop=''
fusermount3 -u "$work/fuse"
kill "$server"
wait "$server" || fail "the server did not end well: $(cat "$work/serve.log")"
server=''
echo recording
cat "$work/recording"
