#!/usr/bin/env bash
# Installs the built wheel, with locked dependencies, in an empty environment, and runs a small job
# from a folder that has nothing to do with the checkout.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
wheel=$(ls -t "$root"/dist/*.whl | head -n 1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
top=$("${PYTHON:-python3}" -m zipfile -l "$wheel" | awk 'NR > 1 {split($1, p, "/"); print p[1]}' | sort -u | grep -v dist-info)
[ "$top" = "$(printf 'matrix\nmatrix_actors')" ] || { echo "the wheel holds: $top"; exit 1; }
"$UV" venv --quiet --python "${PYTHON:-python3}" "$work/venv"
(cd "$root" && "$UV" export --frozen --no-dev --no-emit-project --quiet) > "$work/requirements.txt"
"$UV" pip install --quiet --python "$work/venv/bin/python" --require-hashes -r "$work/requirements.txt"
"$UV" pip install --quiet --python "$work/venv/bin/python" --no-deps "$wheel"
cd "$work"
venv/bin/matrix init project
cd project
../venv/bin/matrix run --per-cell 2 --quiet
../venv/bin/matrix list
../venv/bin/python -c "import pandas, pathlib; run, = pathlib.Path('results').iterdir(); print(len(pandas.read_parquet(run / 'sessions')), 'sessions')"
