#!/bin/sh
# What a host's placement identifiers are worth on the newest kernel of trixie-backports, on a small disk of TLC: those
# of four writers of different lifetimes, or f2fs's own temperatures. Prints tables in Markdown: what the device says, and
# the recorded session again under each placement policy.
# usage: wearwell=PROGRAM placement.sh PERCENT-OF-SPARE-FLASH random|in-turn|f2fs [WRITES]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
patience_s=3000
. "$here/machine.sh"
spare=$1 order=$2 writes=${3:-20000}
newest_kernel
id=$(cat /proc/sys/kernel/random/uuid)

# The pages and times of tlc-512gb, in blocks of 48 pages.
chip=$here/tlc-192mib.toml
# Pages for the host, of 44 that hold data in each block.
pages=$((256 * 44 * (100 - spare) / 100))
policies='single separate-gc separate-cleaning hot-cold-readonly dac:6 sepbit midas fadac:6 warcip:6
    by-stream by-stream-shared by-handle by-handle-shared'

# What the guest does with the disk: the writers of streams.c, or files of three lifetimes on f2fs, which knows them by
# their names. The coldest fill a quarter of the disk.
if [ "$order" = f2fs ]; then
    needs='nvme mkfs.f2fs' modules=f2fs handles=6 cold=$((pages * 16 / 1024 / 4))
    guest_does() {
        cat << END
mkfs.f2fs -q -f /dev/nvme0n1 && mount -t f2fs -o discard /dev/nvme0n1 /mnt || poweroff -f
put() { dd if=/dev/zero of=/mnt/\$1 bs=\$2 count=1 conv=notrunc,fsync 2> /dd.log || cat /dd.log; }
for i in \$(seq $cold); do put cold\$i.mp3 1M; done
for i in \$(seq $writes); do
    put hot\$((i % 10)).db 64k
    [ \$((i % 4)) != 0 ] || put warm\$((i / 4 % 60)) 256k
    [ \$((i % 32)) != 0 ] || { n=\$((i / 32 % $cold + 1)); rm /mnt/cold\$n.mp3 && put cold\$n.mp3 1M; }
done
umount /mnt && echo "all written"
END
    }
else
    needs=nvme modules='' handles=4
    guest_does() {
        echo "streams /dev/nvme0n1 $order 16384 $pages $writes $streams && echo 'all written'"
    }
fi

# A session of the guest: the writers' streams, and their name. Adds a line of the table.
session() {
    streams=$1 name=$2
    csv=$work/$name.csv
    rm -rf "$work/disk.ww" "$root"
    "$wearwell" create "$work/disk.ww" --chip "$chip" --logical "$((pages * 16))KiB" --fdp "$handles:persistently" \
        > /dev/null
    serve --idle off --record "$csv"
    programs $needs
    cc -O2 -static -Wall -Wextra -Werror -o "$root/bin/streams" "$here/streams.c"
    modules "$kernel/usr" "$version" virtio_pci virtio_net $modules nvme_tcp
    boot "$kernel/usr/lib/modules/$version/vmlinuz" << END
nvme connect -t tcp -a 10.0.2.2 -s $port -n $nqn -i 1 --hostnqn=nqn.2014-08.org.nvmexpress:uuid:$id --hostid=$id || poweroff -f
until [ -b /dev/nvme0n1 ]; do sleep 0.1; done
$(guest_does)
nvme fdp stats /dev/nvme0 -e 1
END
    expect "all written"
    "$wearwell" ctl "$work/disk.ww" stats --json > "$work/stats.json"
    # Without spare segments the disk ends degraded.
    kill "$server" && wait "$server" || true
    server=''
    device() { sed -n "s/.*($1): \([0-9]*\).*/\1/p" "$work/console"; }
    echo "$(device HBMW) $(device MBMW) $(device MBE)" > "$work/device"
    python3 - "$work/stats.json" "$work/device" "$name" << 'END'
import json, sys
stats = json.load(open(sys.argv[1]))
segment = 44 * 16384
ours = [stats["host_bytes"], stats["flash_bytes"], stats["erases"] * segment]
device = [int(number) for number in open(sys.argv[2]).read().split()]
assert device == ours, (device, ours)
print(f"| {sys.argv[3]} | {ours[0] >> 20} | {ours[1] / ours[0]:.2f} | {stats['erases']} |")
END
}

echo "$spare % of the flash is spare, $writes writes $order."
echo
echo "| the host's streams | MiB written | write amplification | erases |"
echo "| --- | ---: | ---: | ---: |"
session '1 2 3 4' with
# What f2fs writes does not depend on it: its session without them is the one below with single.
[ "$order" = f2fs ] || session '0 0 0 0' without
echo
echo "| replayed with --where | write amplification | erases |"
echo "| --- | ---: | ---: |"
for policy in $policies; do
    "$wearwell" run --data stored --chip "$chip" --logical "$((pages * 16))KiB" --where "$policy" \
        --workload "trace:$work/with.csv" --json - > "$work/report.json"
    python3 -c 'import json, sys; r = json.load(sys.stdin); print("| %s | %.2f | %d |" % (sys.argv[1], r["wa_bytes"], r["erases"]))' \
        "$policy" < "$work/report.json"
done
