#!/bin/sh
# Installs the browser that the tests of pages open them in; what is there stays.
set -eu

command -v chromium-headless-shell > /dev/null && exit 0

as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
if command -v apt-get > /dev/null; then
    $as_root apt-get update -qq
    $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends chromium-headless-shell > /dev/null
else
    echo "found no apt-get; without chromium-headless-shell the tests of pages are skipped" >&2
fi
