// SPDX-License-Identifier: Apache-2.0
#include "rnic/profile/profile.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace {

using namespace rnic;
namespace fs = std::filesystem;

/// A complete profile as text, one key a line in the order of the schema from line 4 on; `edit` replaces a key's line
/// (empty: leaves it out).
std::string complete(const std::map<std::string, std::string>& edit = {}) {
  const Profile seed = Profile::load("seed-400g");
  std::string out = "name = \"t\"\ndescription = \"d\"\n[keys]\n";
  for (const auto& k : profile_schema()) {
    const auto e = edit.find(k.name);
    if (e != edit.end()) {
      out += e->second + "\n";
    } else {
      const std::string value =
          k.unit == "text" ? "\"" + seed.text(k.name) + "\"" : fmt::to_string(seed.number(k.name));
      out += fmt::format("\"{}\" = {{ value = {}, unit = \"{}\", kind = \"assumed\", source = \"s\" }}\n", k.name,
                         value, k.unit);
    }
  }
  return out;
}

/// Line that a key has in complete().
unsigned line_of(const std::string& key) {
  unsigned line = 4;
  for (const auto& k : profile_schema()) {
    if (k.name == key) return line;
    ++line;
  }
  return 0;
}

std::string error_of(const std::function<void()>& fn) {
  try {
    fn();
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

std::string parse_error(const std::string& toml) {
  return error_of([&] { Profile::parse(toml, "p.toml"); });
}

/// Error of a complete profile in which the line of `key` reads `line`; the place is checked and cut off.
std::string key_error(const std::string& key, const std::string& line) {
  const std::string what = parse_error(complete({{key, line}}));
  const std::string place = fmt::format("p.toml:{}: key '{}': ", line_of(key), key);
  EXPECT_EQ(what.substr(0, place.size()), place);
  return what.size() > place.size() ? what.substr(place.size()) : "";
}

std::string gpu_read(const std::string& fields) { return "\"gpu.read_latency\" = { " + fields + " }"; }

/// A folder of profile files that goes away with the test.
struct Folder {
  fs::path path = fs::temp_directory_path() / fmt::format("rnic_profile_test_{}", ::getpid());
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
    return (path / name).string();
  }
};

// Every built-in profile loads, sets every key of the schema, and says who it is.
TEST(ProfileTest, BuiltInProfilesAreComplete) {
  const auto names = Profile::builtin();
  for (const char* expected : {"seed-400g", "gen5-measured", "gen4-200g"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), expected), names.end()) << expected;
  }
  for (const auto& name : names) {
    const Profile p = Profile::load(name);
    EXPECT_EQ(p.name(), name);
    EXPECT_NE(p.description().find("Topology"), std::string::npos);
    EXPECT_EQ(p.entries().size(), profile_schema().size());
    for (const auto& [key, v] : p.entries()) {
      EXPECT_NE(find_key(key), nullptr) << key;
      EXPECT_GT(v.source.size(), 10u) << name << " " << key;
    }
  }
}

// The fitted profile counts its fitted keys and names its targets; a key set by hand is no longer fitted.
TEST(ProfileTest, FittedKeysAreCounted) {
  Profile p = Profile::load("seed-400g");
  ASSERT_GT(p.count("fitted"), 0u);
  ASSERT_GT(p.targets().size(), 0u);
  EXPECT_EQ(p.fit_note(), fmt::format("fitted to the document: {} keys, {} targets; agreement is by construction",
                                      p.count("fitted"), p.targets().size()));
  const size_t before = p.count("fitted");
  p.set("gpu.read_latency=80");
  EXPECT_EQ(p.count("fitted"), before - 1);
  const Profile measured = Profile::load("gen5-measured");
  EXPECT_EQ(measured.fit_note(), fmt::format("fitted to published measurements: {} keys, {} targets; agreement is by "
                                             "construction",
                                             measured.count("fitted"), measured.targets().size()));
  EXPECT_EQ(Profile::parse(measured.to_toml(), "again.toml").fit_note(), measured.fit_note());
  const Profile seed = Profile::load("seed-400g");
  for (const auto& [key, v] : seed.entries()) {
    if (v.kind == "fitted") p.set(key + "=70");
  }
  EXPECT_EQ(p.fit_note(), "");
}

