#!/usr/bin/env bash
# Installs Debian's shell of SQLite, which runs the SQL that `trivium db sql` prints. Needs apt-get, and sudo unless it is run by root.
set -euo pipefail

command -v sqlite3 >/dev/null && exit 0

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends sqlite3 >/dev/null
