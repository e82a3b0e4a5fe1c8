#!/usr/bin/env bash
# Compiles FILE and fails unless the compiler refuses it with the message on the file's line "// expect: ...".
# usage: check_refused.sh FILE COMPILER [FLAG...]
set -u
file=$1
shift
expected=$(sed -n 's,^// expect: ,,p' "$file")
if output=$("$@" -fsyntax-only "$file" 2>&1); then
  echo "compiled, but must not: $file"
  exit 1
fi
grep -qF -- "$expected" <<<"$output" && exit 0
echo "expected: $expected"
echo "$output"
exit 1
