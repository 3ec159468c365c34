#!/usr/bin/env bash
# Installs the older JavaScript SDKs, side by side under names of their own. Needs npm.
set -euo pipefail
cd "$(dirname "$0")"

npm ci --no-audit --no-fund --loglevel=error
