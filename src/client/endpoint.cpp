#include "client/endpoint.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "base/try.h"
#include "client/engine.h"
#include "client/request.h"

namespace sluice::client {

Task<Result<void>> Endpoint::discover(std::shared_ptr<Engine> engine, Deadline deadline) {
  if (asked_ && !ask_again_.expired()) co_return Result<void>{};
  if (wanted_.empty()) {
    asked_ = true;
    unavailable_ = "RDMA is turned off (fabric 'none')";
    co_return Result<void>{};
  }
  SmallRequest request;
  request.method = "GET";
  request.raw_target = s3::kDiscoveryTarget;
  request.context = "asking " + engine->url().to_string() + " for its fabrics";
  request.sign = false;  // the document is unauthenticated: a hint
  auto reply = co_await exchange(engine, std::move(request), limits::kErrorBodyBytes, deadline);
  if (!reply) {
    // Nobody there, or no answer: that is the caller's error, not a property of the endpoint.
    if (reply.error().s3().http_status == 0) co_return std::move(reply).error();
    document_.reset();
    candidates_.clear();
    unavailable_ = "the endpoint does not answer " + std::string(s3::kDiscoveryTarget) + " (HTTP " +
                   std::to_string(reply.error().s3().http_status) + "), so no common fabric is known";
    asked_ = true;
    ask_again_ = Deadline::after(limits::kFabricRetry);
    co_return Result<void>{};
  }
  auto document = s3::parse_discovery(reply->body);
  asked_ = true;
  if (!document) {
    document_.reset();
    candidates_.clear();
    unavailable_ = document.error().describe();
    ask_again_ = Deadline::after(limits::kFabricRetry);
    co_return Result<void>{};
  }
  document_ = std::move(*document);
  match();
  ask_again_ = candidates_.empty() ? Deadline::after(limits::kFabricRetry) : Deadline::never();
  co_return Result<void>{};
}

void Endpoint::match() {
  std::vector<Candidate> matched;
  std::string reasons;
  const auto note = [&](const std::string& reason) { reasons += (reasons.empty() ? "" : "; ") + reason; };
  for (const auto& name : wanted_) {
    auto opened = open_fabric_(name);
    if (!opened) {
      note(name + ": " + opened.error().describe());
      continue;
    }
    const auto& identity = (*opened)->identity();
    const bool common =
        std::any_of(document_->fabrics.begin(), document_->fabrics.end(),
                    [&](const auto& theirs) { return theirs.wire_protocol == identity.wire_protocol; });
    if (!common) {
      note("the endpoint does not have " + identity.name);
      continue;
    }
    const bool known =
        std::any_of(matched.begin(), matched.end(), [&](const auto& c) { return c.fabric == *opened; });
    if (known) continue;
    Candidate candidate;
    candidate.fabric = std::move(*opened);
    matched.push_back(std::move(candidate));
  }
  if (document_->fabrics.empty()) note("the endpoint has no fabric");
  candidates_ = std::move(matched);
  unavailable_ = candidates_.empty() ? reasons : std::string();
}

std::shared_ptr<fabric::ClientFabric> Endpoint::fabric() const {
  for (const auto& candidate : candidates_) {
    if (candidate.usable_from.expired()) return candidate.fabric;
  }
  return nullptr;
}

std::string Endpoint::unavailable() const {
  if (!unavailable_.empty()) return unavailable_;
  std::string text;
  for (const auto& candidate : candidates_) {
    if (candidate.usable_from.expired()) continue;
    text += (text.empty() ? "" : "; ") + candidate.fabric->identity().name +
            " failed lately: " + candidate.failure;
  }
  return text;
}

fabric::LeaseTerms Endpoint::lease() const {
  fabric::LeaseTerms terms;
  if (!document_) return terms;
  if (document_->lease.count() > 0) terms.lease = document_->lease;
  if (document_->drain.count() > 0) terms.drain = document_->drain;
  terms.min_bytes_per_second = document_->lease_min_bytes_per_second;
  return terms;
}

std::uint64_t Endpoint::max_window_bytes() const {
  std::uint64_t bytes = limits::kWindowBytes;
  if (document_ && document_->max_window_bytes > 0) bytes = std::min(bytes, document_->max_window_bytes);
  return bytes;
}

void Endpoint::mark_failed(const fabric::ClientFabric& fabric, std::string reason) {
  for (auto& candidate : candidates_) {
    if (candidate.fabric.get() != &fabric) continue;
    candidate.usable_from = Deadline::after(limits::kFabricRetry);
    candidate.failure = std::move(reason);
    return;
  }
}

EndpointReport Endpoint::report() const {
  EndpointReport report;
  report.discovered = document_.has_value();
  report.rdma_unavailable = unavailable();
  for (const auto& candidate : candidates_) report.fabrics.push_back(candidate.fabric->identity().name);
  const auto terms = lease();
  report.lease = terms.lease;
  report.drain = terms.drain;
  report.max_window_bytes = max_window_bytes();
  if (document_) report.instance_id = document_->instance_id;
  return report;
}

}  // namespace sluice::client
