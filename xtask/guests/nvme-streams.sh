#!/bin/sh
# The newest kernel of trixie-backports in an emulated machine: it authenticates itself, and names write streams, on a
# disk that is served over NVMe/TCP with placement.
# usage: wearwell=PROGRAM nvme-streams.sh FOLDER-TO-COPY    (exit code 77: this machine cannot)
set -eu
tree=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/machine.sh"

newest_kernel

host=nqn.2014-08.org.nvmexpress:uuid:$(cat /proc/sys/kernel/random/uuid)
id=$(cat /proc/sys/kernel/random/uuid)
# Secrets of both sides, with different hashes.
secret=$(nvme gen-dhchap-key --hmac=1 --key-length=32 --nqn="$host")
controller=$(nvme gen-dhchap-key --hmac=3 --key-length=64 --nqn=nqn.any)
(umask 077 && echo "$host $secret $controller" > "$work/hosts")
"$wearwell" create "$work/disk.ww" --chip geometry:4096:64:640 --logical 128MiB --fdp 6:persistently > /dev/null
serve --nvme-hosts "$work/hosts" --record "$work/session.csv"
programs nvme mkfs.f2fs
cp -r "$tree" "$root/tree"
cc -O2 -static -Wall -Wextra -Werror -o "$root/bin/streams" "$here/streams.c"
modules "$kernel/usr" "$version" virtio_pci virtio_net f2fs nvme_tcp

boot "$kernel/usr/lib/modules/$version/vmlinuz" << END
connect() { nvme connect -t tcp -a 10.0.2.2 -s $port -n $nqn --hostnqn=$host --hostid=$id -i 1 "\$@"; }
connect --dhchap-secret=$secret --dhchap-ctrl-secret=$controller || poweroff -f
until [ -b /dev/nvme0n1 ]; do sleep 0.1; done
dmesg | grep 'nvme.*authenticated'
echo "streams: \$(cat /sys/block/nvme0n1/queue/max_write_streams)"
streams /dev/nvme0n1 random 4096 64 26 4 && streams /dev/nvme0n1 random 4096 64 36 5 && streams /dev/nvme0n1 random 4096 64 46 6 || poweroff -f
mkfs.f2fs -q -f /dev/nvme0n1 && mount -t f2fs /dev/nvme0n1 /mnt || poweroff -f
# Names by which f2fs takes a file for cold, and for hot.
for name in cold.mp3 hot.db; do head -c 100000 /dev/urandom > /mnt/\$name; done
cp -r /tree /mnt/tree && sync && cp -r /tree /mnt/gone && sync && rm -r /mnt/gone && umount /mnt || poweroff -f
mount -t f2fs /dev/nvme0n1 /mnt && diff -r /tree /mnt/tree && umount /mnt && echo "f2fs is well"
dmesg | grep -i -e 'nvme.*error' -e 'nvme.*timeout' && echo "the kernel complains"
nvme disconnect -n $nqn
connect > /dev/null 2>&1 || echo "no secret, no disk"
connect --dhchap-secret=$controller > /dev/null 2>&1 || echo "wrong secret, no disk"
END
expect "authenticated with hash hmac(sha256) dhgroup ffdhe2048" "controller authenticated" "streams: 6" "f2fs is well" \
    "no secret, no disk" "wrong secret, no disk"
if grep "the kernel complains" "$work/console"; then fail "$(cat "$work/console")"; fi

stop
# What the engine was told, by class: the first 120 writes are those of io_uring.
classes() { # a condition
    awk -F, '$2 == "W" { n++ } $2 == "W" && '"$1"' { writes[$5]++ } END { for (class in writes) print class ":" writes[class] }' \
        "$work/session.csv" | sort -n | tr '\n' ' '
}
by_io_uring=$(classes 'n <= 120') by_f2fs=$(classes 'n > 120')
[ "$by_io_uring" = "3:30 4:40 5:50 " ] || fail "other classes than those of streams 4, 5 and 6: $by_io_uring"
case $by_f2fs in *:*:*) ;; *) fail "f2fs names one class only: $by_f2fs" ;; esac
echo "authentication and placement on $version: as it should be; io_uring's writes $by_io_uring, f2fs's $by_f2fs"
