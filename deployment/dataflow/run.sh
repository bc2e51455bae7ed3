#!/usr/bin/env bash
# Starts a job from a template that build.sh has written. Parameters are those of metadata/:
#
#   PROJECT=my-project REGION=europe-west1 TEMPLATES=gs://my-templates/evalsampling \
#   TEMP=gs://my-temp WORKER=evalsampling-worker@my-project.iam.gserviceaccount.com \
#   deployment/dataflow/run.sh prepare spec=gs://my-evaluations/evaluation.yaml
set -euo pipefail

: "${PROJECT:?the project}" "${REGION:?the region, as europe-west1}"
: "${TEMPLATES:?gs://BUCKET/FOLDER of the templates}" "${TEMP:?gs://BUCKET for temporary files}"
: "${WORKER:?the service account of the workers}"
pipeline=${1:?prepare, sample or estimate}
shift

# sample and estimate are the work of one process.
workers=1
if [[ $pipeline == prepare ]]; then
  workers=${MAX_WORKERS:-10}
fi

parameters=$(IFS='|' && echo "$*")
gcloud dataflow flex-template run "evalsampling-$pipeline-$(date -u +%Y%m%d-%H%M%S)" \
  --project="$PROJECT" --region="$REGION" \
  --template-file-gcs-location="$TEMPLATES/$pipeline.json" \
  --parameters="^|^$parameters" \
  --staging-location="$TEMP/staging" --temp-location="$TEMP/temp" \
  --service-account-email="$WORKER" \
  --max-workers="$workers" --worker-machine-type="${MACHINE:-e2-standard-4}"
