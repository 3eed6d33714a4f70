#!/bin/sh
# Puts images into the containerd of a node that does not run: starts only containerd in its root file system, has it
# read them, and stops it. Everything ends with the mount and process namespaces that the caller made for it.
# Arguments: the node's root file system, an archive of images.
set -eu
root=$1
images=$2

mount --make-rprivate /
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/run"
mount -t devtmpfs devtmpfs "$root/dev" 2>/dev/null || mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/mnt"
touch "$root/mnt/images.tar"
mount --bind "$images" "$root/mnt/images.tar"

cat >"$root/run/preload.toml" <<'EOF'
version = 2
disabled_plugins = ["io.containerd.grpc.v1.cri"]
EOF
chroot "$root" containerd --config /run/preload.toml >"$root/run/containerd.log" 2>&1 &
containerd=$!

for _ in $(seq 150); do
  chroot "$root" ctr version >/dev/null 2>&1 && break
  kill -0 "$containerd" 2>/dev/null || break
  sleep 0.2
done
# Not unpacked: containerd does that when a pod first needs one, and the files would be there twice.
if ! chroot "$root" ctr --namespace k8s.io images import --no-unpack --digests /mnt/images.tar; then
  tail -n 20 "$root/run/containerd.log" >&2
  exit 1
fi
kill "$containerd"
wait "$containerd" || true
