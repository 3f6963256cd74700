#!/bin/sh
# What a host's placement identifiers are worth: four writers of different lifetimes on the newest kernel of
# trixie-backports, with and without write streams, on a small disk of TLC. Prints tables in Markdown: what the device
# says, and the recorded sessions again under each placement policy.
# usage: wearwell=PROGRAM placement.sh PERCENT-OF-SPARE-FLASH random|in-turn [WRITES]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/machine.sh"
spare=$1 order=$2 writes=${3:-20000} patience_s=3000
newest_kernel
id=$(cat /proc/sys/kernel/random/uuid)

# The pages and times of tlc-512gb, in blocks of 48 pages: 192 MiB in 256 blocks, 176 MiB for data.
cat > "$work/tlc.toml" << 'END'
description = "the TLC of tlc-512gb, cut to 192 MiB"
source = "tlc-512gb; number and size of blocks are ours"
kind = "nand"
page_bytes = 16384
spare_bytes = 128
pages_per_block = 48
blocks = 256
banks = 1
paired_pages = 3
copy_back = false
max_bad_blocks = 0
endurance_cycles = 3000
endurance_spread = 0.1

[times]
read_us = 60.0
program_us = 700.0
erase_us = 5000.0
END
# Pages for the host, of 44 that hold data in each block.
pages=$((256 * 44 * (100 - spare) / 100))
policies='single separate-gc hot-cold-readonly by-stream-shared by-stream by-handle-shared by-handle dac:6 sepbit midas'

# A session of the guest: the writers' streams, and their name. Adds a line of the table.
session() {
    streams=$1 name=$2
    csv=$work/$name.csv
    rm -rf "$work/disk.ww" "$root"
    "$wearwell" create "$work/disk.ww" --chip "$work/tlc.toml" --logical "$((pages * 16))KiB" --fdp 4:persistently > /dev/null
    serve --idle off --record "$csv"
    programs nvme
    cc -O2 -static -Wall -Wextra -Werror -o "$root/bin/streams" "$here/streams.c"
    modules "$kernel/usr" "$version" virtio_pci virtio_net nvme_tcp
    boot "$kernel/usr/lib/modules/$version/vmlinuz" << END
nvme connect -t tcp -a 10.0.2.2 -s $port -n $nqn -i 1 --hostnqn=nqn.2014-08.org.nvmexpress:uuid:$id --hostid=$id || poweroff -f
until [ -b /dev/nvme0n1 ]; do sleep 0.1; done
streams /dev/nvme0n1 $order 16384 $pages $writes $streams && echo "all written"
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
host, media, erased = map(int, open(sys.argv[2]).read().split())
segment = 44 * 16384
assert erased == stats["erases"] * segment, (erased, stats["erases"])
assert media == stats["flash_bytes"], (media, stats)
assert host == stats["host_bytes"], (host, stats)
print(f"| {sys.argv[3]} | {media / host:.2f} | {erased // segment} |")
END
}

echo "$spare % of the flash is spare, $writes writes $order."
echo
echo "| the host's streams | write amplification | erases |"
echo "| --- | ---: | ---: |"
session '1 2 3 4' four
session '0 0 0 0' none
echo
echo "| replayed with --where | write amplification | erases |"
echo "| --- | ---: | ---: |"
for policy in $policies; do
    "$wearwell" run --data stored --chip "$work/tlc.toml" --logical "$((pages * 16))KiB" --where "$policy" \
        --workload "trace:$work/four.csv" --json - > "$work/report.json"
    python3 -c 'import json, sys; r = json.load(sys.stdin); print("| %s | %.2f | %d |" % (sys.argv[1], r["wa_bytes"], r["erases"]))' \
        "$policy" < "$work/report.json"
done