// Values come out in their own type and exact to the picosecond.
TEST(ProfileTest, TypedAccess) {
  Profile p = Profile::parse(
      complete({{"gpu.read_latency", gpu_read("value = 75.125, unit = \"ns\", lo = 60, hi = 90.5, kind = \"measured\", "
                                              "source = \"x\"")}}),
      "p.toml");
  EXPECT_EQ(to_ps(p.time("gpu.read_latency")), 75125u);
  EXPECT_EQ(to_ps(p.time("clock.core_period")), 1000u);
  EXPECT_EQ(p.integer("mac.rate"), 400u);
  const KeyValue& e = p.entry("gpu.read_latency");
  EXPECT_EQ(e.lo, 60);
  EXPECT_EQ(e.hi, 90.5);
  EXPECT_EQ(e.kind, "measured");
  EXPECT_EQ(e.source, "x");
  EXPECT_EQ(e.file, "p.toml");
  EXPECT_EQ(e.line, line_of("gpu.read_latency"));
  EXPECT_THROW(p.time("gpu.read_latancy"), SimError);
  EXPECT_THROW(p.time("mac.rate"), SimError);
  EXPECT_THROW(p.text("mac.rate"), SimError);
}

// Keys may stand in nested tables or dotted under [keys]; both mean the same.
TEST(ProfileTest, NestedTablesAndDottedKeys) {
  const std::string fields = "{ value = 7, unit = \"ns\", kind = \"assumed\", source = \"s\" }";
  for (const std::string& tail : std::vector<std::string>{
           "[gpu]\nread_latency = " + fields,
           "[gpu.read_latency]\nvalue = 7\nunit = \"ns\"\nkind = \"assumed\"\nsource = \"s\"",
           "[keys.gpu]\nread_latency = " + fields, "[keys]\n\"gpu.read_latency\" = " + fields,
           "[keys.\"gpu.read_latency\"]\nvalue = 7\nunit = \"ns\"\nkind = \"assumed\"\nsource = \"s\""}) {
    const Profile p =
        Profile::parse("name = \"t\"\ndescription = \"d\"\nextends = \"seed-400g\"\n" + tail + "\n", "p.toml");
    EXPECT_EQ(p.number("gpu.read_latency"), 7) << tail;
    EXPECT_EQ(p.entry("gpu.read_latency").line, tail.find('\n', 0) != tail.rfind('\n') ? 4u : 5u) << tail;
    EXPECT_EQ(p.number("mac.rate"), 400);
  }
}

// Text that is not TOML is named with its line.
TEST(ProfileTest, GarbledToml) {
  EXPECT_EQ(parse_error("name = \"t\"\n[gpu\nx = 1\n").substr(0, 25), "p.toml:2: not valid TOML:");
  EXPECT_EQ(parse_error("name = \"t\"\ndescription = \"cut").substr(0, 25), "p.toml:2: not valid TOML:");
  EXPECT_EQ(parse_error(std::string("\xff\xfe\x00garbage", 10)).substr(0, 25), "p.toml:1: not valid TOML:");
  // A file cut anywhere gives an error, never a crash or a profile.
  const std::string whole = complete();
  for (size_t n = 0; n + 1 < whole.size(); n += 37) {
    const std::string what = parse_error(whole.substr(0, n));
    EXPECT_EQ(what.substr(0, 6), "p.toml") << n << " " << what;
  }
}

// A key outside the schema, at any depth, is an error that names the nearest known one.
TEST(ProfileTest, UnknownKey) {
  EXPECT_EQ(parse_error(complete() + "\"gpu.read_latancy\" = 1\n"),
            fmt::format("p.toml:{}: key 'gpu.read_latancy': unknown key; the nearest known one is 'gpu.read_latency' "
                        "('rnicsim profile show' lists all)",
                        4 + profile_schema().size()));
  const std::string head = "name = \"t\"\ndescription = \"d\"\nextends = \"seed-400g\"\n";
  EXPECT_EQ(parse_error(head + "[mac]\nrates = { value = 400 }\n").substr(0, 46),
            "p.toml:5: key 'mac.rates': unknown key; the ne");
  EXPECT_EQ(parse_error(head + "[gpus]\nx = 1\n").substr(0, 36), "p.toml:4: key 'gpus': unknown key; t");
  EXPECT_EQ(parse_error(head + "gpu = 3\n"), "p.toml:4: key 'gpu': must be a table of keys ([gpu]), not a number");
  EXPECT_EQ(parse_error("colour = 1\n" + head).substr(0, 38), "p.toml:1: key 'colour': unknown key; t");
}

