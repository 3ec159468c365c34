#!/usr/bin/env bash
# Installs Python releases of the older versions of the protocol, each in an environment of its own. Needs Python 3.10 or
# later with pip.
set -euo pipefail
cd "$(dirname "$0")"

for release in 03 02 024 01 fasta-06 fasta-21; do
  # Without a pip of its own an environment needs no package beyond Python itself, which on Debian a full one does.
  [ -x ".venv-$release/bin/python" ] || python3 -m venv --without-pip ".venv-$release"
  python3 -m pip --python ".venv-$release/bin/python" install --quiet --disable-pip-version-check \
    --requirement "requirements-$release.txt"
done
