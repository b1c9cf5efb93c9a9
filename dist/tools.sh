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
