#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# no_gloo_code.sh LIBRARY: fails where a function, table or type of Gloo is defined in it.
set -eu
nm -C --defined-only "$1" > "${TMPDIR:-/tmp}/no_gloo_code.$$"
trap 'rm -f "${TMPDIR:-/tmp}/no_gloo_code.$$"' EXIT
grep -q 'batchsweep::train::make_gloo_group' "${TMPDIR:-/tmp}/no_gloo_code.$$"
if grep -E '^[0-9a-f]+ . (vtable for |typeinfo (name )?for )?gloo::' "${TMPDIR:-/tmp}/no_gloo_code.$$"; then
  echo "Gloo's own code is compiled into $1" >&2
  exit 1
fi
