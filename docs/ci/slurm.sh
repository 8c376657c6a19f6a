#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Slurm: a regression as an array job on a shared file system, and a job that reports when all its parts have ended.
#
#   docs/ci/slurm.sh PLAN.toml [PARTS]        submits both
#
# A part that hits its time limit or is preempted gets SIGTERM, keeps what has finished, and goes on when it is started
# again: --resume begins where it stopped.
set -euo pipefail

if [ -z "${SLURM_ARRAY_TASK_ID:-}" ]; then
  plan=${1:?plan} parts=${2:-8}
  out=out/regress/$(basename "$plan" .toml)
  mkdir -p "$out"
  job=$(sbatch --parsable --array="1-$parts" --cpus-per-task=4 --time=2:00:00 --requeue --signal=B:TERM@60 \
    --output="$out/slurm-%a.txt" "$0" "$plan" "$parts")
  # afterany: failures are what the report is for
  exec sbatch --dependency="afterany:$job" --output="$out/slurm-report.txt" --wrap \
    "rnicsim regress merge $(printf "$out/part-%s " $(seq 1 "$parts")) -o '$out/all' --fresh --history '$out/history'"
fi

plan=$1 parts=$2
# exec: the signal of the time limit reaches rnicsim itself
exec rnicsim regress "$plan" --shard "$SLURM_ARRAY_TASK_ID/$parts" --jobs "${SLURM_CPUS_PER_TASK:-1}" --resume \
  -o "out/regress/$(basename "$plan" .toml)/part-$SLURM_ARRAY_TASK_ID"
