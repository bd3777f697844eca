#!/bin/sh
# Installs the programs that are not of Python and that some parts need; what is there stays.
set -eu

command -v bwrap > /dev/null && exit 0

as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
if command -v apt-get > /dev/null; then
    $as_root apt-get update -qq
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq bubblewrap > /dev/null
elif command -v dnf > /dev/null; then
    $as_root dnf install -y -q bubblewrap
elif command -v pacman > /dev/null; then
    $as_root pacman -S --noconfirm --needed bubblewrap
elif command -v apk > /dev/null; then
    $as_root apk add --quiet bubblewrap
else
    echo "found no package manager that is known here; install bubblewrap (Linux only) by hand," >&2
    echo "or say sandbox: none of the agents that are commands" >&2
    exit 1
fi
