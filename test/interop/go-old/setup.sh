#!/usr/bin/env bash
# Builds the programs on the older Go SDKs. Needs Go: the command given, or `go`.
set -euo pipefail
cd "$(dirname "$0")"

go=${1:-go}
export GOTOOLCHAIN=local
"$go" build -buildvcs=false -o bin/ ./...
# A module of its own, since a module has one release of a package.
"$go" -C trpc02 build -buildvcs=false -o ../bin/ ./...
