# shellcheck shell=bash
# Sourced by spark/job-server and flink/job-server, which set:
#   name      of the folder in the cache
#   artifact  Beam's job server in one jar, on Maven Central
#   pom       builds the job server from the runner's own artifact where that jar cannot be had
#   default_version  of Beam, for that

: "${name:?}" "${artifact:?}" "${pom:?}" "${default_version:?}"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/evalsampling/$name"
jar="$cache/job-server.jar"
maven=(mvn --quiet --batch-mode)

say() {
  echo "$name job server: $*" >&2
}

beam_version() {
  python3 -c 'import importlib.metadata as m; print(m.version("apache-beam"))' 2> /dev/null
}

# The whole job server in one jar, as Beam publishes it.
fetch() {
  "${maven[@]}" dependency:copy -Dartifact="org.apache.beam:$artifact:$1" \
    -DoutputDirectory="$draft" -Dmdep.stripVersion=true > "$draft/maven.log" 2>&1 \
    && mv "$draft/$artifact.jar" "$draft/job-server.jar"
}

# A jar that names the runner's jars, which are put beside it.
build() {
  if ! "${maven[@]}" -f "$pom" -Dbeam.version="$1" -Doutput="$draft" package > "$draft.log" 2>&1; then
    cat "$draft.log" >&2
    say "Beam $1 cannot be built; see above"
    return 1
  fi
}

# Prints the path of the jar; makes it first unless the cache has that of the same request.
provide() {
  local sdk wanted used
  command -v mvn > /dev/null || { say "mvn (Apache Maven) is not installed"; return 1; }
  sdk="${BEAM_VERSION:-$(beam_version)}" || { say "python3 has no apache-beam"; return 1; }
  wanted="${BEAM_RUNNER_VERSION:-for Beam $sdk}"
  if [[ ! -f "$jar" || "$(cat "$cache/wanted")" != "$wanted" ]]; then
    mkdir -p "$(dirname "$cache")"
    draft="$(mktemp -d "$cache.XXXXXX")"
    trap 'rm -rf "$draft" "$draft.log"' EXIT
    if [[ -z "${BEAM_RUNNER_VERSION:-}" ]] && fetch "$sdk"; then
      used="$sdk, $artifact"
    else
      used="${BEAM_RUNNER_VERSION:-$default_version}"
      [[ -n "${BEAM_RUNNER_VERSION:-}" ]] || say "$artifact $sdk cannot be had: building $used"
      build "$used"
      used+=", built from its runner"
    fi
    echo "$wanted" > "$draft/wanted"
    echo "$used" > "$draft/version"
    chmod 755 "$draft"
    rm -rf "$cache"
    mv "$draft" "$cache"
  fi
  say "Beam $(cat "$cache/version")"
  echo "$jar"
}
