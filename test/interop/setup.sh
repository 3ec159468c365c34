#!/usr/bin/env bash
# Installs the official SDKs that test/interop runs as clients. Needs Python 3.10 or later with pip, and npm.
set -euo pipefail
cd "$(dirname "$0")"

# Without a pip of its own the environment needs no package beyond Python itself, which on Debian a full one does.
[ -x .venv/bin/python ] || python3 -m venv --without-pip .venv
python3 -m pip --python .venv/bin/python install --quiet --disable-pip-version-check --requirement python/requirements.txt
npm ci --prefix js --no-audit --no-fund --loglevel=error
