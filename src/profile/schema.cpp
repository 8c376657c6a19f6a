// SPDX-License-Identifier: Apache-2.0
// The list of all keys that a profile has. Every profile sets every one of them.
#include <algorithm>

#include "rnic/profile/profile.h"

namespace rnic {
namespace {

constexpr double kNsMax = 1e6;

KeyInfo ns(const char* name, const char* help) { return {name, "ns", 0, kNsMax, {}, false, help}; }

KeyInfo number(const char* name, const char* unit, double min, double max, const char* help) {
  return {name, unit, min, max, {}, false, help};
}

KeyInfo one_of(const char* name, const char* unit, std::vector<std::string> choices, const char* help) {
  const double min = std::stod(choices.front()), max = std::stod(choices.back());
  return {name, unit, min, max, std::move(choices), false, help};
}

KeyInfo built(const char* name, const char* unit, double max, const char* help) {
  return {name, unit, 1, max, {}, true, help};
}

std::vector<KeyInfo> make_schema() {
  return {
      number("clock.core_period", "ps", 100, 100000, "period of the NIC's core clock"),

      one_of("pcie.generation", "1", {"1", "2", "3", "4", "5"}, "PCIe generation of both links"),
      one_of("pcie.lanes", "1", {"1", "2", "4", "8", "16"}, "lanes of both links"),
      one_of("pcie.mps", "B", {"128", "256", "512", "1024", "2048", "4096"}, "largest TLP payload (MPS)"),
      one_of("pcie.mrrs", "B", {"128", "256", "512", "1024", "2048", "4096"}, "largest read request (MRRS)"),
      one_of("pcie.rcb", "B", {"64", "128"}, "read completion boundary"),
      one_of("pcie.tag_bits", "1", {"5", "8", "10"}, "bits of the NIC's read tags, which the driver enables"),
      ns("pcie.nic_link_latency", "NIC link, one way: transmitting and receiving PHY, data link layer, flight"),
      ns("pcie.gpu_link_latency", "GPU link, one way: transmitting and receiving PHY, data link layer, flight"),
      ns("pcie.hub_peer_latency", "forwarding between NIC and GPU"),
      ns("pcie.hub_host_latency", "root complex, one way: NIC or GPU to host memory or CPU"),
      number("pcie.ph_credits", "1", 0, 127, "posted header credits; 0 in ph or pd: posted writes have no limit"),
      number("pcie.pd_credits", "1", 0, 2047, "posted data credits of 16 B; 0 in ph or pd: no limit, else at least 4"),
      number("pcie.nph_credits", "1", 0, 127, "non-posted header credits; 0: no limit"),

      ns("gpu.read_latency", "GPU memory behind its BAR: read request arrived to data ready"),
      ns("gpu.mmio_latency", "GPU's store instruction to its TLP leaving the GPU"),

      ns("host.read_latency", "host memory: read request arrived to data ready"),
      ns("host.write_latency", "host memory: write arrived to visible"),
      ns("host.mmio_latency", "CPU's store instruction to its TLP leaving for the root complex"),
      ns("host.store_gap", "between two write-combined 64 B stores of the CPU"),
      ns("host.post_cost", "CPU builds a WQE"),
      ns("host.poll_interval", "CPU looks at a completion queue once in this time"),

      ns("devmem.read_latency", "L2 memory behind BAR1: request accepted to data"),
      ns("bar.decode_latency", "BAR decoder: TLP arrived to doorbell at the RTL's port"),

      number("sched.strict_priorities", "1", 0, 255,
             "bit p: priority p is sent before all that are not strict, the higher one first"),
      number("sched.weight_prio0", "1", 1, 255, "share of priority 0 among those that are not strict"),
      number("sched.weight_prio1", "1", 1, 255, "share of priority 1"),
      number("sched.weight_prio2", "1", 1, 255, "share of priority 2"),
      number("sched.weight_prio3", "1", 1, 255, "share of priority 3"),
      number("sched.weight_prio4", "1", 1, 255, "share of priority 4"),
      number("sched.weight_prio5", "1", 1, 255, "share of priority 5"),
      number("sched.weight_prio6", "1", 1, 255, "share of priority 6"),
      number("sched.weight_prio7", "1", 1, 255, "share of priority 7"),

      one_of("mac.rate", "Gb/s", {"100", "200", "400", "800"}, "line rate of each port"),
      built("mac.ports", "1", 8, "ports"),
      ns("mac.tx_latency", "last beat accepted to first bit of the preamble, wire free"),
      number("mac.tx_buffer", "B", 9280, 16 << 20,
             "transmit buffer of each priority of a port; a whole frame and a beat must fit"),
      number(
          "mac.pause_headroom", "B", 0, 16 << 20,
          "what a paused priority may hold beyond its buffer: the packets under way in the NIC when the pause comes"),
      ns("wire.latency", "flight of a bit to the other end"),

      built("build.data_width", "1", 4096, "data path of the NIC, bits"),
      built("build.read_tags", "1", 1024, "PCIe reads in flight"),
      built("build.qpc_cache_entries", "1", 65536, "QP contexts cached on chip"),
  };
}

}  // namespace

const std::vector<KeyInfo>& profile_schema() {
  static const std::vector<KeyInfo> schema = make_schema();
  return schema;
}

const KeyInfo* find_key(std::string_view name) {
  const auto& s = profile_schema();
  const auto it = std::find_if(s.begin(), s.end(), [&](const KeyInfo& k) { return k.name == name; });
  return it == s.end() ? nullptr : &*it;
}

}  // namespace rnic
