# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Making, entering and deleting Debian 13 roots. To be sourced after common.sh.
#
# Nothing is ever mounted where the rest of the machine could see it: making and entering happen in mount namespaces
# of their own, which the kernel takes down with their last process, however that ends. A user who is not root gets
# a user namespace as well, and is root there.
# shellcheck source=tools/setup/common.sh

namespace_options=(--mount)
(( EUID == 0 )) || namespace_options+=(--map-root-user --map-auto)

# The address of the Debian mirror that this machine's apt uses, whatever the format of its sources. Of several sources
# for the release, Debian's own is the one that has its updates too.
debian_mirror() {
  if [[ -n ${SACCADE_MIRROR:-} ]]; then
    echo "${SACCADE_MIRROR%/}"
    return
  fi
  local codename address=
  codename=$(os_release VERSION_CODENAME)
  if [[ $(os_release ID) == debian ]]; then
    # 'https://mirror/debian/dists/trixie-updates/InRelease' NAME SIZE
    address=$(apt-get update --print-uris |
      sed -nE "s#^'([^']*)/dists/($codename|stable|oldstable|testing|unstable|sid)(-updates)?/InRelease'.*#\3 \1#p" |
      awk '$NF !~ /^cdrom:/ { if (NF == 2 || !found) found = $NF } NF == 2 { exit } END { print found }')
  fi
  # mirror+file:/etc/apt/mirrors/debian.list, as the cloud images have it, is a list of addresses in a file.
  if [[ $address == mirror+file:* ]]; then
    address=$(awk '!/^#/ && NF { print $1; exit }' "${address#mirror+file:}")
  fi
  [[ -n $address ]] || die "this machine's apt sources name no Debian mirror; set SACCADE_MIRROR to the address of one"
  echo "${address%/}"
}

# This machine's apt settings for reaching its mirror, such as a proxy, as lines of apt.conf.
apt_network_settings() {
  apt-config dump --no-empty --format '%F "%v";%n' Acquire | grep -E '^Acquire::(http|https|Check-)' || true
}

install_root_tools() {
  local tools=(mmdebstrap mount)
  (( EUID == 0 )) || tools+=(uidmap)
  install_packages "${tools[@]}"
  local refusal
  refusal=$(unshare "${namespace_options[@]}" true 2>&1) ||
    die "a private Debian 13 needs a mount namespace, and here that fails: $refusal. Run this as root; in a container," \
      "give that the right to mount or start from Debian 13; in a chroot, first bind its folder to itself"
}

# Makes a root; nothing of it stays when that fails.
make_debian13() {  # ROOT PACKAGES(comma-separated) SUITE...
  local root=$1 include=$2 mirror suite sources=()
  shift 2
  mirror=$(debian_mirror) || exit
  for suite; do sources+=("deb $mirror $suite main"); done
  mkdir -p "$(dirname "$root")" "$build/logs"
  apt_network_settings >"$build/logs/root-apt.conf"
  say "    from $mirror"
  if ! logged root unshare "${namespace_options[@]}" mmdebstrap --mode=root --variant=apt --include="$include" \
    --dpkgopt=force-unsafe-io --aptopt='Acquire::Retries "3"' --aptopt="$build/logs/root-apt.conf" trixie "$root" "${sources[@]}"; then
    delete_debian13 "$root"
    die "mmdebstrap could not make a Debian 13 root in $root"
  fi
}

# Replaces this process by a command in a root, which sees the given folders under their own names.
enter_debian13() {  # ROOT [--bind FOLDER]... DIRECTORY COMMAND...
  local root=$1
  shift
  # Run by a shell inside the new namespace.
  # shellcheck disable=SC2016
  exec unshare "${namespace_options[@]}" bash -euc '
    root=$1
    shift
    mount --bind "$root" "$root"  # a root that is a mount point can make namespaces itself
    for tree in /dev /sys; do mount --rbind "$tree" "$root$tree"; done
    # In a process namespace of its own a process cannot find itself in the /proc of the one outside.
    read -r self _ </proc/self/stat
    if [[ $self == "$$" ]]; then
      mount --rbind /proc "$root/proc"
    else
      mount -t proc proc "$root/proc"
    fi
    cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
    while [[ $1 == --bind ]]; do
      mkdir -p "$root$2"
      mount --bind "$2" "$root$2"
      shift 2
    done
    mkdir -p "$root$HOME"
    unset LD_PRELOAD LD_LIBRARY_PATH TMPDIR LANGUAGE
    export LC_ALL=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    exec chroot "$root" sh -c "cd \"\$1\" && shift && exec \"\$@\"" sh "$@"
  ' bash "$root" "$@"
}

# Deletes a root, unless anything is mounted in it: that would go as well, and is not the root's.
delete_debian13() {  # ROOT
  local root
  root=$(realpath -m -- "$1")
  [[ $root == /*/* ]] || die "not the folder of a root: $root"
  [[ -e $root ]] || return 0
  # A space in the name of a mount point is written as \040 there.
  if root=$root awk '{ gsub(/\\040/, " ", $5) } index($5 "/", ENVIRON["root"] "/") == 1 { found = 1 } END { exit !found }' \
    /proc/self/mountinfo; then
    die "something is mounted in $root; it stays as it is"
  fi
  unshare "${namespace_options[@]}" rm -rf --one-file-system -- "$root"
}
