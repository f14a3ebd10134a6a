#!/bin/sh
# Two nodes in network namespaces of their own, and a stream of 1 kB each 10 ms with a deadline of
# 5 ms between them. Needs root. Removes the namespaces at the end; keys/ beside this file and
# /var/lib/laxity (the epochs of the nodes) stay for the next run.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
laxity=${LAXITY:-laxity}
down() {
    kill $camera $recorder 2>/dev/null || true
    wait 2>/dev/null || true
    ip netns del laxity-camera 2>/dev/null || true
    ip netns del laxity-recorder 2>/dev/null || true
}
socket() { echo "/run/laxity/$1.sock"; }
# Waits until the daemon of a node takes programs, for 20 s at most.
ready() {
    tries=200
    until [ -S "$(socket "$1")" ]; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || { echo "$1 has no socket after 20 s" >&2; exit 1; }
        sleep 0.1
    done
}
camera= recorder=
trap down EXIT INT TERM
[ -e "$here/keys" ] || "$laxity" keys "$here/keys" camera recorder >/dev/null
ip netns add laxity-camera
ip netns add laxity-recorder
ip link add lx-camera netns laxity-camera type veth peer name lx-recorder netns laxity-recorder
for node in camera recorder; do
    ip -n laxity-$node link set lo up
    ip -n laxity-$node link set lx-$node up
done
ip -n laxity-camera address add 10.77.0.1/24 dev lx-camera
ip -n laxity-recorder address add 10.77.0.2/24 dev lx-recorder
ip netns exec laxity-camera "$laxity" serve "$here/camera.toml" & camera=$!
ip netns exec laxity-recorder "$laxity" serve "$here/recorder.toml" & recorder=$!
ready camera
ready recorder
LAXITY_SOCKET=$(socket recorder) "$laxity" recv film --report --for "10 s" &
receiver=$!
sleep 1
LAXITY_SOCKET=$(socket camera) "$laxity" send film --size 1000 --interval "10 ms" --deadline "5 ms" --count 600
LAXITY_SOCKET=$(socket recorder) "$laxity" node
wait $receiver