// Wrong fields of a key: each named with place, fault and what is allowed.
TEST(ProfileTest, WrongFields) {
  const std::string good = "unit = \"ns\", kind = \"assumed\", source = \"s\"";
  EXPECT_EQ(key_error("gpu.read_latency", "\"gpu.read_latency\" = 88"),
            "must be a table { value, unit, lo, hi, kind, source }, not a number");
  EXPECT_EQ(key_error("gpu.read_latency", gpu_read("valu = 1, " + good)),
            "unknown field 'valu'; allowed: value, unit, lo, hi, kind, source; the nearest is 'value'");
  EXPECT_EQ(key_error("gpu.read_latency", gpu_read(good)), "field 'value' is missing; allowed: 0 to 1000000 ns");
  EXPECT_EQ(key_error("gpu.read_latency", gpu_read("value = 1, kind = \"assumed\", source = \"s\"")),
            "field 'unit' is missing");
  EXPECT_EQ(key_error("gpu.read_latency", gpu_read("value = \"88 ns\", " + good)),
            "field 'value' must be a number, not a text; allowed: 0 to 1000000 ns");
  EXPECT_EQ(key_error("gpu.read_latency", gpu_read("value = 1, unit = 5, kind = \"assumed\", source = \"s\"")),
            "field 'unit' must be a text, not a number");
  EXPECT_EQ(key_error("gpu.read_latency", gpu_read("value = 1, unit = \"us\", kind = \"assumed\", source = \"s\"")),
            "unit is 'us'; allowed: 'ns'");
  EXPECT_EQ(
      key_error("gpu.read_latency", gpu_read("value = 1, unit = \"ns\", kind = \"guessed\", source = \"s\"")),
      "unknown kind 'guessed'; allowed: document, measured, datasheet, assumed, fitted; the nearest is 'measured'");
  EXPECT_EQ(key_error("gpu.read_latency", gpu_read("value = 1, unit = \"ns\", kind = \"assumed\"")),
            "field 'source' is missing");
  EXPECT_EQ(key_error("gpu.read_latency", gpu_read("value = 1, unit = \"ns\", kind = \"assumed\", source = \"\"")),
            "source is empty: say where the figure comes from");
  EXPECT_EQ(key_error("gpu.read_latency", gpu_read("value = 1, lo = 1, " + good)), "'lo' stands without 'hi'");
  EXPECT_EQ(key_error("gpu.read_latency", gpu_read("value = 1, lo = 3, hi = 2, " + good)), "lo 3 is above hi 2");
}

