#!/usr/bin/env bash
# Installs Debian's Chromium, which the tests in a browser run. Needs apt-get, and sudo unless it is run by root.
set -euo pipefail

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
