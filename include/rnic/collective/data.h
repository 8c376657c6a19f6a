// SPDX-License-Identifier: Apache-2.0
// What the ranks of an AllReduce contribute: generated, or read from files; and results written to files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rnic/golden/allreduce.h"

namespace rnic::collective {

/// The vectors of all ranks.
class Contributions {
 public:
  virtual ~Contributions() = default;
  /// Bytes [at, at + n) of the n-th member's vector in this step; `at` and `n` are multiples of the element's size.
  virtual golden::arp::Bytes bytes(unsigned member, unsigned step, uint64_t at, uint64_t n) const = 0;
};

enum class Values {
  kNormal,   ///< floats of either sign from 2^-8 to 2^8 or so; whole numbers of any size
  kSpecial,  ///< every tenth a zero, subnormal, infinity, NaN or largest number
  kIndex,    ///< element i of member m holds (i + m) modulo 100, exact in every type
};

std::unique_ptr<Contributions> generated(golden::arp::Type type, Values values, uint64_t seed);

/// Vectors from files, and what their headers say of them.
struct Loaded {
  std::unique_ptr<Contributions> data;
  unsigned members = 0;
  uint64_t count = 0;  ///< elements of each
};

/// `path`: a folder with rank0.npy or rank0.bin, rank1..., or one file with all ranks, one behind the other (.npy: an
/// array of ranks x elements). `members` and `count` 0: as many as the files hold; without a header (raw files) one of
/// the two has to be known where one file holds all ranks. Throws InputError: no such file, another type, other sizes.
Loaded load_contributions(const std::string& path, golden::arp::Type type, unsigned members, uint64_t count);

/// An array in NumPy's format; of a file's bytes. Throws InputError.
struct NpyArray {
  std::string descr;  ///< such as "<f4"
  std::vector<uint64_t> shape;
  size_t data_begin = 0;
};
NpyArray parse_npy(const std::string& bytes, const std::string& file);

/// Writes elements as they are, or with a header when the name ends in .npy (BF16 as 16-bit words). Throws InputError.
void write_elements(const std::string& path, golden::arp::Type type, bool wide, const golden::arp::Bytes& bytes);

/// An element as a number.
double element_value(golden::arp::Type type, bool wide, const uint8_t* p);

}  // namespace rnic::collective
