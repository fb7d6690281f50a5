#!/usr/bin/env bash
# Hands a graph's beliefs to a crowd and takes the answers back.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$(mktemp -d)}"

# Three people for each belief; which ones they are asked about is drawn at random.
kgeval init run "$here/kg.ttl" --policy srs --redundancy 3
kgeval export run --to csv -o tasks.csv
python "$here/workers.py" tasks.csv > results.csv
kgeval import run results.csv
kgeval estimate run
