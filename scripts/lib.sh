# SPDX-License-Identifier: Apache-2.0
# Shared by the scripts beside it: where things are, how they speak. Sourced, never run.

set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
DEPS=$ROOT/.deps
TORCH_VERSION=2.11.0
TORCHVISION_VERSION=0.26.0    # the parity tests compare with these
TRANSFORMERS_VERSION=5.24.0
START=$SECONDS

say() { printf '[%s %3ds] %s\n' "$(basename "$0")" "$((SECONDS - START))" "$*" >&2; }
warn() { say "warning: $*"; }
die() { say "error: $*"; exit 1; }

# Debian's own Python before any other in PATH: python3-venv, h5py and pandas belong to it.
PYTHON=python3
[ -x /usr/bin/python3 ] && PYTHON=/usr/bin/python3

has_nvidia_driver() { [ -e /proc/driver/nvidia/version ] || nvidia-smi -L >/dev/null 2>&1; }

# Sets FLAVOUR to cpu or cuda and leaves the other arguments in REST.
parse_flavour() {
  FLAVOUR='' REST=()
  for argument in "$@"; do
    case $argument in
      --cpu) FLAVOUR=cpu ;;
      --cuda) FLAVOUR=cuda ;;
      *) REST+=("$argument") ;;
    esac
  done
  if [ -z "$FLAVOUR" ]; then
    if has_nvidia_driver; then FLAVOUR=cuda; else FLAVOUR=cpu; fi
  fi
  BUILD=$ROOT/build/$FLAVOUR
}

# mpirun refuses root unless told twice, and refuses more ranks than cores unless told so.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
