// SPDX-License-Identifier: Apache-2.0
#include "rnic/core/page.h"

#include <fmt/format.h>

#include "rnic/core/text.h"

namespace rnic {

std::string page_head(const std::string& title) {
  static constexpr const char* kStyle = R"(
:root{--ink:#1d2733;--soft:#5d6b7a;--line:#dfe5eb;--paper:#fff;--back:#f4f6f8;--good:#1a7f4b;--bad:#c02a2a;--warn:#a86500;--wave:#0b6e4f;--bus:#2a5db0}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1180px;padding:28px 32px 60px;font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;color:var(--ink);background:var(--back)}
header,section,table.list{background:var(--paper);border:1px solid var(--line);border-radius:10px;margin:0 0 20px}
header{padding:20px 24px}section{padding:16px 24px 20px}
h1{margin:0;font-size:24px}h2{margin:0 0 6px;font-size:17px;font-weight:600}
header p{margin:4px 0 12px;font-size:17px;font-weight:600}
p.good{color:var(--good)}p.bad{color:var(--bad)}p.what{margin:2px 0 12px;overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:max-content 1fr;gap:3px 16px;margin:0}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
code,pre,svg{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
code{font-size:13px}
pre{margin:14px 0 0;padding:12px 14px;font-size:12.5px;line-height:1.45;background:var(--back);border:1px solid var(--line);border-radius:6px;overflow-x:auto}
table.list{width:100%;border-collapse:separate;border-spacing:0;overflow:hidden}
th,td{padding:7px 12px;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
tr:last-child td{border-bottom:0}th{color:var(--soft);font-size:13px;font-weight:600;background:#fafbfc}
tbody tr:hover{background:#f8fafc}.n{text-align:right;font-variant-numeric:tabular-nums}
.where{color:var(--soft);font-size:13px;white-space:nowrap}
td code{overflow-wrap:anywhere}a{color:var(--bus)}
.chip{display:inline-block;padding:1px 9px;border-radius:99px;font-size:12px;font-weight:600;letter-spacing:.02em}
.chip.good{color:var(--good);background:#e3f4eb}.chip.bad{color:var(--bad);background:#fbe6e6}.chip.warn{color:var(--warn);background:#fbf0dc}
.picture{overflow-x:auto;border:1px solid var(--line);border-radius:6px}
svg{display:block;font-size:12px;fill:var(--ink)}
svg .soft{fill:var(--soft)}svg .grid{stroke:#edf0f3}svg .mark{fill:#fdeaea}svg .marked{fill:var(--bad);font-weight:700}
svg .golden{fill:#f6f1e4}
svg .bit{fill:none;stroke:var(--wave);stroke-width:1.6}svg .high{fill:#d9efe5}
svg .bus{fill:#eef3fb;stroke:var(--bus);stroke-width:1.2}svg .odd{fill:#fbe6e6;stroke:var(--bad);stroke-width:1.2}
@media print{body{background:#fff;padding:0}section{break-inside:avoid}}
)";
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta "
      "charset=\"utf-8\"><title>{}</title>\n<style>{}</style></head><body>\n",
      xml(title), kStyle);
}

}  // namespace rnic
