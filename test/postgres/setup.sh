#!/usr/bin/env bash
# Installs Debian's PostgreSQL and PgBouncer, which the tests of the store start by themselves. Debian makes a cluster of
# its own of a fresh package, and runs both: it is told not to. Needs apt-get, and sudo unless it is run by root.
set -euo pipefail

missing=()
if [ -z "${TRIVIUM_POSTGRES_BIN:-}" ] && ! command -v initdb >/dev/null && ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
  missing+=(postgresql)
fi
if [ -z "${TRIVIUM_PGBOUNCER:-}" ] && ! command -v pgbouncer >/dev/null && [ ! -x /usr/sbin/pgbouncer ]; then
  missing+=(pgbouncer)
fi
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
"${as_root[@]}" mkdir -p /etc/postgresql-common
printf 'create_main_cluster = false\n' | "${as_root[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null
"${as_root[@]}" apt-get update -qq
# Debian does not start services in this runlevel.
"${as_root[@]}" env RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
  -o Dpkg::Options::=--force-confold "${missing[@]}" >/dev/null
