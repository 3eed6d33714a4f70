#!/bin/sh
# Runs on the unpacked packages of the app's image, given as the first argument: no maintainer script ran.
set -eu
root=$1

ln -sf dash "$root/bin/sh"
mkdir -p "$root/etc" "$root/tmp"
chmod 1777 "$root/tmp"
echo 'app:x:10001:10001::/app:/bin/sh' >"$root/etc/passwd"
echo 'app:x:10001:' >"$root/etc/group"
rm -rf "$root/usr/share/doc/nodejs" "$root/usr/include"
