// SPDX-License-Identifier: Apache-2.0
#include "rnic/collective/data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "rnic/core/error.h"
#include "rnic/core/file.h"
#include "rnic/golden/float.h"

namespace rnic::collective {
namespace arp = golden::arp;
namespace fs = std::filesystem;
namespace {

constexpr size_t kMostFile = size_t{2} << 30;

unsigned size_of(arp::Type t) { return arp::element_size(static_cast<uint8_t>(t)); }

/// The type that stands on the wire.
arp::Type wire_type(arp::Type t) {
  return t == arp::Type::kFp16Acc32 ? arp::Type::kFp16 : t == arp::Type::kBf16Acc32 ? arp::Type::kBf16 : t;
}

uint64_t mix(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint32_t fp32_bits(float v) {
  uint32_t w;
  std::memcpy(&w, &v, sizeof w);
  return w;
}

class Generated : public Contributions {
 public:
  Generated(arp::Type type, Values values, uint64_t seed) : type_(wire_type(type)), values_(values), seed_(mix(seed)) {}

  arp::Bytes bytes(unsigned member, unsigned step, uint64_t at, uint64_t n) const override {
    const unsigned size = size_of(type_);
    arp::Bytes out(n);
    const uint64_t stream = mix(seed_ ^ mix(uint64_t{member} << 32 | step));
    for (uint64_t i = 0; i < n / size; ++i) {
      const uint64_t index = at / size + i;
      const uint64_t bits = values_ == Values::kIndex ? small((index + member) % 100) : value(mix(stream + index));
      std::memcpy(&out[i * size], &bits, size);
    }
    return out;
  }

 private:
  uint64_t small(uint64_t v) const {
    switch (type_) {
      case arp::Type::kFp16:
        return golden::fp32_to_fp16(fp32_bits(static_cast<float>(v)));
      case arp::Type::kBf16:
        return golden::fp32_to_bf16(fp32_bits(static_cast<float>(v)));
      case arp::Type::kFp32:
        return fp32_bits(static_cast<float>(v));
      default:
        return v;
    }
  }

  uint64_t value(uint64_t r) const {
    const bool special = values_ == Values::kSpecial && r % 10 == 0;
    const uint64_t which = (r >> 8) % 6;
    switch (type_) {
      case arp::Type::kFp16:
        return special ? special_of<golden::Fp16>(which, r >> 16) : float_of<golden::Fp16>(r >> 16);
      case arp::Type::kBf16:
        return special ? special_of<golden::Bf16>(which, r >> 16) : float_of<golden::Bf16>(r >> 16);
      case arp::Type::kFp32:
        return special ? special_of<golden::Fp32>(which, r >> 16) : float_of<golden::Fp32>(r >> 16);
      case arp::Type::kInt32:
        return special ? (which < 3 ? 0x80000000u : 0x7fffffffu) : static_cast<uint32_t>(r >> 16);
      default:
        return special ? (which < 3 ? uint64_t{1} << 63 : ~(uint64_t{1} << 63)) : mix(r);
    }
  }

  /// Either sign, exponents 2^-8 to 2^7, any fraction.
  template <class F>
  static uint64_t float_of(uint64_t r) {
    const uint64_t man = r & ((1u << F::kMan) - 1);
    const uint64_t exp = static_cast<uint64_t>(F::kBias) - 8 + (r >> 24) % 16;
    return (r >> 40 & 1) * F::kSign | exp << F::kMan | man;
  }

  template <class F>
  static uint64_t special_of(uint64_t which, uint64_t r) {
    const uint64_t man = r & ((1u << F::kMan) - 1), sign = (r >> 40 & 1) * F::kSign;
    switch (which) {
      case 0:
        return sign;
      case 1:
        return sign | man;  // subnormal
      case 2:
        return sign | F::kInf;
      case 3:
        return sign | F::kInf | (man | 1);  // NaN with a payload
      case 4:
        return sign | (F::kInf - 1);  // largest
      default:
        return sign | 1u << F::kMan;  // smallest normal
    }
  }

  arp::Type type_;
  Values values_;
  uint64_t seed_;
};

class FromFiles : public Contributions {
 public:
  struct Part {
    std::shared_ptr<std::string> file;
    size_t begin;
  };
  explicit FromFiles(std::vector<Part> parts) : parts_(std::move(parts)) {}
  arp::Bytes bytes(unsigned member, unsigned, uint64_t at, uint64_t n) const override {
    const Part& p = parts_.at(member);
    const auto* from = reinterpret_cast<const uint8_t*>(p.file->data()) + p.begin + at;
    return arp::Bytes(from, from + n);
  }

 private:
  std::vector<Part> parts_;
};

bool is_npy(const std::string& path) { return fs::path(path).extension() == ".npy"; }

/// NumPy's names of a type; the first is the one that we write. BF16 has none of its own: libraries store 2-byte voids.
std::vector<std::string> descrs(arp::Type type, bool wide) {
  if (wide) return {"<f4"};
  switch (wire_type(type)) {
    case arp::Type::kFp16:
      return {"<f2"};
    case arp::Type::kBf16:
      return {"<u2", "<V2", "|V2"};
    case arp::Type::kFp32:
      return {"<f4"};
    case arp::Type::kInt32:
      return {"<i4"};
    default:
      return {"<i8"};
  }
}

/// A file's vectors: rows of `columns` elements (0 rows: the file doesn't say).
struct FileShape {
  std::shared_ptr<std::string> bytes;
  size_t begin = 0;
  uint64_t elements = 0;
  std::vector<uint64_t> shape;  ///< of .npy
};

FileShape load(const std::string& path, arp::Type type) {
  FileShape f;
  f.bytes = std::make_shared<std::string>(read_text(path, kMostFile));
  if (is_npy(path)) {
    const NpyArray a = parse_npy(*f.bytes, path);
    const auto allowed = descrs(type, false);
    if (std::find(allowed.begin(), allowed.end(), a.descr) == allowed.end()) {
      throw InputError(
          path, 0, "descr",
          fmt::format("the array is of type '{}'; allowed for this --type: {}", a.descr, fmt::join(allowed, ", ")));
    }
    f.begin = a.data_begin;
    f.shape = a.shape;
  }
  const uint64_t bytes = f.bytes->size() - f.begin;
  if (bytes % size_of(type) != 0) {
    throw InputError(path, 0, "",
                     fmt::format("{} B of data are no whole number of elements of {} B", bytes, size_of(type)));
  }
  f.elements = bytes / size_of(type);
  return f;
}

}  // namespace

std::unique_ptr<Contributions> generated(arp::Type type, Values values, uint64_t seed) {
  return std::make_unique<Generated>(type, values, seed);
}

NpyArray parse_npy(const std::string& bytes, const std::string& file) {
  const auto bad = [&](const std::string& what) { return InputError(file, 0, "", "not a good .npy file: " + what); };
  if (bytes.size() < 10 || bytes.compare(0, 6, "\x93NUMPY") != 0) throw bad("it does not begin with \\x93NUMPY");
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const unsigned major = byte(6);
  if (major < 1 || major > 3) throw bad(fmt::format("version {} is not known; allowed: 1 to 3", major));
  const size_t head = major == 1 ? 10 : 12;
  if (bytes.size() < head) throw bad("it is cut off in its header");
  size_t length = byte(8) | byte(9) << 8;
  if (major != 1) length |= static_cast<size_t>(byte(10)) << 16 | static_cast<size_t>(byte(11)) << 24;
  if (length > bytes.size() - head) throw bad("it is cut off in its header");
  const std::string text = bytes.substr(head, length);
  NpyArray a;
  a.data_begin = head + length;

  // A Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (8, 1024), }
  const auto value_of = [&](const std::string& key) {
    for (const char quote : {'\'', '"'}) {
      const size_t at = text.find(quote + key + quote);
      if (at == std::string::npos) continue;
      size_t begin = text.find(':', at + key.size() + 2);
      if (begin == std::string::npos) break;
      begin = text.find_first_not_of(" ", begin + 1);
      if (begin == std::string::npos) break;
      return begin;
    }
    throw bad(fmt::format("its header lacks '{}'", key));
  };
  size_t at = value_of("descr");
  const char quote = text[at];
  const size_t end = quote == '\'' || quote == '"' ? text.find(quote, at + 1) : std::string::npos;
  if (end == std::string::npos) throw bad("'descr' is not a text: arrays of records are not taken");
  a.descr = text.substr(at + 1, end - at - 1);
  at = value_of("fortran_order");
  if (text.compare(at, 4, "True") == 0) throw bad("it is in Fortran's order; save numpy.ascontiguousarray(a)");
  if (text.compare(at, 5, "False") != 0) throw bad("'fortran_order' is neither True nor False");
  at = value_of("shape");
  if (text[at] != '(') throw bad("'shape' is not a tuple");
  uint64_t elements = 1;
  for (++at; at < text.size() && text[at] != ')';) {
    if (text[at] == ' ' || text[at] == ',') {
      ++at;
      continue;
    }
    uint64_t n = 0;
    size_t digits = 0;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9' && digits < 15)
      n = n * 10 + (text[at++] - '0'), ++digits;
    if (digits == 0 || digits == 15) throw bad("'shape' holds something else than sizes");
    if (n != 0 && elements > kMostFile / n) throw bad("'shape' means more elements than a file of 2 GiB holds");
    elements *= n;
    a.shape.push_back(n);
  }
  if (at >= text.size()) throw bad("'shape' does not end");
  unsigned size = 0;
  for (size_t i = 1; i < a.descr.size() && size < 1000; ++i) {
    if (a.descr[i] >= '0' && a.descr[i] <= '9') size = size * 10 + static_cast<unsigned>(a.descr[i] - '0');
  }
  if (elements * size != bytes.size() - a.data_begin) {
    throw bad(fmt::format("its header means {} B of data, it has {}", elements * size, bytes.size() - a.data_begin));
  }
  return a;
}

Loaded load_contributions(const std::string& path, arp::Type type, unsigned members, uint64_t count) {
  Loaded out;
  std::vector<FromFiles::Part> parts;
  std::error_code ec;
  if (fs::is_directory(path, ec)) {
    std::string first;
    for (unsigned r = 0; r < (members != 0 ? members : arp::kMaxRanks); ++r) {
      std::string file;
      for (const char* ending : {".npy", ".bin"}) {
        const std::string name = (fs::path(path) / fmt::format("rank{}{}", r, ending)).string();
        if (file.empty() && fs::exists(name, ec)) file = name;
      }
      if (file.empty()) {
        if (members == 0 && r != 0) break;
        throw InputError(path, 0, "", fmt::format("holds neither rank{0}.npy nor rank{0}.bin", r));
      }
      const FileShape f = load(file, type);
      if (out.count == 0) out.count = f.elements, first = file;
      if (f.elements != out.count) {
        throw InputError(file, 0, "", fmt::format("{} elements, but {} in {}", f.elements, out.count, first));
      }
      parts.push_back({f.bytes, f.begin});
    }
    out.members = static_cast<unsigned>(parts.size());
  } else {
    const FileShape f = load(path, type);
    uint64_t rows = members;
    if (f.shape.size() == 2) {
      rows = f.shape[0];
    } else if (f.shape.size() == 1) {
      rows = 1;
    } else if (!f.shape.empty() || is_npy(path)) {
      throw InputError(path, 0, "shape", fmt::format("{} dimensions; allowed: ranks x elements", f.shape.size()));
    }
    if (rows == 0) rows = count != 0 ? f.elements / count : 0;
    if (rows == 0) {
      throw InputError(path, 0, "", "a raw file does not say how many ranks it holds: give --ranks or --count");
    }
    if (rows > arp::kMaxRanks) {
      throw InputError(path, 0, "", fmt::format("{} ranks; allowed are 1 to {}", rows, arp::kMaxRanks));
    }
    if (f.elements % rows != 0) {
      throw InputError(path, 0, "", fmt::format("{} elements are no multiple of {} ranks", f.elements, rows));
    }
    out.members = static_cast<unsigned>(rows);
    out.count = f.elements / rows;
    for (uint64_t r = 0; r < rows; ++r) parts.push_back({f.bytes, f.begin + r * out.count * size_of(type)});
  }
  if (out.count == 0) throw InputError(path, 0, "", "holds no elements");
  if (members != 0 && members != out.members) {
    throw InputError(path, 0, "", fmt::format("{} ranks, --ranks says {}", out.members, members));
  }
  if (count != 0 && count != out.count) {
    throw InputError(path, 0, "", fmt::format("{} elements a rank, --count says {}", out.count, count));
  }
  out.data = std::make_unique<FromFiles>(std::move(parts));
  return out;
}

void write_elements(const std::string& path, arp::Type type, bool wide, const arp::Bytes& bytes) {
  std::string out;
  if (is_npy(path)) {
    const unsigned size = wide ? 4 : size_of(type);
    std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}",
                                     descrs(type, wide).front(), bytes.size() / size);
    while ((10 + header.size() + 1) % 64 != 0) header += ' ';
    header += '\n';
    out = std::string("\x93NUMPY\x01\x00", 8);
    out += static_cast<char>(header.size() & 0xff);
    out += static_cast<char>(header.size() >> 8);
    out += header;
  }
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  write_whole(path, out);
}

double element_value(arp::Type type, bool wide, const uint8_t* p) {
  const auto fp32 = [](uint32_t w) {
    float v;
    std::memcpy(&v, &w, sizeof v);
    return static_cast<double>(v);
  };
  const auto word = [p](auto v) {
    std::memcpy(&v, p, sizeof v);
    return v;
  };
  if (wide) return fp32(word(uint32_t{}));
  switch (wire_type(type)) {
    case arp::Type::kFp16:
      return fp32(golden::fp16_to_fp32(word(uint16_t{})));
    case arp::Type::kBf16:
      return fp32(golden::bf16_to_fp32(word(uint16_t{})));
    case arp::Type::kFp32:
      return fp32(word(uint32_t{}));
    case arp::Type::kInt32:
      return word(int32_t{});
    default:
      return static_cast<double>(word(int64_t{}));
  }
}

}  // namespace rnic::collective
