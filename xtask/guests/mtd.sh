#!/bin/sh
# Raw NAND flash of Debian's kernel in an emulated machine: nandsim, a disk on it that is served to the kernel's own NBD
# client, ext4 under a kill of the server, and the same work on UBI with UBIFS.
# usage: wearwell=PROGRAM mtd.sh FOLDER-TO-COPY    (exit code 77: this machine cannot)
set -eu
tree=$1

. "$(dirname "$0")/machine.sh"

# The kernel is fetched once, and not installed.
package=$(apt-cache depends linux-image-amd64 2> /dev/null | awk '/Depends:/ { print $2; exit }')
[ -n "$package" ] || skip "no kernel for amd64 in this machine's package lists"
kernel=$(cd .. && pwd)/guest-kernel/$package
if ! [ -d "$kernel" ]; then
    mkdir -p "$kernel.new"
    (cd "$kernel.new" && apt-get download -qq "$package" && dpkg -x ./*.deb . && rm ./*.deb) || skip "no $package to be had"
    mv "$kernel.new" "$kernel"
fi
version=${package#linux-image-}

programs "$wearwell" nbd-client fio mkfs.ext4 e2fsck ubiformat ubiattach ubidetach ubimkvol
# Symbols would be most of the memory that the files take.
strip "$root/bin/$(basename "$wearwell")"
cp -r "$tree" "$root/tree"
modules "$kernel" "$version" virtio_pci virtio_net crc32c_generic ext4 nbd nandsim deflate lzo zstd ubifs
# Its flags make the chip.
sed -i '/nandsim/d' "$root/modules/load"

boot "$kernel/boot/vmlinuz-$version" << 'END'
ip link set lo up
# A partition of 64 MiB, and the rest of a chip of 256 MiB.
insmod /modules/nandsim.ko first_id_byte=0x20 second_id_byte=0xaa third_id_byte=0x00 fourth_id_byte=0x15 parts=512 ||
    poweroff -f
now() { cut -d ' ' -f 1 /proc/uptime; }
took() { awk -v from="$1" -v to="$(now)" 'BEGIN { printf "%.1f\n", to - from }'; }
# nandsim counts erases only where the kernel shows the master of partitions, which Debian's does not. So the operations
# of the NAND layer above it are counted.
mount -t tracefs trace /sys/kernel/tracing && cd /sys/kernel/tracing || poweroff -f
echo 'p:erases nand_erase_op' > kprobe_events
echo 'p:programs nand_prog_page_end_op' >> kprobe_events
echo 'p:reads nand_read_page_op' >> kprobe_events
echo 1 > events/kprobes/enable
cd /
mounted() { echo "$1: $(($(count reads) - reads)) reads, $(took $from) s"; }
count() { awk -v name="$1" '$1 == name { print $2 }' /sys/kernel/tracing/kprobe_profile; }

serve() { # the number of the device to attach it to
    # The line of a server before this one must not count for it.
    : > /serve.log
    wearwell mtd /dev/mtd0 --serve --socket /nbd.sock > /serve.log 2>&1 &
    server=$!
    until grep -q nbd+unix /serve.log; do kill -0 $server || { cat /serve.log; poweroff -f; }; sleep 0.1; done
    nbd-client -unix /nbd.sock /dev/nbd$1 > /nbd.log 2>&1 || { cat /nbd.log; poweroff -f; }
}
stop() { # the number of the device
    nbd-client -d /dev/nbd$1 > /dev/null && kill $server && wait $server && echo "stopped in good order"
}

wearwell mtd /dev/mtd0
wearwell mtd /dev/mtd0 --serve; echo "an empty chip ends with $?"
wearwell mtd /dev/mtd0 --format --logical 48MiB 2> /format.log && echo "formatted"
wearwell mtd /dev/mtd0 --format; echo "a second time ends with $?"
wearwell mtd /dev/mtd0
serve 0
wearwell mtd /dev/mtd0 --serve; echo "a second server ends with $?"
mkfs.ext4 -q -b 4096 /dev/nbd0 && mount -t ext4 -o discard /dev/nbd0 /mnt || poweroff -f
cp -r /tree /mnt/tree && cp -r /tree /mnt/gone && sync && rm -r /mnt/gone && sync || poweroff -f
cp -r /tree /mnt/later &
sleep 0.3
kill -9 $server
# A request that the kernel has queued again would wait for another connection, and what writes for the request.
nbd-client -d /dev/nbd0 > /dev/null
wait
umount -l /mnt
echo "killed"
from=$(now) reads=$(count reads)
serve 1 && mount -t ext4 /dev/nbd1 /mnt && mounted "wearwell, mounted after a kill"
diff -r /tree /mnt/tree && ! [ -e /mnt/gone ] && echo "what was synced is there"
umount /mnt && e2fsck -f -n /dev/nbd1 > /fsck.log 2>&1 && echo "ext4 is well" || cat /fsck.log
stop 1
cat /serve.log

# The same file and the same writes for both.
write() { # a label, the bytes that are written, and flags of fio
    label=$1 bytes=$2
    shift 2
    programs=$(count programs) erases=$(count erases) reads=$(count reads) from=$(now)
    fio --name=write --filename=/mnt/file --size=32m --ioengine=psync --rw=randwrite --bs=4k --randseed=7 \
        --io_size=$bytes --refill_buffers --eta=never --output=/fio.log "$@" || cat /fio.log
    sync
    programs=$(($(count programs) - programs)) erases=$(($(count erases) - erases)) reads=$(($(count reads) - reads))
    echo "$label: $programs programs, $erases erases, $reads reads, $(took $from) s, WA" \
        "$(awk -v pages="$programs" -v bytes="$bytes" 'BEGIN { printf "%.2f", pages * 2048 / bytes }')"
}
work() { # a label
    fio --name=fill --filename=/mnt/file --size=32m --ioengine=psync --rw=write --bs=64k --refill_buffers \
        --end_fsync=1 --eta=never --output=/fio.log || cat /fio.log
    write "$1, synced after 32 writes" $((64 << 20)) --fsync=32
    write "$1, synced after each write" $((2 << 20)) --fsync=1
}
wearwell mtd /dev/mtd0 --format --force --logical 48MiB 2> /format.log && serve 2
mkfs.ext4 -q -b 4096 /dev/nbd2 && mount -t ext4 -o discard /dev/nbd2 /mnt && work wearwell
umount /mnt && stop 2
from=$(now) reads=$(count reads)
serve 3 && mount -t ext4 /dev/nbd3 /mnt && mounted "wearwell, mounted after a shutdown"
umount /mnt && stop 3
ubiformat -q -y /dev/mtd0 && ubiattach -p /dev/mtd0 > /dev/null &&
    ubimkvol /dev/ubi0 -N disk -m > /dev/null || poweroff -f
wearwell mtd /dev/mtd0 --serve; echo "flash of UBI ends with $?"
mount -t ubifs -o compr=none ubi0:disk /mnt && work ubifs
umount /mnt && ubidetach -p /dev/mtd0
from=$(now) reads=$(count reads)
ubiattach -p /dev/mtd0 > /dev/null && mount -t ubifs ubi0:disk /mnt && mounted "ubifs, mounted after a shutdown"
umount /mnt && ubidetach -p /dev/mtd0
wearwell mtd /dev/mtd0
wearwell mtd /dev/mtd0 --format; echo "foreign data ends with $?"
END
expect "^holds nothing" "an empty chip ends with 2" "^formatted" "a second time ends with 2" "^holds a disk of 48 MiB" \
    "in use by another process" "a second server ends with 2" "^killed" "what was synced is there" "ext4 is well" \
    "stopped in good order" "in use by UBI: detach ubi0 first" "flash of UBI ends with 2" \
    "^holds data of something else" "foreign data ends with 2" "^wearwell, mounted after a kill"
grep -o -e '^wearwell, .*' -e '^ubifs, .*' "$work/console"
[ "$(grep -c '^ubifs, ' "$work/console")" = 3 ] || fail "UBIFS has not done its part: $(tail -n 30 "$work/console")"
echo "raw NAND flash, ext4 on it under a kill, and UBIFS beside it on $version: as it should be"
