# Sourced by the acceptance tests: starts a gateway on a temporary directory and cleans up behind it.
# Gives: SLUICE (the binary), ENDPOINT, DATA, WORK, and AWS credentials in the environment.
# shellcheck shell=bash
set -euo pipefail

SLUICE=${1:?usage: $0 SLUICE_BINARY}
WORK=$(mktemp -d)
DATA=$WORK/data
mkdir "$DATA"
GATEWAY_PID=

cleanup() {
  if [ -n "$GATEWAY_PID" ]; then
    kill "$GATEWAY_PID" 2>/dev/null || true
    for _ in $(seq 100); do kill -0 "$GATEWAY_PID" 2>/dev/null || break; sleep 0.1; done
    kill -9 "$GATEWAY_PID" 2>/dev/null || true
  fi
  rm -rf "$WORK"
}
trap cleanup EXIT

fail() { printf 'FAILED: %s\n' "$*" >&2; tail -n 20 "$WORK/gateway.log" >&2; exit 1; }
pass() { printf 'ok: %s\n' "$*"; }
# same A B WHAT: two files hold the same bytes.
same() { cmp -s "$1" "$2" || fail "$3: the bytes differ"; pass "$3"; }

export AWS_ACCESS_KEY_ID=acceptance AWS_SECRET_ACCESS_KEY=acceptance-secret AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1
export AWS_EC2_METADATA_DISABLED=true AWS_CONFIG_FILE=$WORK/none AWS_SHARED_CREDENTIALS_FILE=$WORK/none
unset AWS_PROFILE AWS_SESSION_TOKEN AWS_CA_BUNDLE AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3

"$SLUICE" serve "$DATA" --listen 127.0.0.1:0 --ready-file "$WORK/ready" --fsync none >"$WORK/gateway.log" 2>&1 &
GATEWAY_PID=$!
for _ in $(seq 300); do [ -f "$WORK/ready" ] && break; kill -0 "$GATEWAY_PID" 2>/dev/null || fail "the gateway does not start"; sleep 0.1; done
[ -f "$WORK/ready" ] || fail "the gateway is not ready after 30 s"
ENDPOINT=$(sed -n 's/.*"endpoint":"\([^"]*\)".*/\1/p' "$WORK/ready")
export AWS_ENDPOINT_URL=$ENDPOINT
