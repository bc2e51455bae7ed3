#!/usr/bin/env bash
# Deploys workflow.yaml and has Cloud Scheduler start a pass on a timetable. Run again to change
# either. The templates are those that ../dataflow/build.sh makes; see docs/scheduling.md.
#
#   PROJECT=my-project REGION=europe-west1 NAME=pairs BUCKET=my-evaluations FOLDER=pairs \
#   TEMPLATES=gs://my-templates/evalsampling TAG=... TEMP=gs://my-temp \
#   WORKER=evalsampling-worker@my-project.iam.gserviceaccount.com \
#   SCHEDULE="0 * * * *" HALF_WIDTH=0.05 deployment/workflows/scheduler.sh
set -euo pipefail

: "${PROJECT:?the project}" "${REGION:?the region, as europe-west1}"
: "${NAME:?of the evaluation: small letters, digits, hyphens}"
: "${BUCKET:?of the evaluation}" "${FOLDER:?in the bucket, without slashes at its ends}"
: "${TEMPLATES:?gs://BUCKET/FOLDER of the templates}" "${TAG:?the tag that build.sh said}"
: "${TEMP:?gs://BUCKET for temporary files}" "${WORKER:?the service account of the workers}"
SCHEDULE=${SCHEDULE:-"0 * * * *"}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
workflow="evalsampling-$NAME"
runner="evalsampling-workflow@$PROJECT.iam.gserviceaccount.com"
starter="evalsampling-scheduler@$PROJECT.iam.gserviceaccount.com"

for account in "$runner" "$starter"; do
  gcloud iam service-accounts describe "$account" --project="$PROJECT" > /dev/null 2>&1 ||
    gcloud iam service-accounts create "${account%%@*}" --project="$PROJECT"
done

# The workflow starts and watches jobs, lets them act as the worker, reads and lists the folder,
# and sees whether another pass is at work.
for role in roles/dataflow.developer roles/workflows.viewer roles/logging.logWriter; do
  gcloud projects add-iam-policy-binding "$PROJECT" \
    --member="serviceAccount:$runner" --role="$role" --condition=None > /dev/null
done
gcloud iam service-accounts add-iam-policy-binding "$WORKER" --project="$PROJECT" \
  --member="serviceAccount:$runner" --role=roles/iam.serviceAccountUser > /dev/null
template_bucket=${TEMPLATES#gs://}
for bucket in "$BUCKET" "${template_bucket%%/*}"; do
  gcloud storage buckets add-iam-policy-binding "gs://$bucket" \
    --member="serviceAccount:$runner" --role=roles/storage.objectViewer > /dev/null
done

gcloud workflows deploy "$workflow" --project="$PROJECT" --location="$REGION" \
  --source="$here/workflow.yaml" --service-account="$runner"

# The scheduler may start workflows and nothing else.
gcloud projects add-iam-policy-binding "$PROJECT" \
  --member="serviceAccount:$starter" --role=roles/workflows.invoker --condition=None > /dev/null

export NAME BUCKET FOLDER REGION TEMPLATES TAG TEMP WORKER HALF_WIDTH MAX_WORKERS
body=$(python3 "$here/settings.py")
verb=create
if gcloud scheduler jobs describe "$workflow" --project="$PROJECT" --location="$REGION" \
  > /dev/null 2>&1; then
  verb=update
fi
gcloud scheduler jobs "$verb" http "$workflow" --project="$PROJECT" --location="$REGION" \
  --schedule="$SCHEDULE" --http-method=POST --message-body="$body" \
  --uri="https://workflowexecutions.googleapis.com/v1/projects/$PROJECT/locations/$REGION/workflows/$workflow/executions" \
  --oauth-service-account-email="$starter"
