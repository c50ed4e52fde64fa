# shellcheck shell=bash disable=SC2154
# For the tests in which root acts on what nobody, the stranger, wrote; to be sourced after helpers.bash.
# $theirs is a folder of theirs, $mine one that only root may look into; give PATH... hands files over.

[ "$(id -u)" = 0 ] || skip 'needs root, for whom strangers are a danger'
chmod 755 "$tmp"
theirs=$tmp/theirs
mine=$tmp/mine
install -d -m 755 -o nobody -g nogroup "$theirs"
install -d -m 700 "$mine"
give() { chown -hR nobody:nogroup "$@"; }
