# shellcheck shell=bash
# Sourced by the scripts that print the path of a program in Java, which set:
#   name      of the folder in the cache
#   title     of the program, in what is said
#   program   its jar, without `.jar`
#   artifact  the program in one jar as Beam publishes it, on Maven Central
#   pom       builds the program from its parts where that jar cannot be had
#   product   whose version the program has, and `property` of that version in the pom
#   default_version  for that, and `version` if one is asked for

: "${name:?}" "${title:?}" "${program:?}" "${artifact:?}" "${pom:?}" "${product:?}" "${property:?}" "${default_version:?}"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/evalsampling/$name"
jar="$cache/$program.jar"
maven=(mvn --quiet --batch-mode)

say() {
  echo "$title: $*" >&2
}

beam_version() {
  python3 -c 'import importlib.metadata as m; print(m.version("apache-beam"))' 2> /dev/null
}

# The whole program in one jar, as Beam publishes it.
fetch() {
  "${maven[@]}" dependency:copy -Dartifact="org.apache.beam:$artifact:$1" \
    -DoutputDirectory="$draft" -Dmdep.stripVersion=true > "$draft/maven.log" 2>&1 \
    && mv "$draft/$artifact.jar" "$draft/$program.jar"
}

# A jar that names its parts, which are put beside it.
build() {
  if ! "${maven[@]}" -f "$pom" -D"$property=$1" -Doutput="$draft" package > "$draft.log" 2>&1; then
    cat "$draft.log" >&2
    say "$product $1 cannot be built; see above"
    return 1
  fi
}

# Prints the path of the jar; makes it first unless the cache has that of the same request.
provide() {
  local sdk wanted used
  command -v mvn > /dev/null || { say "mvn (Apache Maven) is not installed"; return 1; }
  wanted="${version:-}"
  if [[ -z "$wanted" ]]; then
    sdk="${BEAM_VERSION:-$(beam_version)}" || { say "python3 has no apache-beam"; return 1; }
    wanted="for Beam $sdk"
  fi
  if [[ ! -f "$jar" || "$(cat "$cache/wanted")" != "$wanted" ]]; then
    mkdir -p "$(dirname "$cache")"
    draft="$(mktemp -d "$cache.XXXXXX")"
    trap 'rm -rf "$draft" "$draft.log"' EXIT
    if [[ -n "${sdk:-}" ]] && fetch "$sdk"; then
      used="$sdk, $artifact"
    else
      used="${version:-$default_version}"
      [[ -z "${sdk:-}" ]] || say "$artifact $sdk cannot be had: building $used"
      build "$used"
      used+=", built from its parts"
    fi
    echo "$wanted" > "$draft/wanted"
    echo "$used" > "$draft/version"
    chmod 755 "$draft"
    rm -rf "$cache"
    mv "$draft" "$cache"
  fi
  say "$product $(cat "$cache/version")"
  echo "$jar"
}
