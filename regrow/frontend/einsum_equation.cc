// SPDX-License-Identifier: Apache-2.0
#include "regrow/frontend/einsum_equation.h"

#include <algorithm>
#include <string>

#include "regrow/base/error.h"

namespace regrow {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string without_spaces(std::string_view text) {
  std::string result;
  std::copy_if(text.begin(), text.end(), std::back_inserter(result), [](char c) { return c != ' '; });
  return result;
}

// The letters of one operand or of the result, with the place of its ellipsis.
struct Term {
  Labels labels;
  std::ptrdiff_t ellipsis = -1;  // among them; -1: there is none
};

Term parse_term(std::string_view text, Site site) {
  Term term;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_letter(text[i])) {
      term.labels.push_back(text[i]);
    } else if (text.substr(i, 3) == "...") {
      if (term.ellipsis >= 0) fail_at(site, "einsum: more than one ellipsis in '{}'", text);
      term.ellipsis = static_cast<std::ptrdiff_t>(term.labels.size());
      i += 2;
    } else {
      fail_at(site, "einsum: '{}' in '{}' is neither a letter nor an ellipsis", text[i], text);
    }
  }
  return term;
}

// With `axes` axes in place of the ellipsis.
Labels expanded(const Term& term, int axes) {
  Labels labels = term.labels;
  if (term.ellipsis >= 0)
    for (int i = 0; i < axes; ++i) labels.insert(labels.begin() + term.ellipsis, i);  // ends with 0: the last axis
  return labels;
}

std::vector<Term> parse_inputs(std::string_view text, std::size_t operands, Site site) {
  std::vector<Term> terms;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    terms.push_back(parse_term(text.substr(from, comma - from), site));
    from = comma + 1;
  }
  if (terms.size() != operands) fail_at(site, "einsum: '{}' names {} operands, but there are {}", text, terms.size(), operands);
  return terms;
}

// The letters that occur once, in alphabetical order, after the axes of ellipses.
Term implied_output(const std::vector<Term>& inputs) {
  Labels all;
  Term output;
  for (const Term& term : inputs) {
    all.insert(all.end(), term.labels.begin(), term.labels.end());
    if (term.ellipsis >= 0) output.ellipsis = 0;
  }
  std::sort(all.begin(), all.end());
  for (Label label : all)
    if (std::count(all.begin(), all.end(), label) == 1) output.labels.push_back(label);
  return output;
}

void check_output(const Term& output, const std::vector<Term>& inputs, Site site) {
  bool ellipsis = false;
  for (const Term& input : inputs) ellipsis = ellipsis || input.ellipsis >= 0;
  if (ellipsis != (output.ellipsis >= 0))
    fail_at(site, "einsum: an ellipsis must be in the result if it is in an operand, and only then");
  for (Label label : output.labels) {
    const auto has = [&](const Term& term) { return std::count(term.labels.begin(), term.labels.end(), label) != 0; };
    const char letter = static_cast<char>(label);
    if (std::none_of(inputs.begin(), inputs.end(), has)) fail_at(site, "einsum: '{}' of the result is in no operand", letter);
    if (std::count(output.labels.begin(), output.labels.end(), label) > 1)
      fail_at(site, "einsum: '{}' is twice in the result", letter);
  }
}

}  // namespace

EinsumEquation parse_einsum(std::string_view equation, const std::vector<int>& ranks, Site site) {
  const std::string text = without_spaces(equation);
  const std::size_t arrow = std::min(text.find("->"), text.size());
  const std::vector<Term> inputs = parse_inputs(std::string_view(text).substr(0, arrow), ranks.size(), site);
  const Term output = arrow < text.size() ? parse_term(std::string_view(text).substr(arrow + 2), site) : implied_output(inputs);
  check_output(output, inputs, site);
  EinsumEquation result;
  int most = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const int named = static_cast<int>(inputs[i].labels.size()), axes = ranks[i] - named;
    if (axes < 0 || (axes > 0 && inputs[i].ellipsis < 0))
      fail_at(site, "einsum: operand {} has {} axes, its term names {}", i, ranks[i], named);
    result.inputs.push_back(expanded(inputs[i], axes));
    if (inputs[i].ellipsis >= 0) most = std::max(most, axes);
  }
  result.output = expanded(output, most);
  return result;
}

}  // namespace regrow
