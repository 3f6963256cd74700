#!/bin/sh
# Debian's kernel in an emulated machine, with a file system on a disk that is served over NVMe/TCP.
# usage: wearwell=PROGRAM nvme.sh FOLDER-TO-COPY    (exit code 77: this machine cannot)
set -eu
tree=$1

skip() { echo "skipped: $1"; exit 77; }
fail() { echo "error: $1"; exit 1; }
until_so() { # a condition, for at most 20 seconds
    for _ in $(seq 200); do if eval "$1"; then return 0; fi; sleep 0.1; done
    fail "still not so: $1"
}

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
depmod -b "$kernel" "$version"

work=$(mktemp -d) server='' machine=''
cleanup() {
    for pid in $machine $server; do kill -9 "$pid" 2> /dev/null || true; done
    rm -rf "$work"
}
trap cleanup EXIT

"$wearwell" create "$work/disk.ww" --chip geometry:4096:64:640 --logical 128MiB --fdp 4:persistently > /dev/null
"$wearwell" serve "$work/disk.ww" --nvme 127.0.0.1:0 > "$work/serve.log" 2>&1 &
server=$!
until_so 'grep -q nvme+tcp "$work/serve.log"'
address=$(grep -o 'nvme+tcp://[^ ]*' "$work/serve.log")
port=${address#nvme+tcp://127.0.0.1:} port=${port%%/*} nqn=${address##*/}

# Its files: busybox, the programs with their libraries, modules in the order in which they are needed.
root=$work/root
mkdir -p "$root/bin" "$root/proc" "$root/sys" "$root/dev" "$root/mnt" "$root/modules" "$root/etc/nvme"
cp "$(command -v busybox)" "$root/bin/busybox"
cp -r "$tree" "$root/tree"
for program in nvme mkfs.ext4 e2fsck; do
    from=$(PATH=$PATH:/usr/sbin:/sbin command -v "$program")
    cp -L "$from" "$root/bin/$program"
    ldd "$from" | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "$root$(dirname "$library")" && cp -L "$library" "$root$library"
    done
done
for module in virtio_pci virtio_net crc32c_generic ext4 crct10dif_generic crc64_rocksoft_generic nvme_tcp; do
    modprobe -d "$kernel" -S "$version" --show-depends "$module" | awk '$1 == "insmod" { print $2 }'
done | awk '!seen[$0]++' | while read -r module; do
    cp "$module" "$root/modules/" && echo "insmod /modules/$(basename "$module")"
done > "$root/modules/load"

cat > "$root/init" << END
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc && mount -t sysfs sys /sys && mount -t devtmpfs dev /dev
. /modules/load
ip addr add 10.0.2.15/24 dev eth0 && ip link set eth0 up
host="--hostnqn=nqn.2014-08.org.nvmexpress:uuid:$(cat /proc/sys/kernel/random/uuid) --hostid=$(cat /proc/sys/kernel/random/uuid)"
connect() { nvme connect -t tcp -a 10.0.2.2 -s $port -n $nqn \$host "\$@" && until [ -b /dev/nvme0n1 ]; do sleep 0.1; done; }

nvme discover -t tcp -a 10.0.2.2 -s $port \$host | grep -q $nqn && echo "found by discovery"
connect || poweroff -f
nvme id-ctrl /dev/nvme0 | grep -q 'mn *: wearwell' && nvme smart-log /dev/nvme0 | grep -q 'available_spare.*100%' && echo "identified"
mkfs.ext4 -q /dev/nvme0n1 && mount -t ext4 -o discard /dev/nvme0n1 /mnt || poweroff -f
cp -r /tree /mnt/tree && cp -r /tree /mnt/gone && sync && rm -r /mnt/gone && fstrim /mnt && umount /mnt || poweroff -f
nvme disconnect -n $nqn && connect --hdr-digest --data-digest || poweroff -f
e2fsck -f -n /dev/nvme0n1 > /fsck.log 2>&1 || cat /fsck.log
mount -t ext4 /dev/nvme0n1 /mnt && diff -r /tree /mnt/tree && umount /mnt && e2fsck -f -n /dev/nvme0n1 && echo "ext4 is well"
nvme fdp configs /dev/nvme0 -e 1 | grep -i -c 'persistently isolated'
head -c 4096 /dev/urandom > /page
nvme write /dev/nvme0n1 --start-block=0 --block-count=7 --data-size=4096 --data=/page --dir-type=2 --dir-spec=3
nvme read /dev/nvme0n1 --start-block=0 --block-count=7 --data-size=4096 --data=/again && cmp /page /again || poweroff -f
nvme fdp status /dev/nvme0n1 && nvme fdp stats /dev/nvme0 -e 1
nvme fdp update /dev/nvme0n1 -p 3 && nvme fdp status /dev/nvme0n1 && echo "placed"
nvme disconnect -n $nqn
dmesg | grep -i -e 'nvme.*error' -e 'nvme.*time'
poweroff -f
END
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) > "$work/initrd"

timeout 300 qemu-system-x86_64 -accel tcg -cpu max -m 900 -nographic -nodefaults -no-reboot -serial stdio \
    -kernel "$kernel/boot/vmlinuz-$version" -initrd "$work/initrd" -append "console=ttyS0 quiet panic=-1 no_timer_check" \
    -netdev user,id=n -device virtio-net-pci,netdev=n,romfile= > "$work/console" 2>&1 < /dev/null &
machine=$!
wait "$machine" || fail "the machine did not end by itself: $(tail -n 30 "$work/console")"
machine=''
for line in "found by discovery" "identified" "ext4 is well" "placed"; do
    grep -q "$line" "$work/console" || fail "not so: $line: $(tail -n 50 "$work/console")"
done
if grep -i -e 'nvme.*error' -e 'nvme.*timeout' "$work/console"; then fail "the kernel complains"; fi

kill "$server" && wait "$server" || fail "serve ended with an error: $(cat "$work/serve.log")"
server=''
"$wearwell" check "$work/disk.ww"
echo "ext4 over NVMe/TCP on $version: as it should be"
