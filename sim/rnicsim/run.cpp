#include "common.h"
namespace rnic::cli { void add_run(CLI::App& app, int&) { app.add_subcommand("run","x"); } }
