#!/usr/bin/env bash
# What scripts/gpu-suite makes of the programs it runs, with programs that only act: REFUSES, FAILS, FAILING_TESTS and
# SKIPPED_TESTS are patterns of the command lines, or names of the tests, that do so. RULE is what refuses; empty: it is an
# error of usage.
# usage: gpu_suite_test.sh SCRIPT
set -u
script=$1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
bin=$folder/bin
mkdir "$bin"

cat >"$bin/tilewright" <<'END'
#!/usr/bin/env bash
line="$*"
if [[ $line =~ ${FAILS:-^$} ]]; then echo "it failed" >&2; exit 1; fi
if [[ $line =~ ${REFUSES:-^$} ]]; then
  rule=${RULE-device.gpu}
  [[ $line == *--json* ]] && echo "{\"error\": {\"rule\": \"$rule\"}, \"pass\": false}"
  echo "tilewright: why it is refused, [1, 2]${rule:+ [$rule]}" >&2
  exit 2
fi
while [ $# -gt 0 ]; do
  if [ "$1" = --out ]; then echo '{"entries": []}' >"$2"; fi
  shift
done
if [[ $line == *--json* ]]; then echo '{"pass": true}'; else echo "ran $line"; fi
END
for name in gpu_tests other_gpu_tests; do
  cat >"$bin/$name" <<'END'
#!/usr/bin/env bash
name=$(basename "$0")
result=COMPLETED
[[ $name =~ ${SKIPPED_TESTS:-^$} ]] && result=SKIPPED
printf '{"testsuites": [\n{"result": "%s"}]}\n' "$result" >"${1#--gtest_output=json:}"
! [[ $name =~ ${FAILING_TESTS:-^$} ]]
END
done
cat >"$bin/example_gpu_block_scaled" <<'END'
#!/usr/bin/env bash
exit "${EXAMPLE:-0}"
END
chmod +x "$bin"/*

wrong=0
complain() {
  echo "$1: $2"
  sed 's/^/    /' "$folder/printed"
  wrong=1
}
# suite STATUS NAME=VALUE...: runs the script so and expects it to end so, with a whole report.
suite() {
  local expected=$1 found
  shift
  case="$*"
  env "$@" "$script" "$bin" "$folder/result.json" --rounds 1 >"$folder/printed" 2>&1
  found=$?
  [ "$found" = "$expected" ] || complain "$case" "exit status $found instead of $expected"
  if command -v python3 >/dev/null && ! python3 -m json.tool "$folder/result.json" >/dev/null; then
    complain "$case" "the result is not JSON"
  fi
}
says() { grep -qF -- "$1" "$folder/printed" || complain "$case" "does not say '$1'"; }
never_says() { ! grep -qF -- "$1" "$folder/printed" || complain "$case" "says '$1'"; }
reports() { grep -qF -- "$1" "$folder/result.json" || complain "$case" "does not report '$1'"; }

hopper='--overlap both'
blackwell='^bench --commit [^ ]* --out [^ ]* --rounds|(dtype|bench.*dtype) (e4m3|e5m2|bf16|f16|tf32|s8|f64) '
table='ran gemm --device gpu --dtype nvfp4 --overlap both --scheduler static --skip_ref_check'

suite 0 REFUSES="$hopper" RULE=option.overlap
never_says FAILED
never_says "$table"
never_says "refused: tilewright"
says "why it is refused"
says "gpu-suite: gpu_tests: 1 run, 0 skipped"
reports '"tests": "passed"'
reports '"nvfp4": {"checked": {"pass": true}, "timed": {"pass": true}, "clc_checked": null, "clc_timed": null}'

suite 0 REFUSES="$blackwell" SKIPPED_TESTS='^gpu_tests'
never_says FAILED
says "$table"
says "${table/static/clc}"
says "gpu-suite: gpu_tests: 0 run, 1 skipped"
says "refused: tilewright bench --commit"
says "refused: tilewright gemm --json --device gpu --dtype e4m3"
never_says "refused: tilewright gemm --json --device gpu --dtype f32"
reports '"e4m3": {"error": {"rule": "device.gpu"}, "pass": false}'
reports '"clc_checked": {"pass": true}'

suite 0 REFUSES='mxfp4.*--skip' RULE=block_scaled.device
says "refused by block_scaled.device"
# Other rules, and errors of usage, on the machine that has kernels for them.
for command in 'bench .*--rounds' 'bench .*nvfp4' 'gemm .*e4m3' 'mxfp4.*--init' 'clc.*--skip'; do
  for rule in block_scaled.options option.overlap ''; do
    suite 1 REFUSES="$command" RULE="$rule"
    says "FAILED: tilewright"
    says "(exit status 2${rule:+, $rule})"
    never_says "refused: tilewright"
  done
done
# Asked whether there is tensor memory.
probe='mxfp8 --M 256.*--overlap both'
suite 0 REFUSES="$probe"
never_says "$table"
for rule in block_scaled.multiprocessors option.dtype ''; do
  suite 1 REFUSES="$probe" RULE="$rule"
  says "FAILED: tilewright gemm --json --device gpu --dtype mxfp8 --M 256"
  says "$table"
done
suite 1 FAILS="$probe"
says "FAILED: tilewright gemm --json --device gpu --dtype mxfp8 --M 256"

suite 0 EXAMPLE=77
suite 1 EXAMPLE=1
suite 1 FAILING_TESTS='^other_gpu_tests'
says "FAILED: other_gpu_tests"
reports '"tests": "failed"'
# Whatever the command line is used for.
for command in 'bench .*--rounds' 'bench .*nvfp4' 'gemm .*e5m2' 'mxfp4.*--init' 'mxfp4.*--json.*--skip' 'clc.*--init' \
  'clc.*--skip' 'static --skip'; do
  suite 1 FAILS="$command"
  says "it failed"
  says "FAILED: tilewright"
done
# No GPU.
suite 1 REFUSES=. SKIPPED_TESTS=.
says "no command has run"
reports '"tests": "skipped"'
rm "$bin"/*gpu_tests
suite 1
says "no tests"
exit $wrong
