#!/usr/bin/env bash
# Builds the images of images/ on a machine without a registry: Debian packages by mmdebstrap, and etcd
# from its Go module. An image whose label has the hash of its inputs is left as it is.
set -euo pipefail
cd "$(dirname "$0")/.."

suite=bookworm
label=lockbench.inputs
jobs=3 # each is half download, half unpacking: three fill two cores
all=(zookeeper postgres redis tools etcd)

die() { printf '%s\n' "make images: $1" "${@:2}" >&2; exit 1; }

hash_of() { # NAME: the content of all inputs, and what is executable
  find "images/$1" scripts/images.sh -type f -print0 | sort -z |
    xargs -0 sh -c 'for f; do test -x "$f" && echo "x $f"; sha256sum "$f"; done' sh | sha256sum | cut -c1-32
}

has() { # NAME: is the image there, made from these inputs?
  [ "$(docker image inspect --format "{{index .Config.Labels \"$label\"}}" "lockbench/$1:latest" 2>/dev/null)" = "$(hash_of "$1")" ]
}

check_docker() {
  command -v docker >/dev/null || die "docker is missing" "  Debian: apt-get install docker.io"
  docker version --format '{{.Server.Version}}' >/dev/null 2>&1 ||
    die "the Docker engine does not answer" "  is it running, and may this user talk to it? see: docker version"
}

check_tools() { # NAMES: what building these takes
  local name
  for name in "$@"; do
    if [ "$name" = etcd ]; then
      command -v go >/dev/null || die "go is missing: etcd is built from its module"
      continue
    fi
    command -v mmdebstrap >/dev/null || die "mmdebstrap is missing" "  Debian: apt-get install mmdebstrap"
    [ "$(id -u)" = 0 ] || die "root is needed to unpack Debian packages" "  sudo make images"
    [ "${#sources[@]}" -gt 0 ] || die "no apt source of this machine has Debian $suite" \
      "  name a file that has one: SOURCES=file make images (deb822, or one-line format)"
  done
}

# The machine's own sources of the suite; others (of third parties) are not needed.
find_sources() {
  sources=()
  if [ -n "${SOURCES:-}" ]; then sources=("$SOURCES"); return; fi
  local file
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
    if [ -e "$file" ] && grep -qE "^(Suites:(.* )?|deb .* )$suite( |\$)" "$file"; then sources+=("$file"); fi
  done
}

# What this machine's apt needs to reach its mirror.
apt_options() {
  local key value
  for key in Acquire::http::Proxy Acquire::https::Proxy Acquire::Check-Valid-Until Acquire::Check-Date; do
    value=
    eval "$(apt-config shell value $key)"
    [ -z "$value" ] || printf '%s\n' "--aptopt=$key \"$value\""
  done
}

import() { # NAME: a tar on stdin becomes the image
  local name=$1 line changes=(-c "LABEL $label=$(hash_of "$1")") id
  while read -r line; do changes+=(-c "$line"); done < "images/$name/config"
  id=$(docker import "${changes[@]}" -m "lockbench make images" -)
  echo "$id" > "$work/$name.id"
}

root_of_packages() { # NAME: a Debian root as a tar on stdout
  local name=$1 options=()
  mapfile -t options < <(apt_options)
  if [ -e "images/$name/essential" ]; then options+=(--essential-hook="images/$name/essential \"\$1\""); fi
  if [ -d "images/$name/rootfs" ]; then
    # The modes of a checkout depend on the umask of whoever made it.
    options+=(--customize-hook="tar -C images/$name/rootfs --owner=0 --group=0 --mode=a+rX,go-w -cf - . | tar -C \"\$1\" --no-overwrite-dir -xf -")
  fi
  if [ -e "images/$name/customize" ]; then options+=(--customize-hook="images/$name/customize \"\$1\""); fi
  # Removed at the end, not excluded from the start: the JRE's scripts fail without the directories.
  options+=(--customize-hook='rm -rf "$1"/usr/share/doc/* "$1"/usr/share/man/*/* "$1"/usr/share/locale/*')
  mmdebstrap --format=tar --variant=minbase --aptopt='APT::Install-Recommends "false"' \
    --include="$(paste -sd, "images/$name/packages")" "${options[@]}" "$suite" - "${sources[@]}"
}

root_of_etcd() { # one static binary, and the few files that a process expects
  local root=$work/etcd.root
  mkdir -p "$root"/{usr/local/bin,var/lib/etcd,etc} && install -d -m 1777 "$root/tmp"
  echo 'root:x:0:0:root:/:/sbin/nologin' > "$root/etc/passwd"
  echo 'hosts: files dns' > "$root/etc/nsswitch.conf"
  CGO_ENABLED=0 GOOS=linux go build -C images/etcd -trimpath -ldflags='-s -w' -o "$root/usr/local/bin/etcd" . &&
    tar -C "$root" --owner=0 --group=0 -cf - .
}

build() { # NAME
  local name=$1 from=$SECONDS make=root_of_packages old
  old=$(docker image inspect --format '{{.Id}}' "lockbench/$name:latest" 2>/dev/null) || old=
  [ "$name" != etcd ] || make=root_of_etcd
  # The name goes to the image only when both ends of the pipe have succeeded.
  if $make "$name" 2>"$work/$name.log" | import "$name" 2>>"$work/$name.import.log"; then
    docker tag "$(cat "$work/$name.id")" "lockbench/$name:latest"
    # The one that it replaces goes, unless a container still needs it or it has another name.
    [ -z "$old" ] || docker image rm "$old" >/dev/null 2>&1 || true
    echo "lockbench/$name: built in $((SECONDS - from)) s"
  else
    if [ -s "$work/$name.id" ]; then docker image rm -f "$(cat "$work/$name.id")" >/dev/null; fi
    echo "lockbench/$name: FAILED, the end of its log:" >&2
    tail -n 15 "$work/$name.log" "$work/$name.import.log" >&2
    return 1
  fi
}

check_docker
missing=()
for name in "${all[@]}"; do
  if has "$name"; then echo "lockbench/$name: up to date"; else missing+=("$name"); fi
done
if [ "${#missing[@]}" -eq 0 ]; then exit 0; fi
if [ "${1:-}" = --check ]; then echo "to be built: ${missing[*]}"; exit 1; fi

find_sources
check_tools "${missing[@]}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "building: ${missing[*]} (a few minutes, once)"
failed=0
for name in "${missing[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge $jobs ]; do wait -n || failed=1; done
  build "$name" &
done
while [ -n "$(jobs -p)" ]; do wait -n || failed=1; done
exit $failed
