#include "gateway/reply.h"

#include <utility>

#include "base/metrics.h"
#include "base/time.h"
#include "s3/errors.h"
#include "s3/headers.h"
#include "s3/rdma_headers.h"

namespace sluice::gateway {
namespace {

constexpr std::string_view kServerName = "sluice";

}  // namespace

std::string Request::resource() const {
  // As it came: percent-encoded, so nothing in it can break the log or the XML.
  const std::string& raw = exchange.request().target;
  return raw.substr(0, raw.find('?'));
}

http::ResponseHead make_head(Request& request, int status) {
  request.status = status;
  http::ResponseHead head;
  head.status = status;
  head.headers.add(s3::header::kRequestId, request.id);
  head.headers.add(s3::header::kDate, format_http_date(WallClock::now()));
  head.headers.add(s3::header::kServer, std::string(kServerName));
  return head;
}

Task<Result<void>> reply(Request& request, http::ResponseHead head) {
  co_return co_await request.exchange.respond(std::move(head), std::string());
}

Task<Result<void>> reply_xml(Request& request, http::ResponseHead head, std::string xml) {
  head.headers.set(s3::header::kContentType, "application/xml");
  co_return co_await request.exchange.respond(std::move(head), std::move(xml));
}

Task<Result<void>> reply_error(Request& request, Error error, HeaderList extra) {
  request.failure = error.describe();
  if (request.exchange.response_started()) {
    request.exchange.close_after_response();
    co_return Result<void>{};
  }
  const s3::S3Error as_s3 = s3::to_s3_error(error, request.resource(), request.id);
  http::ResponseHead head = make_head(request, as_s3.http_status);
  for (const Header& field : as_s3.headers) head.headers.set(field.name, field.value);
  for (const Header& field : extra) head.headers.set(field.name, field.value);
  std::string body;
  if (request.exchange.request().method != "HEAD") body = s3::to_xml(as_s3);
  if (!body.empty()) head.headers.set(s3::header::kContentType, "application/xml");
  co_return co_await request.exchange.respond(std::move(head), std::move(body));
}

Task<Result<void>> reply_put_declined(Request& request) {
  s3::S3Error why = s3::to_s3_error(s3::make_error("RDMANotSupported"), request.resource(), request.id);
  http::ResponseHead head = make_head(request, 200);
  s3::add_rdma_declined(head.headers);
  std::string xml = s3::to_xml(why);
  co_return co_await reply_xml(request, std::move(head), std::move(xml));
}

Error transfer_failed(const Error& cause) {
  return s3::make_error("RDMATransferFailed",
                        "The RDMA transfer failed: " + std::string(to_string(cause.code())) + ".")
      .with_context(cause.describe());
}

void note_declined(Request& request, std::string_view reason) {
  request.declined = reason;
  metrics::counter("sluice_gateway_rdma_declined_total{reason=\"" + std::string(reason) + "\"}").add();
}

}  // namespace sluice::gateway
