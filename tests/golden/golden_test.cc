// SPDX-License-Identifier: Apache-2.0
// Every operator that NumPy has, against what NumPy says: the files that make.py wrote.
#include <gtest/gtest.h>

#include <set>

#include "regrow/frontend/apply.h"
#include "regrow/frontend/create.h"
#include "tests/golden/derived.h"
#include "tests/golden/golden_file.h"

namespace regrow::golden {
namespace {

using nlohmann::json;

Dims dims(const json& from) {
  Dims list;
  for (const json& size : from) list.push_back(size.get<std::int64_t>());
  return list;
}

AttrValue attribute(AttrType type, const json& from) {
  switch (type) {
    case AttrType::boolean: return from.get<bool>();
    case AttrType::integer: return from.get<std::int64_t>();
    case AttrType::real: return from.get<double>();
    case AttrType::dtype: return dtype_named(from.get<std::string>());
    case AttrType::dims: return dims(from);
    case AttrType::axes: return Axes(dims(from));
    case AttrType::scalar: return from.is_number_integer() ? Scalar(from.get<std::int64_t>()) : Scalar(from.get<double>());
    default: throw std::runtime_error("a golden file gives an attribute of a type that none has");
  }
}

std::vector<Tensor> results(const Case& wanted) {
  std::vector<Tensor> in, out;
  for (const HostArray& array : wanted.in) in.push_back(tensor(array));
  if (call_derived(wanted.op, in, wanted.attrs, out)) return out;
  const OpRecord* record = find_op(wanted.op);
  if (!record) throw std::runtime_error("nothing is named " + wanted.op);
  std::vector<AttrArg> attrs;
  for (const AttrSpec& spec : record->attributes)
    if (const auto given = wanted.attrs.find(spec.name); given != wanted.attrs.end())
      attrs.push_back({spec.name, attribute(spec.type, *given)});
  if (attrs.size() != wanted.attrs.size())
    throw std::runtime_error(wanted.op + " lacks one of these attributes: " + wanted.attrs.dump());
  return regrow::apply(Op(*record, Attrs(record->name, record->attributes, attrs)), in);
}

const char* const families[] = {"unary", "binary", "reduction", "shape", "index", "sort", "scan", "linear"};

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, OperatorsGiveWhatNumPyGives) {
  const std::vector<Case> cases = read(GetParam());
  ASSERT_FALSE(cases.empty());
  for (const Case& wanted : cases) {
    std::vector<Tensor> got;
    try {
      got = ::regrow::golden::results(wanted);
      ASSERT_EQ(got.size(), wanted.out.size()) << wanted.text();
      for (std::size_t k = 0; k < got.size(); ++k)
        EXPECT_EQ(difference(got[k].host(), wanted.out[k], wanted.ulp), "") << wanted.text() << ", output " << k;
    } catch (const std::exception& error) {
      ADD_FAILURE() << wanted.text() << ": " << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Family, Golden, testing::ValuesIn(families),
                         [](const testing::TestParamInfo<const char*>& param) { return std::string(param.param); });

// Of the families that NumPy has too. The rest moves values, reads shapes from them, or belongs to one of these.
TEST(GoldenFiles, CoverEveryOperatorThatNumPyHas) {
  const std::set<std::string_view> ours = {"copy", "copy_to", "shape_of", "reshape_to_value", "broadcast_to_value"};
  const std::set<std::string_view> shared = {"elementwise", "reduce", "shape", "index", "sort", "scan", "linear"};
  const std::set<std::string_view> learning = {"gelu", "silu"};  // of neural networks
  std::set<std::string> covered;
  for (const char* family : families)
    for (const Case& wanted : read(family)) covered.insert(wanted.op);
  for (const OpRecord& record : all_ops()) {
    if (!shared.contains(record.family) || ours.contains(record.name) || learning.contains(record.name)) continue;
    if (record.name.ends_with("_gradient")) continue;
    EXPECT_TRUE(covered.contains(std::string(record.name))) << record.name << " is in none of the golden files";
  }
}

}  // namespace
}  // namespace regrow::golden
