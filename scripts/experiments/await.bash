# shellcheck shell=bash
# To be sourced by an experiment's script: commands that end with it. On EXIT it calls end_child before it removes anything.

child=
trap 'exit 130' INT
trap 'exit 143' TERM

# In the background, so that a signal is not kept waiting until the command ends.
await() {
  local code=0
  "$@" &
  child=$!
  wait "$child" || code=$?
  child=
  return "$code"
}

# Whatever is running ends first and puts back what it borrowed of the node.
end_child() {
  if [ -n "$child" ]; then
    kill -TERM "$child" 2>/dev/null || true
    wait "$child" || true
  fi
}
