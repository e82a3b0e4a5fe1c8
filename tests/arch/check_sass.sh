#!/usr/bin/env bash
# Disassembles an object file and fails when one of the instructions (extended regular expressions) is not in it.
# usage: check_sass.sh OBJECT INSTRUCTION...      returns 77, which CTest counts as skipped, without a disassembler
set -u
object=$1
shift
tools=$("$(dirname "$0")/../../scripts/find-sass-tools") || {
  echo "SKIPPED: no cuobjdump and nvdisasm (pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm)"
  exit 77
}
sass=$(PATH="$tools:$PATH" cuobjdump -sass "$object") || exit 1
missing=0
for instruction in "$@"; do
  count=$(grep -cE "\b$instruction" <<<"$sass")
  echo "$count x $instruction"
  [ "$count" -gt 0 ] || missing=1
done
exit $missing
