// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "order.h"
#include "rnic/core/error.h"
#include "rnic/observe/run_directory.h"

namespace rnic {

void write_tlp_log(const std::string& path, const Recorder& rec) {
  std::ofstream out(path);
  out << "# time_ps nic direction | TLP | header | payload_bytes | packet it serves\n";
  for (const RecordedTlp* record : detail::ordered(rec.tlps)) {
    const RecordedTlp& t = *record;
    std::string header;
    for (unsigned i = 0; i < (t.tlp.four_dw() ? 4u : 3u); ++i) {
      header += fmt::format("{}{:08x}", i ? " " : "", t.tlp.hdr[i]);
    }
    const rtl::op_t& op = t.tlp.op;
    out << fmt::format("{:>12} nic{} {} | {} | {} | {} | qpn {} wqe {} psn {}{}\n", t.ps, t.nic,
                       t.from_nic ? "out" : "in ", t.tlp.describe(), header, t.tlp.data.size(),
                       static_cast<unsigned>(op.qpn), static_cast<unsigned>(op.wqe), static_cast<unsigned>(op.psn),
                       op.last ? " last" : "");
  }
  if (rec.tlps_dropped != 0) {
    out << fmt::format("# {} more TLPs beyond the recorder's limit are not listed\n", rec.tlps_dropped);
  }
  out.close();
  if (!out) throw InputError(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

}  // namespace rnic
