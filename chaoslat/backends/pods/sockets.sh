# Runs in a debug container that shares the process namespace of the app's container: `once FILTER` prints the
# established TCP connections that the filter of ss selects, `monitor FILTER` does so once a second until it is told to
# stop. Each shot ends with a line `end` and the numbers of all processes that are not in the debug container itself.
# No other program than ss is started for a shot, since all of it is charged to the app's pod.
mode=$1
shift

# Who owns a socket is seen only by one who may trace the app (capability SYS_PTRACE).
if ! [ /proc/1/ns/mnt -ef /proc/1/ns/mnt ]; then
  echo "the app's processes may not be looked at: capability SYS_PTRACE is missing" >&2
  exit 1
fi

shot() {
  ss -tinpHO state established "$@" || exit 1
  pids=
  for process in /proc/[0-9]*; do
    if [ -e "$process/ns/mnt" ] && ! [ "$process/ns/mnt" -ef /proc/self/ns/mnt ]; then
      pids="$pids ${process#/proc/}"
    fi
  done
  echo "end$pids"
}

if [ "$mode" = once ]; then
  shot "$@"
  exit 0
fi
while ! [ -e /tmp/stop ]; do
  shot "$@"
  sleep 1
done
