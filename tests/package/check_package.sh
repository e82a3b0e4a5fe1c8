#!/usr/bin/env bash
# Configures, builds and runs the project beside this file against the library, and fails if that does.
# usage: check_package.sh found CMAKE CXX BUILD [OPTION...]      find_package in the build folder BUILD
#        check_package.sh installed CMAKE CXX BUILD [OPTION...]  find_package in a prefix where BUILD is installed
#        check_package.sh part CMAKE CXX SOURCE [OPTION...]      add_subdirectory(SOURCE): what its targets are
set -eu
way=$1 cmake=$2 compiler=$3 library=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
configure() {
  "$cmake" -G Ninja -S "$(dirname "$0")/project" -B "$work/build" -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_BUILD_TYPE=Release -Wno-dev "$@" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
}
case $way in
  part)
    # Nothing but the library: not what only programs and tests of ours need, and none of those in `all`.
    configure -DTILEWRIGHT_SOURCE="$library" -DCMAKE_DISABLE_FIND_PACKAGE_{CLI11,fmt,nlohmann_json,GTest}=ON "$@"
    targets=$("$cmake" --build "$work/build" --target help)
    grep -q '^tilewright:' <<<"$targets" || { echo "no target tilewright"; exit 1; }
    if grep -E '^(tilewright_cli|example_[a-z]+|[a-z_]+_tests):' <<<"$targets"; then
      echo "the targets above are ours alone"
      exit 1
    fi
    exit 0
    ;;
  installed)
    "$cmake" --install "$library" --component library --prefix "$work/prefix" >"$work/log" || { cat "$work/log"; exit 1; }
    configure -DCMAKE_PREFIX_PATH="$work/prefix" "$@"
    if grep -rlF "$library" "$work/prefix/lib"*/cmake "$work/prefix/include"; then
      echo "the installed files above name the build folder"
      exit 1
    fi
    ;;
  found) configure -Dtilewright_DIR="$library" "$@" ;;
esac
"$cmake" --build "$work/build" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
for program in product kernel; do
  "$work/build/$program" || { echo "$program failed"; exit 1; }
done
