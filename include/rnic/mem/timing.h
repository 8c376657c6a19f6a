// SPDX-License-Identifier: Apache-2.0
// When a memory behind PCIe has the data of a read, or makes a write visible: a port with a latency and a bandwidth,
// HBM channels that a kernel uses, too, or host memory with NUMA nodes and a last-level cache. Knows addresses and
// times, not contents; docs/models/memory.md tells each rule.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "rnic/core/serializer.h"
#include "rnic/mem/llc.h"
#include "rnic/profile/profile.h"

namespace rnic {

/// Times are in ps, offsets in bytes from the memory's start. Accesses come in order of their arrival.
class MemoryTiming {
 public:
  struct Access {
    uint64_t taken_ps;  ///< out of the receive buffer
    uint64_t done_ps;   ///< its data are read, or visible
  };
  struct Counters {
    uint64_t llc_hits = 0, llc_misses = 0;  ///< lines that DMA reads and writes found in the cache, and not
    uint64_t llc_written_back = 0;          ///< lines that had to go to memory to make room
    uint64_t remote = 0;                    ///< accesses to another NUMA node than the NIC's
    uint64_t channel_wait_ps = 0;           ///< sum over HBM accesses of the wait for their channels
  };

  virtual ~MemoryTiming() = default;
  virtual Access read(uint64_t now_ps, uint64_t offset, uint64_t bytes) = 0;
  virtual Access write(uint64_t now_ps, uint64_t offset, uint64_t bytes) = 0;
  /// When an access of the memory's own processor, which does not pass the port, has its turn.
  virtual uint64_t local(uint64_t now_ps, uint64_t, uint64_t) { return now_ps; }
  /// The memory's own processor has used these bytes: they are in its caches, if it has any.
  virtual void touch(uint64_t, uint64_t) {}
  /// Its caches hold nothing any more.
  virtual void flush() {}
  /// From now on its own processor uses so much of its bandwidth. InputError where that is not modelled, or above it.
  virtual void set_load(uint64_t now_ps, double gbps);
  const Counters& counters() const { return counters_; }

 protected:
  Counters counters_;
};

/// Latency, and a bandwidth for each direction (0: no limit). A limit costs a lone access nothing: the next one waits.
struct PortConfig {
  uint64_t read_ps = 0, write_ps = 0;
  unsigned read_gbps = 0, write_gbps = 0;
};

class FlatTiming : public MemoryTiming {
 public:
  explicit FlatTiming(const PortConfig& config);
  Access read(uint64_t now_ps, uint64_t offset, uint64_t bytes) override;
  Access write(uint64_t now_ps, uint64_t offset, uint64_t bytes) override;

 private:
  const PortConfig config_;
  Serializer read_port_, write_port_;
};

struct HbmConfig {
  unsigned channels = 80;
  unsigned interleave = 256;  ///< bytes of consecutive addresses in one channel
  double gbps = 26800;        ///< all channels together, reads and writes
  unsigned queue = 32;        ///< accesses of kernels that a channel has waiting at most
  double load_gbps = 0;       ///< of a kernel that runs from the start
  uint64_t seed = 1;
};

/// Behind the port the channels. Each serves its accesses in order of arrival; those of a running kernel (64 B each)
/// come at random, evenly over the channels.
class HbmTiming : public MemoryTiming {
 public:
  static constexpr unsigned kKernelBytes = 64;

  /// InputError when the load is above the bandwidth.
  HbmTiming(const PortConfig& port, const HbmConfig& config);
  Access read(uint64_t now_ps, uint64_t offset, uint64_t bytes) override;
  Access write(uint64_t now_ps, uint64_t offset, uint64_t bytes) override;
  void set_load(uint64_t now_ps, double gbps) override;
  uint64_t local(uint64_t now_ps, uint64_t offset, uint64_t bytes) override { return pass(now_ps, offset, bytes); }
  /// Channel of a byte: consecutive pieces of `interleave` bytes go to different ones, strides to all.
  unsigned channel(uint64_t offset) const;

 private:
  struct Channel {
    Serializer line;
    std::deque<uint64_t> kernel;  ///< ends of a kernel's accesses that are not over
    uint64_t next_ps;             ///< its next one comes; has a meaning while load_ is not 0
  };
  uint64_t pass(uint64_t start_ps, uint64_t offset, uint64_t bytes);
  void run_kernel(Channel& c, uint64_t until_ps);
  uint64_t gap();

  const PortConfig port_;
  const HbmConfig config_;
  FlatTiming front_;
  double load_ = 0;
  uint64_t look_back_ps_;  ///< what a kernel did longer ago has left no queue
  std::mt19937_64 random_;
  std::vector<Channel> channels_;
};

struct HostConfig {
  uint64_t size = 0;             ///< bytes, in equal parts to the nodes in order of address
  unsigned nodes = 1;            ///< the NIC is at node 0
  uint64_t hop_ps = 0;           ///< to another node, one way
  unsigned hop_gbps = 0;         ///< each way; 0: no limit
  std::optional<LlcConfig> llc;  ///< of each node, in front of its memory
  uint64_t llc_ps = 0;           ///< a read whose lines are all in it, in place of the memory's latency
};

/// Each node has a port of its own. Reads are answered from the cache where it has all their lines; DMA writes go into
/// it (DDIO), or, with no ways for them, drop its copies and go to memory.
class HostTiming : public MemoryTiming {
 public:
  HostTiming(const PortConfig& port, const HostConfig& config);
  Access read(uint64_t now_ps, uint64_t offset, uint64_t bytes) override;
  Access write(uint64_t now_ps, uint64_t offset, uint64_t bytes) override;
  void touch(uint64_t offset, uint64_t bytes) override;
  void flush() override;

 private:
  struct Node {
    Serializer read_port, write_port;
    std::optional<Llc> llc;
  };
  size_t node_of(uint64_t offset) const;

  const PortConfig port_;
  const HostConfig config_;
  std::vector<Node> nodes_;
  Serializer to_remote_, from_remote_;
};

/// As the keys gpu.* and host.* say; seeds what is random. InputError for keys that contradict one another.
std::unique_ptr<MemoryTiming> gpu_timing(const Profile& p, uint64_t seed);
std::unique_ptr<MemoryTiming> host_timing(const Profile& p, uint64_t size);
/// Where the memory of host.numa_node begins, of `size` bytes in all.
uint64_t numa_base(const Profile& p, uint64_t size);

}  // namespace rnic
