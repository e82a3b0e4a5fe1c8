#!/usr/bin/env bash
# The machine code of one FP32 GEMM kernel: nothing in local memory, and as many multiplications and 128-bit loads of
# operands as its formula has.
# usage: check_simt_sass.sh OBJECT FFMAS LOADS [INSTRUCTION|PTX:TARGET...]    returns 77 (skipped) without a disassembler
#   INSTRUCTION: must occur; PTX:TARGET: PTX for that architecture is embedded
set -u
object=$1 ffmas=$2 loads=$3
shift 3
tools=$("$(dirname "$0")/../../scripts/find-sass-tools") || {
  echo "SKIPPED: no cuobjdump and nvdisasm (pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm)"
  exit 77
}
export PATH="$tools:$PATH"
sass=$(cuobjdump -arch sm_90a -sass "$object" | awk '/Function :/ { inside = /simt_gemm/ } inside')
[ -n "$sass" ] || { echo "no simt_gemm in $object"; exit 1; }
bad=0
expect() { # what, found, wanted
  echo "$2 x $1, expected $3"
  [ "$2" -eq "$3" ] || bad=1
}
expect FFMA "$(grep -cE '\bFFMA\b' <<<"$sass")" "$ffmas"
expect LDS.128 "$(grep -cE '\bLDS\.128\b' <<<"$sass")" "$loads"
expect "LDL or STL" "$(grep -cE '\b(LDL|STL)\b' <<<"$sass")" 0
expect "tensor core instruction" "$(grep -cE "\b(HMMA|IMMA|QMMA|HGMMA|QGMMA|IGMMA)\." <<<"$sass")" 0
for wanted in "$@"; do
  case $wanted in
    PTX:*) count=$(cuobjdump -lptx "$object" 2>/dev/null | grep -c "${wanted#PTX:}\.ptx") ;;
    *) count=$(grep -cE "\b$wanted\b" <<<"$sass") ;;
  esac
  echo "$count x $wanted"
  [ "$count" -gt 0 ] || bad=1
done
exit $bad
