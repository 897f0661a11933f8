# Shared by the install scripts: getting a system program, or saying exactly how to.

# need TEST PACKAGE...: make sure that the command TEST succeeds, by the system's package manager
# where we may use it; else print the line to run and stop.
need() {
  local probe=$1
  shift
  bash -c "$probe" >/dev/null 2>&1 && return 0
  if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    echo "installing $* …" >&2
    export DEBIAN_FRONTEND=noninteractive
    mkdir -p .cache
    # the Python and the JVM part are installed at once: one asks for system packages at a time
    flock .cache/apt.lock -c "apt-get update -qq && apt-get install -y -qq $*" >&2
    hash -r
  fi
  bash -c "$probe" >/dev/null 2>&1 && return 0
  echo "kedge needs $* on this machine. Run this, then the same make again:" >&2
  echo "    sudo apt-get install $*" >&2
  exit 2
}
