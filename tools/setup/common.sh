# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the scripts share: messages, stages with their times, packages. To be sourced.

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
build=$checkout/build
: "${HOME:=$(getent passwd "$EUID" | cut -d: -f6)}"
export HOME
cache=${XDG_CACHE_HOME:-$HOME/.cache}/saccade

say() { printf '%s\n' "$*" >&2; }

die() {
  say "error: $*"
  exit 1
}

duration() {  # SECONDS
  if (( $1 < 60 )); then printf '%d s' "$1"; else printf '%d min %02d s' $(( $1 / 60 )) $(( $1 % 60 )); fi
}

stage_name=

# Begins a stage; says first how long the one before took.
stage() {  # WHAT
  stage_end
  stage_name=$1
  stage_start=$SECONDS
  say "==> $1"
}

stage_end() {
  [[ -z $stage_name ]] || say "    $(duration $(( SECONDS - stage_start ))): $stage_name"
  stage_name=
}

# The leading comment of a script, which is its --help.
print_help() {  # SCRIPT
  sed -n '/^# SPDX/d; 2,/^[^#]/s/^# \{0,1\}//p' "$1"
}

packages() {  # SECTION... -> one package a line
  local section
  for section; do
    sed -n "s/^$section \([^ ]*\).*/\1/p" "$checkout/tools/setup/packages.txt"
  done
}

is_installed() {  # PACKAGE
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

# Runs a command with its output added to build/logs/NAME.log, and shows the end of that when it fails.
logged() {  # NAME COMMAND...
  local log=$build/logs/$1.log status=0 before
  mkdir -p "$build/logs"
  touch "$log"
  before=$(stat -c %s "$log")
  "${@:2}" </dev/null >>"$log" 2>&1 || status=$?
  if (( status != 0 )); then
    tail -c "+$(( before + 1 ))" "$log" | tail -n 30 >&2
    say "    (all of it: $log)"
  fi
  return "$status"
}

# A field of /etc/os-release, such as ID or VERSION_ID.
os_release() {  # FIELD
  sed -n "s/^$1=\"\{0,1\}\([^\"]*\).*/\1/p" /etc/os-release 2>/dev/null || true
}

# True where the system's own packages are new enough: Debian 13, Ubuntu 24.04, or any other that has glslang 14.
system_is_new_enough() {
  local version glslang
  version=$(os_release VERSION_ID)
  case $(os_release ID) in
    debian) (( ${version:-99} >= 13 )) ;;  # testing and unstable have no number
    ubuntu) (( ${version%%.*} >= 24 )) ;;
    *)
      glslang=$(glslangValidator --version 2>/dev/null | sed -n 's/^Glslang Version: [0-9]*:\([0-9]*\).*/\1/p')
      (( ${glslang:-0} >= 14 ))
      ;;
  esac
}

# Where the system is too old, replaces this process by the same command in a private Debian 13 root.
enter_root_if_system_is_too_old() {  # SCRIPT ARGUMENT...
  if system_is_new_enough; then return; fi
  say "This system's packages are too old for Saccade; going on in a private Debian 13 (tools/setup/root --help)."
  exec "$checkout/tools/setup/root" run "$@"
}

# apt-get as root, unattended, its output in build/logs/apt.log.
apt_get() {  # ARGUMENT...
  local options=(-q -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300)
  local prefix=(env DEBIAN_FRONTEND=noninteractive)
  (( EUID == 0 )) || prefix=(sudo "${prefix[@]}")
  logged apt "${prefix[@]}" apt-get "${options[@]}" "$@"
}

# Installs those of the packages that are missing; needs root or sudo only then. SACCADE_NO_INSTALL=1 switches it off.
install_packages() {  # PACKAGE...
  [[ ${SACCADE_NO_INSTALL:-0} == 0 ]] || return 0
  command -v apt-get >/dev/null ||
    die "there is no apt-get here. Install what corresponds to these Debian packages and set SACCADE_NO_INSTALL=1: $*"
  local package missing=()
  for package; do is_installed "$package" || missing+=("$package"); done
  (( ${#missing[@]} )) || return 0
  (( EUID == 0 )) || command -v sudo >/dev/null ||
    die "packages are missing, and this is neither root nor is there sudo. Ask an administrator to run:" \
      "apt-get install --no-install-recommends ${missing[*]}"
  say "    installing ${missing[*]}"
  # A source that is out of reach need not matter: what apt-get install then finds decides.
  apt_get update || say "    apt-get update failed; going on with what apt knows already"
  apt_get install --no-install-recommends "${missing[@]}" || die "apt-get could not install ${missing[*]}"
}

# Configures and builds a preset in build/PRESET.
build_preset() {  # PRESET CMAKE-OPTION... [-- TARGET...]
  local folder=$build/$1 options=() version
  while (( $# )) && [[ $1 != -- ]]; do options+=("$1"); shift; done
  version=$(cmake --version | awk 'NR == 1 { print $3 }')
  # A folder that another CMake configured is from another system, such as from outside of a private root.
  if [[ -e $folder/CMakeCache.txt && ! -d $folder/CMakeFiles/$version ]]; then
    say "    $folder was built on another system; starting it anew"
    rm -rf "$folder"
  fi
  (cd "$checkout" && logged build cmake --preset "${options[@]}")
  cmake --build "$folder" ${1:+--target "${@:2}"} >&2
}
