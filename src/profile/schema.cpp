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

KeyInfo text(const char* name, std::vector<std::string> choices, const char* help) {
  return {name, "text", 0, 0, std::move(choices), false, help};
}

KeyInfo built(const char* name, const char* unit, double max, const char* help) {
  return {name, unit, 1, max, {}, true, help};
}

std::vector<KeyInfo> make_schema() {
  return {
      number("clock.core_period", "ps", 100, 100000, "period of the NIC's core clock"),

      one_of("pcie.generation", "1", {"1", "2", "3", "4", "5", "6"}, "PCIe generation of all links"),
      one_of("pcie.lanes", "1", {"1", "2", "4", "8", "12", "16"}, "lanes of all links"),
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
      number("pcie.cplh_credits", "1", 0, 255,
             "room of the NIC's receive buffer for completion headers, which its reads are held back for; 0: no limit"),
      number("pcie.cpld_credits", "1", 0, 4095,
             "room of the NIC's receive buffer for completion data, units of 16 B; 0 in cplh or cpld: no limit"),
      number("pcie.cpl_timeout", "ns", 0, 4294967295.0,
             "a read that is not answered in this time has failed; 0: never"),
      ns("pcie.ack_latency", "a received TLP is acknowledged at most this later"),
      ns("pcie.fc_latency", "freed credits are announced at most this later"),
      ns("pcie.replay_timeout", "unacknowledged for this long, TLPs are sent again"),
      number("pcie.lcrc_error_rate_up", "ppm", 0, 999999, "TLPs towards the root complex that the NIC's link corrupts"),
      number("pcie.lcrc_error_rate_down", "ppm", 0, 999999, "TLPs towards the NIC that its link corrupts"),
      number("pcie.error_seed", "1", 0, 4294967295.0, "seed of the corrupted TLPs"),
      text("pcie.topology", {"direct", "PIX", "PXB", "PHB", "SYS"},
           "what lies between NIC and GPU, as NCCL names it; direct: one hub without a switch"),
      ns("pcie.switch_latency", "PCIe switch, a pass: first bit in to first bit out"),
      ns("pcie.uplink_latency", "link between a switch and what is above it, one way, as pcie.nic_link_latency"),
      ns("pcie.root_latency", "root complex, a pass from port to port (PHB, SYS, and PIX, PXB with pcie.acs_redirect)"),
      number("pcie.root_bandwidth", "Gb/s", 0, 100000, "TLPs from port to port of a root complex; 0: as the links"),
      ns("pcie.socket_latency", "from one root complex to that of the other socket, one way"),
      number("pcie.socket_bandwidth", "Gb/s", 0, 100000, "TLPs between the sockets, each way; 0: as the links"),
      number("pcie.acs_redirect", "1", 0, 1, "1: switches send peer traffic up to the root complex (ACS)"),

      ns("gpu.read_latency", "GPU memory behind its BAR: read request arrived to data ready"),
      number("gpu.read_bandwidth", "Gb/s", 0, 100000, "GPU memory read through its BAR; 0: no limit"),
      number("gpu.write_bandwidth", "Gb/s", 0, 100000, "GPU memory written through its BAR; 0: no limit"),
      number("gpu.bar_reads", "1", 0, 1, "0: the GPU's BAR takes writes and answers reads with UR"),
      text("gpu.memory", {"flat", "hbm"}, "GPU memory: one port, or HBM channels behind it (gpu.hbm_*)"),
      number("gpu.hbm_channels", "1", 1, 1024, "HBM: channels"),
      one_of("gpu.hbm_interleave", "B", {"64", "128", "256", "512", "1024", "2048", "4096"},
             "HBM: consecutive bytes in one channel"),
      number("gpu.hbm_bandwidth", "Gb/s", 1, 1000000, "HBM: all channels together, reads and writes"),
      number("gpu.hbm_queue", "1", 1, 1024, "HBM: accesses of 64 B that a kernel has waiting at a channel at most"),
      number("gpu.kernel_bandwidth", "Gb/s", 0, 1000000,
             "HBM traffic of a kernel that runs all the time, at most gpu.hbm_bandwidth; 0: none"),
      ns("gpu.mmio_latency", "GPU's store instruction to its TLP leaving the GPU"),
      ns("gpu.signal_latency", "a kernel's last store to the store of its completion flag: fence, end of the grid"),
      ns("gpu.copy_start_latency", "copy engine: its doorbell arrived to its first read: command fetched and decoded"),
      number("gpu.copy_bandwidth", "Gb/s", 0, 100000, "copy engine, GPU memory to host memory; 0: as fast as the link"),
      ns("gpu.copy_completion_latency", "copy engine: last data write out to completion write out"),

      ns("host.read_latency", "host memory: read request arrived to data ready"),
      ns("host.write_latency", "host memory: write arrived to visible"),
      number("host.read_bandwidth", "Gb/s", 0, 100000, "host memory read by devices; 0: no limit"),
      number("host.write_bandwidth", "Gb/s", 0, 100000, "host memory written by devices; 0: no limit"),
      number("host.numa_nodes", "1", 1, 8, "NUMA nodes that share host memory in equal parts; the NIC is at node 0"),
      number("host.numa_node", "1", 0, 7, "node whose memory the driver allocates"),
      ns("host.numa_latency", "between two nodes, one way: a read of another node's memory takes twice this longer"),
      number("host.numa_bandwidth", "Gb/s", 0, 100000, "between two nodes, each way; 0: no limit"),
      number("host.llc_size", "B", 0, 1 << 28, "last-level cache of a node that DMA looks into; 0: none"),
      number("host.llc_ways", "1", 1, 64, "lines of a set of that cache"),
      number("host.llc_ddio_ways", "1", 0, 64,
             "of these, those that DMA writes are allocated in; 0: they go to memory"),
      ns("host.llc_latency", "in place of host.read_latency where that cache has all of a read's lines"),
      ns("host.mmio_latency", "CPU's store instruction to its TLP leaving for the root complex"),
      ns("host.store_gap", "between two write-combined 64 B stores of the CPU"),
      ns("host.post_cost", "CPU builds a WQE"),
      ns("host.poll_interval", "CPU looks at a completion queue or a flag once in this time"),
      text("host.gpu_wait", {"poll", "interrupt"}, "how a thread of the staged path waits for a kernel and for a copy"),
      ns("host.interrupt_latency", "a completion visible in host memory to its interrupt handler running"),
      ns("host.context_switch", "interrupt handler to the blocked thread running: wake-up, scheduler, context switch"),
      ns("host.copy_launch_cost", "CPU: driver call that queues a copy, up to the store that rings the copy engine"),

      text("completer.cut", {"largest", "rcb"},
           "completions of host and GPU memory: largest pieces, or cut at every RCB"),
      number("completer.interleave", "1", 1, 1024, "reads whose completions take turns"),
      ns("completer.delay", "a completion follows the one before it of its read by up to this more, at random"),
      number("completer.reorder", "1", 0, 1,
             "1: a read that is ready sooner is answered sooner; 0: in order of arrival"),
      text("completer.latency_spread", {"fixed", "uniform", "exponential"}, "what is added to a memory's read latency"),
      ns("completer.latency_width", "uniform: from 0 to this; exponential: this on average, at most 20 times"),
      number("completer.seed", "1", 0, 4294967295.0, "seed of what completers do at random"),

      ns("devmem.read_latency", "L2 memory behind BAR1: request accepted to data"),
      one_of("devmem.l2_size", "B",
             {"0", "4096", "8192", "16384", "32768", "65536", "131072", "262144", "524288", "1048576", "2097152",
              "4194304", "8388608", "16777216", "33554432", "67108864", "134217728", "268435456"},
             "L2 cache in front of the DDR; 268435456: all of device memory, 0: none"),
      one_of("devmem.l2_ways", "1", {"1", "2", "4", "8", "16", "32", "64"}, "lines of a set of the L2 cache"),
      one_of("devmem.l2_line", "B", {"64", "128", "256"}, "line of the L2 cache, and access to the DDR"),
      number("devmem.l2_bandwidth", "Gb/s", 0, 100000, "L2 cache, reads and writes together; 0: as the NIC asks"),
      ns("devmem.ddr_latency", "DDR behind the L2 cache: what a miss takes longer than a hit, a line's transfer apart"),
      number("devmem.ddr_bandwidth", "Gb/s", 0, 100000, "DDR, lines read and written back together; 0: no limit"),
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

      number("health.temperature", "C", -40, 200, "temperature of the chip at the start; a scenario can change it"),
      number("health.temperature_warning", "C", -40, 200, "from here on the health is Degraded"),
      number("health.temperature_critical", "C", -40, 200, "from here on it is Fatal, until a reset"),
      number("health.temperature_hysteresis", "C", 0, 50, "cooled down is this much below a threshold"),
      ns("health.slow_read", "a read that is answered later than this is counted in cpl_slow"),

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
