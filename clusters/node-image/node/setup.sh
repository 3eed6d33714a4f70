#!/bin/sh
# Runs inside the node's root file system while the image is made.
set -eu

systemctl --quiet enable containerd.service kubelet.service
# What a container does not have, and what would only wake up now and then.
systemctl --quiet mask \
  systemd-udevd.service systemd-udev-trigger.service systemd-binfmt.service systemd-logind.service \
  systemd-modules-load.service systemd-remount-fs.service \
  getty.target console-getty.service getty-static.service \
  apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer

mkdir -p /etc/kubernetes/manifests /etc/cni/net.d
# The first start writes one, so that no two nodes are the same machine.
rm -f /etc/machine-id /var/lib/dbus/machine-id
rm -rf /var/log/*
