# Functions for the scripts of this folder. To be sourced in the root of the repository, after
# tests/steps.sh.

# tool NAME: the commands of the Python packages of dist/requirements/NAME.txt, in a virtual
# environment, come first on the PATH.
tool() {
  virtual_environment "target/dist/tools/$1" "dist/requirements/$1.txt"
  PATH=$PWD/target/dist/tools/$1/bin:$PATH
}

# has_std TARGET: whether the toolchain has the standard library of that target, or rustup adds it.
has_std() {
  local sysroot
  sysroot=$(rustc --print sysroot) || return
  [ -d "$sysroot/lib/rustlib/$1/lib" ] && return
  command -v rustup >/dev/null && rustup target add "$1" >/dev/null 2>&1
}

# emulate TARGET: installs what starts programs of that target here: wine, or qemu, with which Linux then starts
# those of another processor by itself (binfmt_misc). Those for glibc find its libraries, which Debian has for each
# processor; Node needs libstdc++.
emulate() {
  local machine=${1%%-*} formats=/proc/sys/fs/binfmt_misc
  if [[ $1 == *-windows-* ]]; then
    need wine wine wine64
    return
  fi
  [ "$machine" != "$(uname -m)" ] || return 0
  need "qemu-$machine-static" qemu-user-static || return
  newer_qemu "qemu-$machine-static" || return
  [ -e "$formats/register" ] || mount -t binfmt_misc binfmt_misc "$formats" || return
  # Linux has opened the qemu that it was told of, which may be an older one.
  [ ! -e "$formats/qemu-$machine" ] || echo -1 >"$formats/qemu-$machine" || return
  cat "/usr/lib/binfmt.d/qemu-$machine.conf" >"$formats/register" || return
  [[ $1 == aarch64-* ]] || return 0
  # For what is linked to it; Node.js is, which starts the npm package of either library.
  dpkg --add-architecture arm64 || return
  need /lib/ld-linux-aarch64.so.1 libc6:arm64 libgcc-s1:arm64 libstdc++6:arm64
}

# newer_qemu COMMAND: installs that of the backports in place of one before 8.1, which goes through each page of the
# terabytes that the server reserves: half a minute at each start.
newer_qemu() {
  local version backports sources=/etc/apt/sources.list.d
  version=$("$1" --version | sed -nE 's/.*version ([0-9.]+).*/\1/p') || return
  printf '8.1\n%s\n' "$version" | sort --version-sort --check=quiet && return
  backports=$(. /etc/os-release && echo "$VERSION_CODENAME-backports")
  sed "/^$/q; s/^Suites:.*/Suites: $backports/" "$sources/debian.sources" >"$sources/$backports.sources" &&
    apt-get update -qq &&
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -t "$backports" qemu-user-static
}
