#!/usr/bin/env bash
# curl with its own SigV4 against a real gateway. Usage: curl_test.sh SLUICE_BINARY
# shellcheck source=tests/acceptance/gateway.sh
. "$(dirname "$0")/gateway.sh"

command -v curl >/dev/null || { echo "skipped: curl is not installed (apt-get install curl)"; exit 77; }
signed() {
  timeout 60 curl -sS --aws-sigv4 aws:amz:us-east-1:s3 -u "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" \
    -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' "$@"
}
status() { signed -o /dev/null -w '%{http_code}' "$@"; }

head -c 3000000 /dev/urandom >"$WORK/three"
[ "$(status -X PUT "$ENDPOINT/bkt")" = 200 ] || fail "create bucket"
[ "$(status -T "$WORK/three" "$ENDPOINT/bkt/a%20b")" = 200 ] || fail "put"
signed -o "$WORK/back" "$ENDPOINT/bkt/a%20b" || fail "get"
same "$WORK/three" "$WORK/back" "put and get"
[ -f "$DATA/bkt/a b" ] || fail "the object is no ordinary file"
same "$WORK/three" "$DATA/bkt/a b" "the object is an ordinary file"

signed -o "$WORK/range" -H 'Range: bytes=-100' "$ENDPOINT/bkt/a%20b" || fail "range"
cmp -s "$WORK/range" <(tail -c 100 "$WORK/three") || fail "the last 100 bytes differ"
pass "suffix range"
[ "$(status -H 'Range: bytes=3000000-' "$ENDPOINT/bkt/a%20b")" = 416 ] || fail "a range past the end"
signed "$ENDPOINT/bkt?list-type=2" | grep -q '<Key>a b</Key>' || fail "list"
pass "list"

[ "$(curl -sS -o /dev/null -w '%{http_code}' "$ENDPOINT/bkt/a%20b")" = 403 ] || fail "anonymous get"
[ "$(curl -sS -o /dev/null -w '%{http_code}' -H 'x-amz-rdma-token: 0:1:ofi1:net:00:0' "$ENDPOINT/bkt/a%20b")" = 403 ] || fail "anonymous get with a token"
curl -sS "$ENDPOINT/.well-known/s3-rdma" | grep -q '"fabrics"' || fail "discovery document"
pass "anonymous requests get the discovery document and nothing else"

[ "$(status -X DELETE "$ENDPOINT/bkt/a%20b")" = 204 ] || fail "delete"
[ "$(status "$ENDPOINT/bkt/a%20b")" = 404 ] || fail "get after delete"
[ "$(status -X DELETE "$ENDPOINT/bkt")" = 204 ] || fail "delete bucket"
pass "delete"
