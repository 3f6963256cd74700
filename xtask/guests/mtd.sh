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

programs "$wearwell" nbd-client fio mkfs.ext4 e2fsck flash_erase ubiformat ubiattach ubidetach ubimkvol
# Symbols would be most of the memory that the files take.
strip "$root/bin/$(basename "$wearwell")"
cp -r "$tree" "$root/tree"
modules "$kernel" "$version" virtio_pci virtio_net crc32c_generic ext4 nbd nandsim ubi ubifs
# Its flags make the chip.
sed -i '/nandsim/d' "$root/modules/load"

boot "$kernel/boot/vmlinuz-$version" << 'END'
mount -t debugfs debug /sys/kernel/debug
ip link set lo up
# A partition of 64 MiB, and the rest of a chip of 256 MiB. Its operations take the time of such a chip.
insmod /modules/nandsim.ko first_id_byte=0x20 second_id_byte=0xaa third_id_byte=0x00 fourth_id_byte=0x15 parts=512 ||
    poweroff -f
now() { cut -d ' ' -f 1 /proc/uptime; }
took() { awk -v from="$1" -v to="$(now)" 'BEGIN { printf "%.2f\n", to - from }'; }
erases() { awk -F ': *' '/Total number of erases/ { print $2 }' /sys/kernel/debug/nandsim/wear_report; }

serve() { # the number of the device to attach it to
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
wearwell mtd /dev/mtd0 --format --logical 48MiB && echo "formatted"
wearwell mtd /dev/mtd0 --format; echo "a second time ends with $?"
wearwell mtd /dev/mtd0
serve 0
wearwell mtd /dev/mtd0 --serve; echo "a second server ends with $?"
mkfs.ext4 -q /dev/nbd0 && mount -t ext4 -o discard /dev/nbd0 /mnt || poweroff -f
cp -r /tree /mnt/tree && cp -r /tree /mnt/gone && sync && rm -r /mnt/gone && sync || poweroff -f
cp -r /tree /mnt/later &
sleep 0.3
kill -9 $server
wait
umount -l /mnt
nbd-client -d /dev/nbd0 > /dev/null
echo "killed"
serve 1
mount -t ext4 /dev/nbd1 /mnt && diff -r /tree /mnt/tree && ! [ -e /mnt/gone ] && echo "what was synced is there"
umount /mnt && e2fsck -f -n /dev/nbd1 > /fsck.log 2>&1 && echo "ext4 is well" || cat /fsck.log
stop 1
cat /serve.log

# The same file and the same writes for both.
write() { # a label, and flags of fio
    label=$1 before=$(erases) from=$(now)
    shift
    fio --name=write --filename=/mnt/file --size=32m --ioengine=psync --rw=randwrite --bs=4k --randseed=7 \
        --allow_file_create=1 --refill_buffers --output=/fio.log "$@" || cat /fio.log
    sync
    echo "$label: $(($(erases) - before)) erases, $(took $from) s"
}
work() { # a label
    fio --name=fill --filename=/mnt/file --size=32m --ioengine=psync --rw=write --bs=64k --refill_buffers --end_fsync=1 \
        --output=/fio.log || cat /fio.log
    write "$1, 64 MiB, synced after 32 writes" --io_size=64m --fsync=32
    write "$1, 4 MiB, synced after each write" --io_size=4m --fsync=1
}
wearwell mtd /dev/mtd0 --format --force --logical 48MiB && serve 2
mkfs.ext4 -q /dev/nbd2 && mount -t ext4 -o discard /dev/nbd2 /mnt && work wearwell
umount /mnt && stop 2
from=$(now)
serve 3 && mount -t ext4 /dev/nbd3 /mnt && echo "wearwell, mounted after a shutdown: $(took $from) s"
umount /mnt && stop 3
ubiformat -q -y /dev/mtd0 && ubiattach -p /dev/mtd0 > /dev/null && ubimkvol /dev/ubi0 -N disk -m > /dev/null || poweroff -f
wearwell mtd /dev/mtd0 --serve; echo "flash of UBI ends with $?"
mount -t ubifs -o compr=none ubi0:disk /mnt && df -k /mnt && work ubifs
umount /mnt && ubidetach -p /dev/mtd0
from=$(now)
ubiattach -p /dev/mtd0 > /dev/null && mount -t ubifs ubi0:disk /mnt && echo "ubifs, mounted after a shutdown: $(took $from) s"
umount /mnt && ubidetach -p /dev/mtd0
wearwell mtd /dev/mtd0
wearwell mtd /dev/mtd0 --format; echo "foreign data ends with $?"
END
cat "$work/console"
