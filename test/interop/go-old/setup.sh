#!/usr/bin/env bash
# Builds the programs on the older Go SDKs. Needs Go: the command given, or `go`.
set -euo pipefail
cd "$(dirname "$0")"

go=${1:-go}
GOTOOLCHAIN=local "$go" build -buildvcs=false -o bin/ ./...
