#!/bin/sh
# Debian's kernel in an emulated machine, with file systems on a disk that is served over NVMe/TCP.
# usage: wearwell=PROGRAM nvme.sh FOLDER-TO-COPY    (exit code 77: this machine cannot)
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

"$wearwell" create "$work/disk.ww" --chip geometry:4096:64:1600 --logical 320MiB --fdp 4:persistently > /dev/null
serve
# Streams exist on disks without handles.
"$wearwell" create "$work/streams.ww" --chip geometry:4096:64:160 --where by-stream > /dev/null
"$wearwell" serve "$work/streams.ww" --nvme 127.0.0.1:0 > "$work/streams.log" 2>&1 &
others=$!
until_so 'grep -q nvme+tcp "$work/streams.log"'
streams=$(grep -o 'nvme+tcp://[^ ]*' "$work/streams.log")
streams_port=${streams#nvme+tcp://127.0.0.1:} streams_nqn=${streams##*/}
streams_port=${streams_port%%/*}
programs nvme fio mkfs.ext4 e2fsck mkfs.vfat fsck.vfat mkfs.xfs xfs_repair
cp -r "$tree" "$root/tree"
modules "$kernel" "$version" virtio_pci virtio_net crc32c_generic ext4 vfat nls_cp437 nls_ascii xfs crct10dif_generic \
    crc64_rocksoft_generic nvme_tcp

start "$kernel/boot/vmlinuz-$version" << END
host="--hostnqn=nqn.2014-08.org.nvmexpress:uuid:$(cat /proc/sys/kernel/random/uuid) --hostid=$(cat /proc/sys/kernel/random/uuid)"
connect() { nvme connect -t tcp -a 10.0.2.2 -s $port -n $nqn \$host "\$@" && until [ -b /dev/nvme0n1 ]; do sleep 0.1; done; }

nvme discover -t tcp -a 10.0.2.2 -s $port \$host | grep -q $nqn && echo "found by discovery"
connect || poweroff -f
nvme id-ctrl /dev/nvme0 | grep -q 'mn *: wearwell' && nvme smart-log /dev/nvme0 | grep -q 'available_spare.*100%' &&
    nvme id-ns /dev/nvme0n1 | grep -q 'npwg *: 7' && echo "identified"
fio --name=verify --filename=/dev/nvme0n1 --ioengine=psync --direct=1 --size=16m --rw=randwrite --bsrange=4k-128k --verify=crc32c \
    --verify_fatal=1 > /fio.log 2>&1 && echo "fio has verified" || cat /fio.log
mkfs.ext4 -q /dev/nvme0n1 && mount -t ext4 -o discard /dev/nvme0n1 /mnt || poweroff -f
cp -r /tree /mnt/tree && cp -r /tree /mnt/gone && sync && rm -r /mnt/gone && fstrim /mnt && umount /mnt || poweroff -f
nvme disconnect -n $nqn && connect --hdr-digest --data-digest || poweroff -f
e2fsck -f -n /dev/nvme0n1 > /fsck.log 2>&1 || cat /fsck.log
mount -t ext4 /dev/nvme0n1 /mnt && diff -r /tree /mnt/tree && umount /mnt && e2fsck -f -n /dev/nvme0n1 && echo "ext4 is well"
holds() { # a file system, and the command that checks it
    mount -t \$1 /dev/nvme0n1 /mnt && cp -r /tree /mnt/tree && sync && umount /mnt && \$2 /dev/nvme0n1 > /fsck.log 2>&1 &&
        mount -t \$1 /dev/nvme0n1 /mnt && diff -r /tree /mnt/tree && umount /mnt && echo "\$1 is well" || cat /fsck.log
}
mkfs.vfat /dev/nvme0n1 > /dev/null && holds vfat "fsck.vfat -n"
mkfs.xfs -q -f /dev/nvme0n1 && holds xfs "xfs_repair -n"
nvme fdp configs /dev/nvme0 -e 1 | grep -i -c 'persistently isolated'
head -c 4096 /dev/urandom > /page
nvme write /dev/nvme0n1 --start-block=0 --block-count=7 --data-size=4096 --data=/page --dir-type=2 --dir-spec=3
nvme read /dev/nvme0n1 --start-block=0 --block-count=7 --data-size=4096 --data=/again && cmp /page /again || poweroff -f
nvme fdp status /dev/nvme0n1 && nvme fdp stats /dev/nvme0 -e 1
nvme fdp set-events /dev/nvme0n1 -n 1 --placement-handle=3 --event-types=0,0x81 --enable
nvme fdp update /dev/nvme0n1 -p 3 && nvme fdp status /dev/nvme0n1 && echo "placed"
nvme fdp events /dev/nvme0 -e 1 -E
nvme copy /dev/nvme0n1 --sdlba=4096 --slbs=0 --blocks=7 && nvme read /dev/nvme0n1 --start-block=4096 --block-count=7 \
    --data-size=4096 --data=/copied && cmp /page /copied && echo "copied"
nvme connect -t tcp -a 10.0.2.2 -s $streams_port -n $streams_nqn \$host && until [ -b /dev/nvme1n1 ]; do sleep 0.1; done
nvme dir-send /dev/nvme1 -n 1 --dir-type=0 --dir-oper=1 --target-dir=1 --endir=1
nvme write /dev/nvme1n1 --start-block=0 --block-count=7 --data-size=4096 --data=/page --dir-type=1 --dir-spec=5
nvme dir-receive /dev/nvme1 -n 1 --dir-type=1 --dir-oper=2 --human-readable
nvme disconnect -n $streams_nqn
dmesg | grep -i -e 'nvme.*error' -e 'nvme.*timeout' && echo "the kernel complains"
nvme disconnect -n $nqn && connect --reconnect-delay=1 --ctrl-loss-tmo=100 || poweroff -f
mkfs.ext4 -q -F /dev/nvme0n1 && mount -t ext4 /dev/nvme0n1 /mnt || poweroff -f
for i in \$(seq 300); do
    head -c 20000 /dev/zero > /mnt/written\$((i % 40)) && sync /mnt/written\$((i % 40)) || echo "a write failed"
    [ \$i = 100 ] && echo "in the middle of writes"
done
umount /mnt && e2fsck -f -n /dev/nvme0n1 && dmesg | grep -q 'uccessfully reconnected' && echo "outlived the server"
END
until_so 'grep -q "in the middle of writes" "$work/console"'
kill -9 "$server"
wait "$server" || true
serve
finish
expect "found by discovery" "identified" "fio has verified" "ext4 is well" "vfat is well" "xfs is well" "placed" "Reclaim Unit Not Fully Written" \
    "copied" "Open Stream Count *: 1" "outlived the server"
if grep -e "the kernel complains" -e "a write failed" "$work/console"; then fail "$(cat "$work/console")"; fi
kill "$others" && wait "$others" || fail "serve ended with an error: $(cat "$work/streams.log")"
others=''
stop
echo "ext4, vfat and xfs over NVMe/TCP on $version: as it should be"
