# The recorded traces with a stream for the file system's journal, with TRIM and without, in target/traces.
# usage, at the root of the repository: sh papers/knowing/traces.sh
set -eu

mkdir -p target/traces

# The trace, and where its journal lies: the first byte and the length. mkfs puts it there on a device of that size
# (`debugfs -R "ex <8>"`). Without TRIM, `write zeroes` is a write.
both() {
    zstd -dc "crates/wearwell-cli/traces/$1-ext4.csv.zst" | awk -F, -v OFS=, -v s="$2" -v n="$3" \
        'NR == 1 { print $0, "stream"; next } { print $0, ($2 == "W" && $3 >= s && $3 < s + n) ? 1 : 0 }' \
        > "target/traces/$1-trim.csv"
    awk -F, -v OFS=, '$2 == "D" { next } $2 == "Z" { $2 = "W" } { print }' "target/traces/$1-trim.csv" \
        > "target/traces/$1-no-trim.csv"
}

both sqlite 268435456 16777216
both postmark 67109888 4194304
both build 33555456 4194304
