# Parts of the scripts that boot a kernel in an emulated machine. It is sourced, and sets work, which is removed at the
# end; the script sets server to the process that serves the disk, and others to those that serve other disks.

skip() { echo "skipped: $1"; exit 77; }
fail() { echo "error: $1"; exit 1; }
# What a machine may take. A host that is busy needs more.
patience_s=${patience_s:-300}
until_so() { # a condition
    for _ in $(seq $((patience_s * 10))); do if eval "$1"; then return 0; fi; sleep 0.1; done
    fail "still not so: $1: $(tail -n 30 "$work/console" 2> /dev/null)"
}

work=$(mktemp -d) server='' others='' machine=''
cleanup() {
    for pid in $machine $server $others; do kill -9 "$pid" 2> /dev/null || true; done
    rm -rf "$work"
}
trap cleanup EXIT
root=$work/root

# Sets kernel, a folder, and version: the newest kernel of trixie-backports. It is fetched once by a package list of its
# own, and not installed.
newest_kernel() {
    kernels=$(cd .. && pwd)/guest-kernel
    lists=$kernels/backports
    mkdir -p "$lists/lists/partial" "$lists/cache/archives/partial"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie-backports main" \
        > "$lists/sources.list"
    cat > "$lists/apt.conf" << END
Dir::Etc::SourceList "$lists/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "$lists/lists";
Dir::Cache "$lists/cache";
APT::Architecture "amd64";
APT::Sandbox::User "root";
END
    backports() { APT_CONFIG=$lists/apt.conf "$@"; }
    backports apt-get update -qq || skip "no package list of trixie-backports"
    version=$(backports apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: linux-image-\([0-9]\)/\1/p' | head -n 1)
    [ -n "$version" ] || skip "no kernel for amd64 in trixie-backports"
    kernel=$kernels/$version
    if ! [ -d "$kernel" ]; then
        rm -rf "$kernel.new" && mkdir -p "$kernel.new"
        (
            cd "$kernel.new" &&
                backports apt-get download -qq "linux-base-$version" "linux-binary-$version" "linux-modules-$version" &&
                for package in ./*.deb; do dpkg -x "$package" . || exit; done && rm ./*.deb
        ) || skip "no kernel $version to be had"
        mv "$kernel.new" "$kernel"
    fi
}

# Serves the disk with these flags more, and sets where it is: port and nqn. A port that is set is used again.
port=0
serve() {
    # The line of a server before this one must not count for it.
    : > "$work/serve.log"
    "$wearwell" serve "$work/disk.ww" --nvme "127.0.0.1:$port" "$@" > "$work/serve.log" 2>&1 &
    server=$!
    until_so 'grep -q nvme+tcp "$work/serve.log"'
    address=$(grep -o 'nvme+tcp://[^ ]*' "$work/serve.log")
    port=${address#nvme+tcp://127.0.0.1:} port=${port%%/*} nqn=${address##*/}
}

# The server must end without an error, and leave a good image.
stop() {
    kill "$server" && wait "$server" || fail "serve ended with an error: $(cat "$work/serve.log")"
    server=''
    "$wearwell" check "$work/disk.ww"
}

# The files of the machine: busybox, and these programs with their libraries.
programs() {
    mkdir -p "$root/bin" "$root/proc" "$root/sys" "$root/dev" "$root/mnt" "$root/modules" "$root/etc/nvme"
    cp "$(command -v busybox)" "$root/bin/busybox"
    for program in "$@"; do
        from=$(PATH=$PATH:/usr/sbin:/sbin command -v "$program") || fail "no $program"
        cp -L "$from" "$root/bin/${program##*/}"
        ldd "$from" | grep -o '/[^ ]*' | while read -r library; do
            mkdir -p "$root$(dirname "$library")" && cp -L "$library" "$root$library"
        done
    done
}

# Modules below a folder, for a version, in the order in which they are needed.
modules() {
    base=$1 version=$2
    shift 2
    depmod -b "$base" "$version"
    for module in "$@"; do
        modprobe -d "$base" -S "$version" --show-depends "$module" | awk '$1 == "insmod" { print $2 }'
    done | awk '!seen[$0]++' | while read -r module; do
        name=$(basename "$module" .xz)
        case $module in *.xz) xz -dc "$module" > "$root/modules/$name" ;; *) cp "$module" "$root/modules/$name" ;; esac
        echo "insmod /modules/$name"
    done > "$root/modules/load"
}

# Boots a kernel, which runs the standard input as a script after these lines, and then ends. Output goes to console.
boot() {
    start "$1"
    finish
}
start() {
    {
        cat << 'END'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc && mount -t sysfs sys /sys && mount -t devtmpfs dev /dev
. /modules/load
ip addr add 10.0.2.15/24 dev eth0 && ip link set eth0 up
END
        cat
        echo 'poweroff -f'
    } > "$root/init"
    chmod +x "$root/init"
    (cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) > "$work/initrd"
    timeout "$patience_s" qemu-system-x86_64 -accel tcg -cpu max -m 900 -nographic -nodefaults -no-reboot -serial stdio \
        -kernel "$1" -initrd "$work/initrd" -append "console=ttyS0 quiet panic=-1 no_timer_check" \
        -netdev user,id=n -device virtio-net-pci,netdev=n,romfile= > "$work/console" 2>&1 < /dev/null &
    machine=$!
}
finish() {
    wait "$machine" || fail "the machine did not end by itself: $(tail -n 30 "$work/console")"
    machine=''
}

# The console must have these lines.
expect() {
    for line in "$@"; do
        grep -q "$line" "$work/console" || fail "not so: $line: $(tail -n 50 "$work/console")"
    done
}
