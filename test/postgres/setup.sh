#!/usr/bin/env bash
# Installs Debian's PostgreSQL, which the tests of the store start by themselves. Debian makes a cluster of its own of a
# fresh package and runs it: it is told not to. Needs apt-get, and sudo unless it is run by root.
set -euo pipefail

if [ -n "${TRIVIUM_POSTGRES_BIN:-}" ] || command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
  exit 0
fi

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
"${as_root[@]}" mkdir -p /etc/postgresql-common
printf 'create_main_cluster = false\n' | "${as_root[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
  -o Dpkg::Options::=--force-confold postgresql >/dev/null
