#!/bin/sh
# Runs on the unpacked packages of the control plane's image, given as the first argument: no maintainer script ran.
set -eu
root=$1

# What the package's alternatives would have linked.
for name in iptables iptables-save iptables-restore ip6tables ip6tables-save ip6tables-restore; do
  ln -sf xtables-nft-multi "$root/usr/sbin/$name"
done
for name in sh ls cat ip sleep mkdir mv; do
  [ -e "$root/bin/$name" ] || ln -s busybox "$root/bin/$name"
done
ln -s usr/local/bin/coredns "$root/coredns"
mkdir -p "$root/tmp"
chmod 1777 "$root/tmp"
