#!/usr/bin/env bash
# Prepares a pool by spark-submit. Options of spark-submit come first, those of the job after --:
#
#     deployment/spark/submit.sh --master yarn -- --spec=evaluation.yaml
#
# The package goes along as a zip. ENVIRONMENT=environment.tar.gz names an archive with a Python
# that has the dependencies, for executors that do not (docs/pyspark.md says how to make one).
# PYTHON is the Python of the driver (default: python3), with pip.
set -euo pipefail

project="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
python="${PYTHON:-python3}"

options=()
while (($#)) && [[ $1 != -- ]]; do
  options+=("$1")
  shift
done
if ((!$#)); then
  echo "usage: $0 [OPTIONS OF spark-submit] -- --spec=evaluation.yaml [--check-ids] [--partitions=N]" >&2
  exit 2
fi
shift

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
# A wheel is a zip with the package's version in it; Spark takes it by the name of a zip only.
"$python" -m pip wheel --quiet --no-deps --wheel-dir "$folder" "$project"
mv "$folder"/*.whl "$folder/evalsampling.zip"
options+=(--py-files "$folder/evalsampling.zip")

if [[ -n ${ENVIRONMENT:-} ]]; then
  options+=(
    --archives "$ENVIRONMENT#environment"
    --conf spark.pyspark.python=./environment/bin/python
    --conf "spark.pyspark.driver.python=$python"
  )
fi

spark-submit "${options[@]}" "$project/pipelines/spark_prepare.py" "$@"
