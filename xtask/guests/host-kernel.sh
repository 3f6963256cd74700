#!/bin/sh
# A file system of this machine's kernel on a served disk, whose server is killed while files are written.
# usage: wearwell=PROGRAM host-kernel.sh ext4|xfs FOLDER-TO-COPY    (exit code 77: this machine cannot)
set -eu
fs=$1 tree=$2

skip() { echo "skipped: $1"; exit 77; }
[ "$(id -u)" = 0 ] || skip "only root mounts"
[ -c /dev/fuse ] || skip "no /dev/fuse"
losetup -f > /dev/null 2>&1 || skip "no loop devices"
grep -qw "$fs" /proc/filesystems || modprobe "$fs" 2> /dev/null || skip "the kernel has no $fs"

fail() { echo "error: $1"; exit 1; }
until_so() { # a condition, for at most 20 seconds
    for _ in $(seq 200); do if eval "$1"; then return 0; fi; sleep 0.1; done
    fail "still not so: $1"
}

work=$(mktemp -d) loop='' server='' writers=''
mkdir "$work/fuse" "$work/mnt"
detach() {
    # What the kernel could not write is lost, as it would be with the machine.
    umount "$work/mnt" 2> /dev/null || umount -l "$work/mnt" 2> /dev/null || true
    if [ -n "$loop" ]; then losetup -d "$loop" || true; loop=''; fi
    fusermount3 -u "$work/fuse" 2> /dev/null || fusermount3 -uz "$work/fuse" 2> /dev/null || true
}
cleanup() {
    for pid in $writers $server; do kill -9 "$pid" 2> /dev/null || true; done
    detach
    rm -rf "$work"
}
trap cleanup EXIT

attach() {
    # The line of a server before this one must not count for it.
    : > "$work/serve.log"
    "$wearwell" serve "$work/disk.ww" > "$work/serve.log" 2>&1 &
    server=$!
    until_so 'grep -q nbd+unix "$work/serve.log"'
    nbdfuse "$work/fuse/nbd" --unix "$work/disk.ww.sock" > "$work/nbdfuse.log" 2>&1 &
    until_so '[ -f "$work/fuse/nbd" ]'
    # Direct, so that what one kernel's cache holds is not held by two.
    loop=$(losetup -f --show --direct-io=on "$work/fuse/nbd")
}
discarded() { "$wearwell" ctl "$work/disk.ww" stats --json | sed -n 's/.*"discarded_pages": \([0-9]*\).*/\1/p'; }

"$wearwell" create "$work/disk.ww" --chip geometry:4096:64:1700 --logical 384MiB > /dev/null
attach
"mkfs.$fs" -q "$loop"
mount "$loop" "$work/mnt"
cp -r "$tree" "$work/mnt/tree"
sync -f "$work/mnt"
echo 3 > /proc/sys/vm/drop_caches 2> /dev/null || true
diff -r "$tree" "$work/mnt/tree" || fail "the copy is different"

before=$(discarded)
rm -r "$work/mnt/tree"
sync -f "$work/mnt"
# XFS frees files behind the call, and passes over what it has freed until that is in its log.
until_so 'sync -f "$work/mnt" && fstrim "$work/mnt" && [ "$(discarded)" -gt "$before" ]'
after=$(discarded)

: > "$work/safe"
# The number of a file is noted once fsync has said that it is safe.
mkdir "$work/mnt/safe"
(
    n=0
    while dd if=/dev/zero bs=4k count=$((n % 40 + 1)) 2> /dev/null | tr '\0' "$(printf '\\%03o' $((n % 64 + 48)))" |
        dd of="$work/mnt/safe/$n" bs=64k iflag=fullblock conv=fsync 2> /dev/null; do
        echo $n >> "$work/safe"
        n=$((n + 1))
    done
) 2> /dev/null &
writers=$!
( while cp -r "$tree" "$work/mnt/copy" && rm -r "$work/mnt/copy"; do :; done ) 2> /dev/null &
writers="$writers $!"
until_so '[ "$(wc -l < "$work/safe")" -ge 60 ]'
kill -9 "$server"
for pid in $writers; do kill "$pid" 2> /dev/null || true; done
wait $writers 2> /dev/null || true
writers=''
detach

attach
# The kernel replays its journal; after that nothing may be left to repair.
mount "$loop" "$work/mnt"
files=0
while read -r n; do
    dd if=/dev/zero bs=4k count=$((n % 40 + 1)) 2> /dev/null | tr '\0' "$(printf '\\%03o' $((n % 64 + 48)))" |
        cmp - "$work/mnt/safe/$n" || fail "file $n was safe, and is not what was written"
    files=$((files + 1))
done < "$work/safe"
umount "$work/mnt"
case $fs in
    ext4) e2fsck -fn "$loop" > "$work/fsck.log" 2>&1 || { cat "$work/fsck.log"; fail "e2fsck"; } ;;
    xfs) xfs_repair -n "$loop" > "$work/fsck.log" 2>&1 || { cat "$work/fsck.log"; fail "xfs_repair"; } ;;
esac
detach
kill "$server"
wait "$server" || fail "the server did not end well"
server=''
"$wearwell" check "$work/disk.ww" > "$work/check.log" || { cat "$work/check.log"; fail "wearwell check"; }
echo "$fs by this kernel: fstrim discarded $((after - before)) pages; after kill -9 $files files that fsync had made safe are whole, and the file system is clean"
