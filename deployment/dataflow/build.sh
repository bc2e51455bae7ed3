#!/usr/bin/env bash
# Builds the images in Cloud Build and writes a Flex Template for each pipeline:
#
#   PROJECT=my-project REGION=europe-west1 REPOSITORY=evalsampling \
#   TEMPLATES=gs://my-templates/evalsampling deployment/dataflow/build.sh
set -euo pipefail

: "${PROJECT:?the project}" "${REGION:?the region, as europe-west1}"
: "${REPOSITORY:?the Artifact Registry repository}" "${TEMPLATES:?gs://BUCKET/FOLDER for templates}"
tag=${TAG:-$(date -u +%Y%m%d-%H%M%S)}
images=$REGION-docker.pkg.dev/$PROJECT/$REPOSITORY
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# By a version alone: whoever can change what it stands for changes what is built.
sed -nE 's/^(FROM|COPY --from=) ?([^ ]+).*/\2/p' "$here/Dockerfile" | while read -r image; do
  if [[ $image != *@sha256:* ]]; then
    echo "warning: $image has no digest; docs/dataflow.md says how to add it" >&2
  fi
done

gcloud builds submit "$here/../.." --project="$PROJECT" --region="$REGION" \
  --config="$here/cloudbuild.yaml" --substitutions="_IMAGES=$images,_TAG=$tag"

for pipeline in prepare sample estimate; do
  gcloud dataflow flex-template build "$TEMPLATES/$pipeline.json" --project="$PROJECT" \
    --image="$images/$pipeline:$tag" --sdk-language=PYTHON \
    --metadata-file="$here/metadata/$pipeline.json"
done
