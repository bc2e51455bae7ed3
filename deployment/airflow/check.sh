#!/usr/bin/env bash
# Checks the DAG under a real Airflow, in an environment of its own: some minutes and 2 GB the first
# time. Needs an evalsampling to call; `make test` has made one.
#
#   deployment/airflow/check.sh [PROGRAM]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
program=${1:-"$root/.venv/bin/evalsampling"}
environment=${AIRFLOW_ENVIRONMENT:-"$root/build/airflow"}

"$program" --version
if [[ ! -x $environment/bin/pip ]]; then
  "${PYTHON:-python3}" -m venv "$environment"
fi
"$environment/bin/pip" install --quiet --requirement "$here/requirements.txt"

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"$environment/bin/python" "$here/check.py" "$directory" "$program"
