// SPDX-License-Identifier: Apache-2.0
// What lies between the NIC, the host's memory and the GPU: links, switches and root complexes, as a tree (two trees
// with a link between the sockets). Routes requests by address and completions by requester ID; every hop has a
// latency, a link's bandwidth and flow control. Knows no memory and no CPU.
//
// A switch passes a TLP on while it is still coming in (cut-through), a root complex and the hub of `direct` once it is
// whole. Order within a direction is kept everywhere.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rnic/core/delay_queue.h"
#include "rnic/core/serializer.h"
#include "rnic/pcie/link.h"
#include "rnic/profile/profile.h"

namespace rnic::pcie {

/// Bus addresses of a node. Fixed here; an enumerator sets the NIC's BARs to whatever it likes.
inline constexpr uint64_t kHostBase = 0x0000'0001'0000'0000;  ///< host memory
inline constexpr uint64_t kHostSize = uint64_t{64} << 30;
inline constexpr uint64_t kGpuBase = 0x0000'1000'0000'0000;  ///< GPU memory's BAR
inline constexpr uint64_t kGpuSize = uint64_t{80} << 30;

/// Where messages (MSI-X) go: the host's interrupt controller, as on x86. Takes writes of one DW.
inline constexpr uint64_t kIrqBase = 0xFEE0'0000;
inline constexpr uint64_t kIrqSize = 0x10'0000;

inline constexpr uint16_t kCpuId = 0x0000;  ///< requester ID of the CPU's stores and loads, completer ID of the host
inline constexpr uint16_t kGpuId = 0x0200;  ///< requester and completer ID of the GPU

/// One direction of a link of generation 1..6 and 1..16 lanes, encoding included (8b/10b, 128b/130b; of flits the share
/// of 256 B that TLPs have: 236).
Serializer link_serializer(unsigned generation, unsigned lanes);

/// How far the GPU is from the NIC, as NCCL names it.
enum class Distance : uint8_t {
  kDirect,  ///< one hub, no switch
  kPix,     ///< one switch
  kPxb,     ///< several switches, no root complex
  kPhb,     ///< through a root complex
  kSys,     ///< through both sockets' root complexes
};
const char* distance_name(Distance d);          ///< "PIX"
Distance distance_of(const std::string& name);  ///< throws SimError on another name

/// One hop on the way of a TLP, for tables: time beside waiting, and the profile's key for it.
struct Hop {
  std::string name;          ///< "NIC's link", "switch"
  Time latency;              ///< flight of a link, pass of a node
  std::string key;           ///< of the latency
  bool link = false;         ///< serializes the TLP at the links' rate
  bool cut_through = false;  ///< the latency covers the time that the TLP takes to come in
  unsigned gbps = 0;         ///< serializes it at this rate; 0: not
};

class Topology {
 public:
  enum Port : uint8_t { kNic, kHost, kGpu };
  static constexpr unsigned kPorts = 3;

  Topology(std::string name, const Profile& profile, DelayQueue& queue, uint64_t seed);
  ~Topology();

  Distance distance() const { return distance_; }
  /// Hops from one port to another, in order.
  std::vector<Hop> way(Port from, Port to) const;

  // ---- What takes TLPs, at the instant they arrive; all three before the first TLP ----
  void on_nic(std::function<void(Tlp)> fn) { nic_ = std::move(fn); }
  /// Host and GPU are told ahead when a TLP arrives, in order of arrival, and answer when it is taken out of the
  /// receive buffer (at its arrival or later).
  using Memory = std::function<Time(Tlp, const Time& arrival)>;
  void on_host(Memory fn) { host_ = std::move(fn); }
  void on_gpu(Memory fn) { gpu_ = std::move(fn); }
  /// Whether a TLP from the NIC may go on; asked at the first node.
  void on_check(std::function<bool(const Tlp&)> fn) { check_ = std::move(fn); }
  /// A request of the NIC for an address that nobody has, or anything for a NIC that is gone: at the root complex.
  void on_unsupported(std::function<void(Tlp)> fn) { unsupported_ = std::move(fn); }

