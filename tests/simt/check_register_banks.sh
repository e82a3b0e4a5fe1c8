#!/usr/bin/env bash
# usage: check_register_banks.sh OBJECT FFMAS LIMIT    returns 77 (skipped) without a disassembler; see check_register_banks.py
set -u
here=$(dirname "$0")
tools=$("$here/../../scripts/find-sass-tools") || {
  echo "SKIPPED: no cuobjdump and nvdisasm (pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm)"
  exit 77
}
sass=$(mktemp)
trap 'rm -f "$sass"' EXIT
PATH="$tools:$PATH" cuobjdump -arch sm_90a -sass "$1" >"$sass"
python3 "$here/check_register_banks.py" "$sass" "$2" "$3"