// Wrong values: range, choice, resolution, infinity, build keys.
TEST(ProfileTest, WrongValues) {
  const std::string good = ", unit = \"ns\", kind = \"assumed\", source = \"s\"";
  const auto one = [](const char* key, const char* value, const char* unit) {
    return key_error(key, fmt::format("\"{}\" = {{ value = {}, unit = \"{}\", kind = \"assumed\", source = \"s\" }}",
                                      key, value, unit));
  };
  EXPECT_EQ(one("gpu.read_latency", "-1", "ns"), "-1 is out of range; allowed: 0 to 1000000 ns");
  EXPECT_EQ(one("gpu.read_latency", "1e7", "ns"), "10000000 is out of range; allowed: 0 to 1000000 ns");
  EXPECT_EQ(one("gpu.read_latency", "nan", "ns"), "nan is not a number; allowed: 0 to 1000000 ns");
  EXPECT_EQ(one("gpu.read_latency", "inf", "ns"), "inf is not a number; allowed: 0 to 1000000 ns");
  EXPECT_EQ(one("gpu.read_latency", "0.0001", "ns"),
            "0.0001 is finer than 1 ps, the resolution of simulated time; allowed: 0 to 1000000 ns");
  EXPECT_EQ(one("pcie.lanes", "3", "1"), "3 is not allowed; allowed: 1, 2, 4, 8, 12, 16");
  EXPECT_EQ(one("mac.rate", "300", "Gb/s"), "300 is not allowed; allowed: 100, 200, 400, 800 Gb/s");
  EXPECT_EQ(one("pcie.pd_credits", "1.5", "1"), "1.5 is not a whole number; allowed: 0 to 2047");
  EXPECT_EQ(one("mac.tx_buffer", "4096", "B"), "4096 is out of range; allowed: 9280 to 16777216 B");
  EXPECT_EQ(one("build.data_width", "1024", "1"),
            "1024 asked for, but the RTL in this build has 512; allowed: 512 (fixed when Verilating: DataW in "
            "rtl/pkg/rnic_pkg.sv)");
  EXPECT_EQ(one("gpu.read_latency", "9223372036854775807", "ns"),
            "9.223372036854776e+18 is out of range; allowed: 0 to 1000000 ns");
  for (const char* few : {"1", "3"}) {
    EXPECT_EQ(
        one("pcie.pd_credits", few, "1"),
        std::string(few) + " credits of 16 B are less than a write of 64 B needs; allowed: 0 (no limit), 4 to 2047");
  }
}

// Ranges are finite, and texts that stand in tables and messages are one line.
TEST(ProfileTest, RangesAndTextsThatCanBeShown) {
  const std::string head = "name = \"t\"\ndescription = \"d\"\nextends = \"seed-400g\"\n";
  const auto key = [&](const std::string& fields) {
    return parse_error(head + "[gpu]\nread_latency = { value = 7, unit = \"ns\", kind = \"assumed\", " + fields +
                       " }\n");
  };
  const std::string place = "p.toml:5: key 'gpu.read_latency': ";
  EXPECT_EQ(key("source = \"s\", lo = -inf, hi = inf"), place + "field 'lo' must be a finite number, not -inf");
  EXPECT_EQ(key("source = \"s\", lo = 1, hi = nan"), place + "field 'hi' must be a finite number, not nan");
  EXPECT_EQ(key("source = \"a\\nb\""), place + "field 'source' must not hold control characters");
  for (const char* first :
       {"name = \"a\\u001b[31m\"\n", "name = \"a\\nb\"\n", "extends = \"a\\u0000b\"\nname = \"t\"\n"}) {
    EXPECT_NE(parse_error(std::string(first) + "description = \"d\"\n").find("must not hold control characters"),
              std::string::npos)
        << first;
  }
  EXPECT_EQ(parse_error(head + "\"gpu\\u001b\" = 1\n").substr(0, 32), "p.toml:4: key 'gpu\\x1b': unknown");
}

// A key that no profile of the chain sets is an error that says what it means.
TEST(ProfileTest, MissingKey) {
  EXPECT_EQ(parse_error(complete({{"wire.latency", ""}})),
            "p.toml: key 'wire.latency': missing, and no profile that this one extends sets it: flight of a bit to the "
            "other end; unit ns, allowed: 0 to 1000000 ns");
  EXPECT_EQ(parse_error(complete({{"wire.latency", ""}, {"mac.rate", ""}, {"pcie.mps", ""}})),
            "p.toml: key 'pcie.mps': missing, and no profile that this one extends sets it: largest TLP payload (MPS); "
            "unit B, allowed: 128, 256, 512, 1024, 2048, 4096 B; 2 more keys are missing");
  EXPECT_EQ(parse_error("description = \"d\"\n"), "p.toml: key 'name': missing: every profile has one");
  EXPECT_EQ(parse_error("name = 3\n"), "p.toml:1: key 'name': must be a text, not a number");
}

// The same key twice in one file, by its two spellings.
TEST(ProfileTest, KeySetTwice) {
  const std::string what = parse_error(
      complete() + "[gpu]\nread_latency = { value = 7, unit = \"ns\", kind = \"assumed\", source = \"s\" }\n");
  EXPECT_NE(what.find("key 'gpu.read_latency': set twice in this file, first on line"), std::string::npos) << what;
}

