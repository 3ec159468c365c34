#!/usr/bin/env bash
# Installs Bun and Deno, which test/runtimes runs, from the npm registry.
set -euo pipefail
cd "$(dirname "$0")"

npm ci --no-audit --no-fund --loglevel=error
