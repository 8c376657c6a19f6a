# SPDX-License-Identifier: Apache-2.0
# Shared by the scripts in this folder: `. scripts/common.sh` from the project's root.

say() { printf '== %s\n' "$*"; }
die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# Every script prints the comment at its top as its help.
usage() { sed -n '3,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0"; }

# One job a core, but not more than one for each 1.5 GiB of memory: a Verilated file can take that much.
job_count() {
  local cores mem_mib n
  cores=$(nproc 2>/dev/null || echo 1)
  mem_mib=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo 2>/dev/null)
  n=$(( ${mem_mib:-1536} / 1536 ))
  [ "$n" -lt 1 ] && n=1
  [ "$n" -gt "$cores" ] && n=$cores
  echo "$n"
}

# The Python of the project's own environment where there is one, otherwise the system's.
python() {
  if [ -x .venv/bin/python ]; then echo .venv/bin/python; else system_python; fi
}

# The distribution's Python comes first: another one in the PATH may lack the module venv or its parts.
system_python() {
  local p
  for p in /usr/bin/python3 python3; do
    if command -v "$p" >/dev/null && "$p" -c 'import venv, ensurepip' 2>/dev/null; then echo "$p"; return; fi
  done
  command -v python3 || return 1
}

# configure PRESET: writes build/PRESET, unless it is there for this source folder (ninja configures again by itself
# when a CMake file has changed).
configure() {
  local dir=build/$1 home
  if [ -f "$dir/CMakeCache.txt" ]; then
    home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$dir/CMakeCache.txt")
    if [ "$home" != "$PWD" ]; then
      say "$dir was made in another folder ($home): making it anew"
      rm -rf "$dir"
    elif [ -f "$dir/build.ninja" ]; then
      return 0
    fi
  fi
  say "Configuring $dir"
  cmake --preset "$1" || die "configuring failed: the message above says what is missing (scripts/setup installs it)"
}

# build PRESET [TARGET...]
build() {
  local preset=$1 t args=()
  shift
  for t in "$@"; do args+=(--target "$t"); done
  say "Building build/$preset with ${JOBS:=$(job_count)} jobs"
  cmake --build --preset "$preset" -j "$JOBS" "${args[@]}" ||
    die "building failed: the first error is above. After a change of compiler or packages, remove build/$preset and try again"
}
