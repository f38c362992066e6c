#!/usr/bin/env bash
# Debian's awscli against a real gateway, and what it wrote read back by RDMA. Usage: awscli_test.sh SLUICE_BINARY
# shellcheck source=tests/acceptance/gateway.sh
. "$(dirname "$0")/gateway.sh"

AWS=/usr/bin/aws # Debian's: another one on PATH may need other defaults
[ -x "$AWS" ] || { echo "skipped: Debian's awscli is not installed (apt-get install awscli)"; exit 77; }
aws() { timeout 120 "$AWS" --endpoint-url "$ENDPOINT" --no-cli-pager "$@"; }

head -c 1048577 /dev/urandom >"$WORK/one"
head -c 6000000 /dev/urandom >"$WORK/six"
: >"$WORK/empty"

aws s3 mb s3://bkt >/dev/null || fail "mb"
aws s3 ls | grep -q ' bkt$' || fail "the bucket is not listed"
pass "mb and ls"

for name in one six empty; do
  aws s3 cp --quiet "$WORK/$name" "s3://bkt/dir/$name" || fail "cp up $name"
  aws s3 cp --quiet "s3://bkt/dir/$name" "$WORK/$name.back" || fail "cp down $name"
  same "$WORK/$name" "$WORK/$name.back" "cp there and back: $name"
done

timeout 60 "$SLUICE" cp --data-path require --json s3://bkt/dir/six "$WORK/six.rdma" >"$WORK/json" || fail "RDMA get of what awscli wrote"
grep -q '"data_path":"rdma"' "$WORK/json" || fail "not by RDMA: $(cat "$WORK/json")"
same "$WORK/six" "$WORK/six.rdma" "what awscli wrote, read by RDMA"
timeout 60 "$SLUICE" cp --data-path require --quiet "$WORK/one" s3://bkt/by-rdma || fail "RDMA put"
aws s3 cp --quiet s3://bkt/by-rdma "$WORK/one.aws" || fail "awscli get of what RDMA wrote"
same "$WORK/one" "$WORK/one.aws" "what RDMA wrote, read by awscli"

aws s3api get-object --bucket bkt --key dir/six --range bytes=1000-2999 "$WORK/range" >/dev/null || fail "ranged get"
cmp -s "$WORK/range" <(tail -c +1001 "$WORK/six" | head -c 2000) || fail "the range has other bytes"
pass "ranged get"

aws s3api put-object --bucket bkt --key meta --body "$WORK/one" --metadata colour=green --content-type text/x-test >/dev/null || fail "put with metadata"
aws s3api head-object --bucket bkt --key meta >"$WORK/head" || fail "head"
grep -q '"colour": "green"' "$WORK/head" || fail "user metadata is lost"
grep -q 'text/x-test' "$WORK/head" || fail "the content type is lost"
pass "metadata and content type"

mkdir "$WORK/many"
for i in $(seq 1 12); do echo "$i" >"$WORK/many/k$i"; done
aws s3 cp --quiet --recursive "$WORK/many" s3://bkt/many/ || fail "cp --recursive"
# One line per page of five.
aws s3api list-objects-v2 --bucket bkt --prefix many/ --page-size 5 --query 'Contents[].Key' --output text | tr '\t' '\n' | sort -u >"$WORK/keys"
[ "$(wc -l <"$WORK/keys")" = 12 ] || fail "a listing in pages of 5 has $(wc -l <"$WORK/keys") of 12 keys"
pass "listing in pages"

if aws s3api get-object --bucket bkt --key nothing "$WORK/nothing" 2>"$WORK/error"; then fail "a missing key was got"; fi
grep -q NoSuchKey "$WORK/error" || fail "a missing key is no NoSuchKey: $(cat "$WORK/error")"
if AWS_SECRET_ACCESS_KEY=wrong aws s3 ls s3://bkt 2>"$WORK/error"; then fail "a wrong secret was accepted"; fi
grep -q SignatureDoesNotMatch "$WORK/error" || fail "a wrong secret: $(cat "$WORK/error")"
if aws s3 rb s3://bkt 2>"$WORK/error"; then fail "a full bucket was removed"; fi
grep -q BucketNotEmpty "$WORK/error" || fail "a full bucket: $(cat "$WORK/error")"
pass "errors by their S3 names"

aws s3 rm --quiet --recursive s3://bkt || fail "rm --recursive"
aws s3 rb s3://bkt >/dev/null || fail "rb"
pass "rm and rb"