  // ---- TLPs in ----
  void from_nic(Tlp t, const Time& edge);
  void from_gpu(Tlp t);
  /// From the CPU or host memory; reaches the root complex at `at`.
  void from_host(Tlp t, const Time& at);

  /// The NIC's link.
  Link& nic_link() { return *nic_link_->link; }
  const Link& nic_link() const { return *nic_link_->link; }
  Link& gpu_link() { return *gpu_link_->link; }
  const Link& gpu_link() const { return *gpu_link_->link; }
  /// A TLP that took credits but was never sent.
  void cancelled(const Tlp& t, const Time& edge);
  void take_down_nic();
  /// A fresh link, in the state after reset; the old one's TLPs are gone.
  void bring_up_nic();
  bool nic_up() const { return nic_link_->link->up(); }

  bool idle() const;
  /// What keeps it from being idle; empty when idle.
  std::string pending() const;

  /// Port that a request's address, or a completion's requester, lies behind. An address that is no memory's belongs to
  /// the NIC's BARs.
  static Port destination(const Tlp& t);

 private:
  struct Node;
  struct Wire;  // a link between a node and what is below it
  /// A TLP's credits at the port where it came in.
  struct Credit {
    Wire* wire = nullptr;
    End at = kUp;
    Tlp tlp;
  };
  struct Wire {
    std::string name, key;
    LinkConfig config;
    std::unique_ptr<Link> link;
    Node* upper = nullptr;
    Node* lower = nullptr;  ///< nullptr: an end point
    Port end_point = kNic;
    unsigned waiting[2] = {};    ///< TLPs handed to the link at this end that have not started
    std::deque<Credit> held[2];  ///< and what waits in the node behind them, in order
  };
  struct Node {
    std::string name;
    bool root = false;
    unsigned socket = 0;
    Wire* up = nullptr;
    std::array<Wire*, kPorts> below{};  ///< nullptr: not below this node
  };

  Node& add_node(std::string name, bool root, unsigned socket = 0);
  Wire& add_wire(std::string name, const char* key, Node& upper, Node* lower, Port end_point);
  void connect(Wire& w);
  void arrived(Wire& w, End at, Tlp t);
  void at_switch(Node& n, Wire& in, End at, Tlp t);
  void at_root(Node& n, Wire& in, Tlp t);
  void to_host(Wire* in, Tlp t, const Time& arrival);
  void pass(Wire& in, End at, Wire& next, End end, const Time& latency, Tlp t);
  void cross_socket(unsigned from, const Time& pass, Wire* in, Tlp t);
  void go(Wire& w, End from, Tlp t);
  void release(Wire& w, End at, const Tlp& t, const Time& when);
  void started(Wire& w, End from, const Time& start);
  static void trim(Wire& w, End from);
  std::vector<const Node*> nodes_up(Port from) const;

  const std::string name_;
  DelayQueue& queue_;
  const Distance distance_;
  const bool acs_;
  const Time switch_, root_host_, root_peer_, socket_latency_;
  const bool host_limited_, gpu_limited_;  ///< the memory's bandwidth holds requests back
  const unsigned root_gbps_, socket_gbps_;
  LinkConfig link_config_;
  Serializer link_byte_;
  std::deque<Node> nodes_;
  std::deque<Wire> wires_;
  std::vector<std::unique_ptr<Link>> gone_;  ///< links of earlier lives, which entries of the queue may still name
  Wire* nic_link_ = nullptr;
  Wire* gpu_link_ = nullptr;
  std::array<Node*, 2> roots_{};
  std::array<Serializer, 2> socket_line_, root_line_;
  uint64_t passing_ = 0;  ///< TLPs inside a node or between the sockets
  std::function<void(Tlp)> nic_, unsupported_;
  Memory host_, gpu_;
  std::function<bool(const Tlp&)> check_;
};

}  // namespace rnic::pcie
