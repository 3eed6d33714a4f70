#!/bin/sh
# Runs on the unpacked packages of the database's image, given as the first argument: no maintainer script ran.
set -eu
root=$1

for name in sh cp chown mkdir ls cat kill ps; do
  [ -e "$root/bin/$name" ] || ln -s busybox "$root/bin/$name"
done
mkdir -p "$root/etc" "$root/tmp" "$root/run/mysqld" "$root/var/lib/mysql" "$root/seed"
chmod 1777 "$root/tmp"
printf '%s\n' 'root:x:0:0::/root:/bin/sh' 'nobody:x:65534:65534::/nonexistent:/bin/false' >"$root/etc/passwd"
printf '%s\n' 'root:x:0:' 'nogroup:x:65534:' >"$root/etc/group"
chown 65534:65534 "$root/run/mysqld" "$root/var/lib/mysql"
