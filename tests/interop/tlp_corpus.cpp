// SPDX-License-Identifier: Apache-2.0
// Writes a tlp.log and a capture.pcapng full of TLPs that no run of the NIC needs together: both address forms, every
// length and byte enable, 10-bit tags, attributes, traffic classes, poisoned and refused reads, cut completions.
//   tlp_corpus DIR SEED EXCHANGES
#include <systemc>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>

#include "rnic/core/error.h"
#include "rnic/golden/tlp.h"
#include "rnic/observe/run_directory.h"

namespace {

using namespace rnic;
using std::mt19937_64;

uint64_t below(mt19937_64& rng, uint64_t end) { return rng() % end; }

std::vector<uint8_t> random_bytes(mt19937_64& rng, size_t n) {
  std::vector<uint8_t> out(n);
  for (auto& b : out) b = static_cast<uint8_t>(rng());
  return out;
}

/// A completion of the reference model as one of the models'.
pcie::Tlp model_tlp(const golden::Tlp& g) {
  pcie::Tlp t;
  const auto header = g.header();
  std::copy(header.begin(), header.end(), t.hdr.begin());
  t.data = g.payload;
  return t;
}

class Corpus {
 public:
  explicit Corpus(uint64_t seed) : rng_(seed) {}

  void exchange() {
    const unsigned limit = 128u << below(rng_, 6);
    const uint64_t page = (below(rng_, 2) ? below(rng_, 1u << 20) : below(rng_, uint64_t{1} << 52)) << 12;
    const auto offset = static_cast<unsigned>(below(rng_, 4096));
    const unsigned most = std::min(limit, 4096 - offset);
    const unsigned len = below(rng_, 4) == 0 ? most : static_cast<unsigned>(below(rng_, most + 1));
    const auto id = static_cast<uint16_t>(rng_());
    const auto tag = static_cast<unsigned>(below(rng_, 1024));
    from_nic_ = below(rng_, 2);
    if (below(rng_, 3) == 0 && len != 0) {
      pcie::Tlp write = pcie::make_mem_write(page + offset, random_bytes(rng_, len).data(), len, id);
      vary(write);
      return put(from_nic_, write);
    }
    pcie::Tlp read = pcie::make_mem_read(page + offset, len, id, tag);
    vary(read);
    put(from_nic_, read);
    answer(read, limit);
  }

  Recorder rec;

 private:
  /// Attributes, traffic class, and now and then a poisoned payload.
  void vary(pcie::Tlp& t) {
    const auto bits = static_cast<uint32_t>(rng_());
    t.hdr[0] |= bits & (7u << 20 | 1u << 18 | 3u << 12);
    if (t.has_data() && below(rng_, 8) == 0) t.hdr[0] |= 1u << 14;
  }

  void put(bool from_nic, pcie::Tlp t) { rec.tlps.push_back({0, from_nic, 1000 * ++time_, std::move(t)}); }

  void answer(const pcie::Tlp& read, unsigned limit) {
    golden::Completer c;
    c.id = static_cast<uint16_t>(rng_());
    c.mps = std::max(limit, 128u);
    c.rcb = 64u << below(rng_, 2);
    c.cut = [this] { return below(rng_, 2) != 0; };
    c.read = [this](uint64_t, unsigned n) { return random_bytes(rng_, n); };
    const auto request = golden::Tlp::parse({read.hdr.begin(), read.hdr.end()}, {}).value();
    const std::array<uint8_t, 3> refusals = {golden::kCplUr, golden::kCplCa, golden::kCplCrs};
    if (below(rng_, 8) == 0) return put(!from_nic_, model_tlp(c.fail(request, refusals[below(rng_, 3)])));
    for (const golden::Tlp& g : c.complete(request)) {
      pcie::Tlp t = model_tlp(g);
      if (below(rng_, 16) == 0) t.hdr[0] |= 1u << 14;
      put(!from_nic_, std::move(t));
    }
  }

  mt19937_64 rng_;
  uint64_t time_ = 0;
  bool from_nic_ = true;
};

}  // namespace

int sc_main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: tlp_corpus DIR SEED EXCHANGES\n", stderr);
    return 2;
  }
  try {
    Corpus corpus(std::strtoull(argv[2], nullptr, 10));
    for (auto n = std::strtoull(argv[3], nullptr, 10); n != 0; --n) corpus.exchange();
    write_tlp_log(std::string(argv[1]) + "/tlp.log", corpus.rec);
    write_pcapng(std::string(argv[1]) + "/capture.pcapng", corpus.rec, true);
  } catch (const InputError& e) {
    std::fprintf(stderr, "tlp_corpus: %s\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tlp_corpus: %s\n", e.what());
    return 3;
  }
  return 0;
}
