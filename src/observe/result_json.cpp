// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "rnic/observe/run_directory.h"

namespace rnic {
namespace {

nlohmann::json key_json(const std::string& key, const Profile& p) {
  nlohmann::json j{{"key", key}};
  const auto it = p.entries().find(key);
  if (it == p.entries().end()) return j;
  const KeyValue& v = it->second;
  if (const auto* number = std::get_if<double>(&v.value)) j["value"] = *number;
  if (const auto* text = std::get_if<std::string>(&v.value)) j["value"] = *text;
  for (const KeyInfo& k : profile_schema()) {
    if (k.name == key) j["unit"] = k.unit;
  }
  j["kind"] = v.kind;
  j["source"] = v.source;
  return j;
}

double ns(uint64_t ps) { return static_cast<double>(ps) / 1000; }

template <class T>
nlohmann::json or_null(const std::optional<T>& v) {
  return v ? nlohmann::json(*v) : nlohmann::json();
}

}  // namespace

nlohmann::json to_json(const StageTable& t, const Profile& p) {
  nlohmann::json j{{"nic", t.nic},
                   {"qpn", t.qpn},
                   {"wqe", t.wqe},
                   {"store_ps", or_null(t.store_ps)},
                   {"t0_ps", t.t0_ps},
                   {"first_bit_ps", t.first_bit_ps},
                   {"last_bit_ps", t.last_bit_ps},
                   {"cqe_issued_ps", or_null(t.cqe_issued_ps)},
                   {"cqe_visible_ps", or_null(t.cqe_visible_ps)},
                   {"doorbell_to_mac_ns", ns(t.first_bit_ps - t.t0_ps)},
                   {"doorbell_to_last_bit_ns", ns(t.last_bit_ps - t.t0_ps)},
                   {"stages", nlohmann::json::array()}};
  for (const Stage& s : t.stages) {
    nlohmann::json js{
        {"name", s.name},
        {"start_ps", s.start_ps},
        {"end_ps", s.end_ps},
        {"start_ns", ns(s.start_ps - t.t0_ps)},
        {"end_ns", ns(s.end_ps - t.t0_ps)},
        {"duration_ns", ns(s.duration_ps())},
        {"start_cycle", s.start_cycle},
        {"end_cycle", s.end_cycle},
        {"rtl_ns", ns(s.share_ps(Share::kRtl))},
        {"align_ns", ns(s.share_ps(Share::kAlign))},
        {"model_ns", ns(s.share_ps(Share::kModel))},
        {"link_ns", ns(s.share_ps(Share::kLink))},
        {"budget_ns", s.budget_ns > 0 ? nlohmann::json(s.budget_ns) : nlohmann::json()},
        {"gap_ns", s.budget_ns > 0 ? nlohmann::json(ns(s.duration_ps()) - s.budget_ns) : nlohmann::json()},
        {"extra_cycles", s.extra_cycles},
        {"budget_start_ns", s.budget_start_ns},
        {"budget_end_ns", s.budget_end_ns},
        {"parts", nlohmann::json::array()}};
    for (const StagePart& x : s.parts) {
      nlohmann::json keys = nlohmann::json::array();
      for (const std::string& k : x.keys) keys.push_back(key_json(k, p));
      js["parts"].push_back({{"what", x.what},
                             {"share", to_string(x.share)},
                             {"start_ps", x.start_ps},
                             {"end_ps", x.end_ps},
                             {"duration_ns", ns(x.end_ps - x.start_ps)},
                             {"keys", std::move(keys)}});
    }
    j["stages"].push_back(std::move(js));
  }
  return j;
}

}  // namespace rnic
