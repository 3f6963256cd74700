#!/bin/sh
# A second kernel, User Mode Linux, with file systems on a served disk.
# usage: wearwell=PROGRAM uml.sh FOLDER-TO-COPY    (exit code 77: this machine cannot)
set -eu
tree=$1

skip() { echo "skipped: $1"; exit 77; }
[ "$(id -u)" = 0 ] || skip "only root mounts, in a kernel on this machine's files too"
modules=$(find /usr/lib/uml/modules -maxdepth 1 -mindepth 1 -type d | head -n 1)
[ -n "$modules" ] || skip "no modules for User Mode Linux"

fail() { echo "error: $1"; exit 1; }
until_so() { # a condition, for at most 20 seconds
    for _ in $(seq 200); do if eval "$1"; then return 0; fi; sleep 0.1; done
    fail "still not so: $1"
}

work=$(mktemp -d) server='' daemon='' kernel=''
cleanup() {
    for pid in $kernel $daemon $server; do kill -9 "$pid" 2> /dev/null || true; done
    rm -rf "$work"
}
trap cleanup EXIT

"$wearwell" create "$work/disk.ww" --chip geometry:4096:64:600 --logical 128MiB > /dev/null
"$wearwell" serve "$work/disk.ww" > "$work/serve.log" 2>&1 &
server=$!
until_so 'grep -q nbd+unix "$work/serve.log"'
qemu-storage-daemon \
    --blockdev "driver=nbd,server.type=unix,server.path=$work/disk.ww.sock,node-name=n,discard=unmap" \
    --export "type=vhost-user-blk,id=e,node-name=n,writable=on,addr.type=unix,addr.path=$work/vhost.sock" \
    > "$work/daemon.log" 2>&1 &
daemon=$!
until_so '[ -S "$work/vhost.sock" ]'

# The first process of that kernel; its root is this machine's, read only.
cat > "$work/init" << END
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmp /mnt
mkdir /mnt/disk
cd $modules/kernel
insmod drivers/block/virtio_blk.ko
for module in fs/fat/fat.ko fs/fat/vfat.ko fs/nls/nls_cp437.ko fs/nls/nls_iso8859-1.ko; do insmod \$module; done

for fs in vfat ext4; do
    mkfs.\$fs /dev/vda > /mnt/mkfs.log 2>&1 || { cat /mnt/mkfs.log; continue; }
    mount -t \$fs /dev/vda /mnt/disk || continue
    cp -r $tree /mnt/disk/tree && umount /mnt/disk && mount -t \$fs /dev/vda /mnt/disk || continue
    diff -r $tree /mnt/disk/tree || continue
    rm -r /mnt/disk/tree && fstrim /mnt/disk && umount /mnt/disk || continue
    fsck.\$fs -n /dev/vda > /mnt/fsck.log 2>&1 || { cat /mnt/fsck.log; continue; }
    echo "\$fs is well"
done
echo o > /proc/sysrq-trigger
sleep 9
END
chmod +x "$work/init"
linux.uml mem=256M "virtio_uml.device=$work/vhost.sock:2" rootfstype=hostfs root=/dev/root ro "init=$work/init" \
    con=null con0=null,fd:1 quiet > "$work/console" 2>&1 < /dev/null &
kernel=$!
for _ in $(seq 900); do kill -0 "$kernel" 2> /dev/null || break; sleep 0.1; done
# On a processor with more registers than this kernel knows, it cannot start its first process.
! grep -q "ptrace set fp regs failed" "$work/console" || skip "User Mode Linux runs no program on this processor"
for fs in vfat ext4; do
    grep -q "$fs is well" "$work/console" || { cat "$work/console"; fail "$fs by User Mode Linux"; }
done
discarded=$("$wearwell" ctl "$work/disk.ww" stats --json | sed -n 's/.*"discarded_pages": \([0-9]*\).*/\1/p')
[ "$discarded" -gt 0 ] || fail "no trim reached the engine"
kill "$daemon" && wait "$daemon" 2> /dev/null || true
kill "$server"
wait "$server" || fail "the server did not end well"
daemon='' server='' kernel=''
"$wearwell" check "$work/disk.ww" > "$work/check.log" || { cat "$work/check.log"; fail "wearwell check"; }
echo "vfat and ext4 by User Mode Linux: copied, compared, trimmed ($discarded pages), and clean"
