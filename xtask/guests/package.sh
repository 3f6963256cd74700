#!/bin/sh
# Installs a Debian package of the command into a scratch root, looks at all that it brings, serves a disk from it as its
# units do, and removes it. usage: package.sh FILE.deb    (exit code 77: this machine cannot)
set -eu
package=$1
# In a locale without UTF-8, man warns of characters that it cannot show.
export LC_ALL=C.UTF-8
for needed in dpkg nbdcopy systemd-socket-activate systemd-analyze man bash; do
    command -v "$needed" > /dev/null || { echo "skipped: no $needed"; exit 77; }
done
if [ "$(id -u)" != 0 ]; then
    # dpkg gives files to root.
    unshare --map-root-user true 2> /dev/null || { echo "skipped: neither root nor user namespaces"; exit 77; }
    exec unshare --map-root-user sh "$0" "$@"
fi

work=$(mktemp -d) server=''
cleanup() {
    [ -z "$server" ] || kill "$server" 2> /dev/null || true
    wait
    rm -rf "$work"
}
trap cleanup EXIT
fail() { echo "error: $1"; exit 1; }

root=$work/root
mkdir -p "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/info"
: > "$root/var/lib/dpkg/status"
# The scratch root has no C library to depend on.
in_root() { PATH="$PATH:/usr/sbin:/sbin" dpkg --root="$root" --force-depends --log=/dev/null "$@" > "$work/dpkg.log" 2>&1; }
in_root --install "$package" || { cat "$work/dpkg.log"; fail "dpkg does not install it"; }
dpkg --root="$root" --status wearwell | grep -q '^Status: install ok installed' || fail "not installed"
dpkg --root="$root" --status wearwell | grep -q '^Depends: .*libc6' || fail "no dependency on the C library"

wearwell=$root/usr/bin/wearwell
# One page for the command, and one for each of its commands, which the first page names.
manuals=$root/usr/share/man/man1
for page in "$manuals"/*.gz; do
    said=$(man --warnings --local-file "$page" 2>&1 > "$work/page")
    [ -z "$said" ] || fail "$page: $said"
    grep -q '^SYNOPSIS' "$work/page" || fail "$page has no synopsis"
done
for name in $(man --local-file "$manuals/wearwell.1.gz" 2> /dev/null | grep -o 'wearwell-[a-z]*(1)' | sort -u); do
    [ -f "$manuals/${name%(1)}.1.gz" ] || fail "no man page $name"
done
[ -f "$manuals/wearwell-serve.1.gz" ] || fail "no man page of serve, which the unit names"

completed=$(bash -c 'source "$1"; COMP_WORDS=(wearwell ser) COMP_CWORD=1; _wearwell wearwell ser wearwell
    echo "${COMPREPLY[*]}"' - "$root/usr/share/bash-completion/completions/wearwell")
[ "$completed" = serve ] || fail "bash completes 'wearwell ser' to '$completed'"
grep -q '^#compdef wearwell' "$root/usr/share/zsh/vendor-completions/_wearwell" || fail "no completions for zsh"
grep -q 'complete -c wearwell' "$root/usr/share/fish/vendor_completions.d/wearwell.fish" || fail "none for fish"

# The scratch root has none of the units that these need.
units=$root/usr/lib/systemd/system
mkdir "$work/units"
for unit in wearwell@.service wearwell@.socket; do sed "s|/usr/bin/|$root/usr/bin/|" "$units/$unit" > "$work/units/$unit"; done
said=$(systemd-analyze verify --man=no "$work/units/wearwell@.socket" 2>&1 | grep wearwell@ || true)
[ -z "$said" ] || fail "$said"

# The first client starts the service, with the command line of the unit. Then as an administrator would go on.
"$wearwell" create "$work/home.ww" --size 32MiB > /dev/null
started=$(sed -n 's/^ExecStart=//p' "$units/wearwell@.service" |
    sed "s|/usr/bin/|$root/usr/bin/|; s|/var/lib/wearwell|$work|; s|/run/wearwell|$work|; s|%i|home|g")
# shellcheck disable=SC2086 # These are several words.
systemd-socket-activate --listen="$work/home.sock" $started > "$work/serve.log" 2>&1 &
server=$!
for _ in $(seq 100); do [ -S "$work/home.sock" ] && break; sleep 0.1; done
uri="nbd+unix:///?socket=$work/home.sock"
seq 1000000 | head -c 4194304 > "$work/a"
nbdcopy --flush "$work/a" "$uri" && nbdcopy "$uri" "$work/b" || { cat "$work/serve.log"; fail "the disk is not served"; }
cmp -n 4194304 "$work/a" "$work/b"
"$wearwell" ctl --control "$work/home.ctl" stats | grep -qi healthy || fail "the disk is not healthy"
kill "$server"
wait "$server" || { cat "$work/serve.log"; fail "the service ended with $?"; }
server=''
"$wearwell" check "$work/home.ww" > /dev/null

in_root --purge wearwell || { cat "$work/dpkg.log"; fail "dpkg does not remove it"; }
left=$(find "$root" -path "$root/var" -prune -o -type f -print)
[ -z "$left" ] || fail "left behind: $left"
echo "the package: installed, its man pages, completions and units are good, a disk was served from it, removed"