// extends: by name, by path relative to the file, over several steps; a ring, a missing base and a wrong type are
// errors.
TEST(ProfileTest, Extends) {
  const Folder dir;
  const std::string key = "[gpu]\nread_latency = { value = 7, unit = \"ns\", kind = \"assumed\", source = \"s\" }\n";
  dir.write("base.toml", "name = \"base\"\ndescription = \"d\"\nextends = \"gen5-measured\"\n" + key);
  const std::string top = dir.write("top.toml", "name = \"top\"\ndescription = \"e\"\nextends = \"./base.toml\"\n");
  const Profile p = Profile::load(top);
  EXPECT_EQ(p.name(), "top");
  EXPECT_EQ(p.description(), "e");
  EXPECT_EQ(p.number("gpu.read_latency"), 7);
  EXPECT_EQ(p.number("pcie.hub_peer_latency"), Profile::load("gen5-measured").number("pcie.hub_peer_latency"));

  const std::string a = dir.write("a.toml", "name = \"a\"\ndescription = \"d\"\nextends = \"b.toml\"\n");
  dir.write("b.toml", "name = \"b\"\ndescription = \"d\"\n\nextends = \"c\"\n");
  dir.write("c.toml", "name = \"c\"\nextends = \"./b.toml\"\ndescription = \"d\"\n");
  const std::string ring = error_of([&] { Profile::load(a); });
  EXPECT_NE(ring.find("c.toml:2: key 'extends': profiles extend one another in a ring: b.toml -> c.toml -> b.toml"),
            std::string::npos)
      << ring;
  const std::string self = dir.write("self.toml", "name = \"s\"\ndescription = \"d\"\nextends = \"self\"\n");
  EXPECT_NE(error_of([&] { Profile::load(self); }).find("ring: self.toml -> self.toml"), std::string::npos);

  const std::string gone = dir.write("gone.toml", "name = \"s\"\ndescription = \"d\"\nextends = \"nowhere.toml\"\n");
  EXPECT_NE(error_of([&] { Profile::load(gone); }).find("gone.toml:3: key 'extends': "), std::string::npos);
  EXPECT_NE(parse_error("name = \"s\"\ndescription = \"d\"\nextends = \"seed-40g\"\n")
                .find("p.toml:3: key 'extends': no profile named 'seed-40g'; built in: gen4-200g, gen5-measured, "
                      "seed-400g; the nearest is 'seed-400g'"),
            std::string::npos);
  EXPECT_EQ(parse_error("extends = 4\n"), "p.toml:1: key 'extends': must be a profile's name or path, not a number");
}

// A name that is not built in, a file that is not there, a folder.
TEST(ProfileTest, NothingToLoad) {
  EXPECT_EQ(error_of([] { Profile::load("gen5-mesured"); }),
            "no profile named 'gen5-mesured'; built in: gen4-200g, gen5-measured, seed-400g; the nearest is "
            "'gen5-measured'; a file is given by its path");
  EXPECT_EQ(error_of([] { Profile::load("./nowhere.toml"); }), "./nowhere.toml: no such file");
  const Folder dir;
  EXPECT_EQ(error_of([&] { Profile::load(dir.path.string() + "/"); }),
            dir.path.string() + "/: is a folder, not a profile");
}

// RNICSIM_PROFILES replaces the built-in folder; a value that is no folder is an error.
TEST(ProfileTest, FolderFromTheEnvironment) {
  const Folder dir;
  dir.write("mine.toml", complete());
  setenv("RNICSIM_PROFILES", "/nowhere", 1);
  EXPECT_EQ(error_of([] { Profile::folder(); }),
            "the environment variable RNICSIM_PROFILES names '/nowhere', which is no folder");
  setenv("RNICSIM_PROFILES", dir.path.c_str(), 1);
  EXPECT_EQ(Profile::builtin(), std::vector<std::string>{"mine"});
  EXPECT_EQ(Profile::load("mine").name(), "t");
  unsetenv("RNICSIM_PROFILES");
}

