// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "regrow/base/error.h"
#include "regrow/cli/commands.h"

namespace regrow::cli {
namespace {

int complain(std::string text, int code) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  std::fprintf(stderr, "regrow: %s\n", text.c_str());
  return code;
}

}  // namespace

int run(int argc, const char* const* argv) {
  CLI::App app("Regrow: an eager tensor engine that keeps to a memory budget.", "regrow");
  app.set_version_flag("--version", REGROW_VERSION);
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, Command>> commands;
  for (auto add : {add_train, add_sample, add_plan, add_ops, add_info}) {
    Command command = add(app);
    commands.emplace_back(app.get_subcommands({}).back(), std::move(command));
  }
  try {
    app.parse(argc, argv);
    for (const auto& [parsed, command] : commands) {
      if (parsed->parsed()) return command();
    }
    return exit_usage;
  } catch (const CLI::RequiredError& error) {
    // The parser notices the missing command before the unknown one.
    const bool unknown = argc > 1 && argv[1][0] != '-' && app.get_subcommands().empty();
    return complain(unknown ? "no command is named '" + std::string(argv[1]) + "'; `regrow --help` lists them" : error.what(),
                    exit_usage);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return complain(error.what(), exit_usage);
  } catch (const UsageError& error) {
    return complain(error.what(), exit_usage);
  } catch (const Error& error) {
    return complain(error.message(), exit_failed);
  } catch (const std::exception& error) {
    return complain(error.what(), exit_failed);
  }
}

}  // namespace regrow::cli