// --set takes key=value in the key's unit and is checked as a file is.
TEST(ProfileTest, Set) {
  Profile p = Profile::load("seed-400g");
  p.set("gpu.read_latency=88.5");
  EXPECT_EQ(to_ps(p.time("gpu.read_latency")), 88500u);
  EXPECT_EQ(p.entry("gpu.read_latency").file, "--set");
  EXPECT_EQ(p.entry("gpu.read_latency").kind, "assumed");
  p.set("build.data_width=512");
  const auto e = [&](const char* s) { return error_of([&] { p.set(s); }); };
  EXPECT_EQ(e("gpu.read_latency"), "--set: 'gpu.read_latency' is not of the form key=value");
  EXPECT_EQ(e("=3"), "--set: '=3' is not of the form key=value");
  EXPECT_EQ(e("gpu.raed_latency=3"),
            "--set: key 'gpu.raed_latency': unknown key; the nearest known one is 'gpu.read_latency' ('rnicsim profile "
            "show' lists all)");
  EXPECT_EQ(e("gpu.read_latency=88ns"),
            "--set: key 'gpu.read_latency': '88ns' is not a number; the unit is ns and is not written; allowed: 0 to "
            "1000000 ns");
  EXPECT_EQ(
      e("gpu.read_latency="),
      "--set: key 'gpu.read_latency': '' is not a number; the unit is ns and is not written; allowed: 0 to 1000000 "
      "ns");
  EXPECT_EQ(e("gpu.read_latency=-3"), "--set: key 'gpu.read_latency': -3 is out of range; allowed: 0 to 1000000 ns");
  EXPECT_EQ(e("build.read_tags=64").substr(0, 60), "--set: key 'build.read_tags': 64 asked for, but the RTL in t");
  EXPECT_EQ(p.number("gpu.read_latency"), 88.5);  // a refused value changes nothing
}

// to_toml() gives a file that loads to equal values, kinds, sources and targets.
TEST(ProfileTest, RoundTrip) {
  for (const auto& name : Profile::builtin()) {
    Profile p = Profile::load(name);
    p.set("gpu.read_latency=75.001");
    const Profile q = Profile::parse(p.to_toml(), "again.toml");
    EXPECT_EQ(q.name(), p.name());
    EXPECT_EQ(q.description(), p.description());
    EXPECT_EQ(q.targets(), p.targets());
    ASSERT_EQ(q.entries().size(), p.entries().size());
    for (const auto& [key, v] : p.entries()) {
      const KeyValue& w = q.entry(key);
      EXPECT_EQ(w.value, v.value) << key;
      EXPECT_EQ(w.lo, v.lo) << key;
      EXPECT_EQ(w.hi, v.hi) << key;
      EXPECT_EQ(w.kind, v.kind) << key;
      EXPECT_EQ(w.source, v.source) << key;
    }
    EXPECT_EQ(q.to_toml(), p.to_toml());
  }
}

// A key whose value is one of some texts: from a file, from the command line, and what is wrong with others.
TEST(ProfileTest, TextKeys) {
  Profile p = Profile::load("seed-400g");
  EXPECT_EQ(p.text("pcie.topology"), "direct");
  p.set("pcie.topology=PXB");
  EXPECT_EQ(p.text("pcie.topology"), "PXB");
  EXPECT_EQ(Profile::parse(p.to_toml(), "again.toml").text("pcie.topology"), "PXB");
  EXPECT_THROW(p.number("pcie.topology"), SimError);
  EXPECT_EQ(error_of([&] { p.set("pcie.topology=pix"); }),
            "--set: key 'pcie.topology': 'pix' is not allowed; allowed: direct, PIX, PXB, PHB, SYS");
  const auto one = [](const std::string& fields) {
    return key_error("pcie.topology",
                     "\"pcie.topology\" = { unit = \"text\", kind = \"assumed\", source = \"s\", " + fields + " }");
  };
  EXPECT_EQ(one("value = \"NODE\""), "'NODE' is not allowed; allowed: direct, PIX, PXB, PHB, SYS");
  EXPECT_EQ(one("value = 3"), "field 'value' must be a text, not a number");
  EXPECT_EQ(one("value = \"PIX\", lo = 1, hi = 2"), "a text has no range: 'lo' and 'hi' are for numbers");
}

}  // namespace
