// SPDX-License-Identifier: Apache-2.0
#include "regrow/remat/candidates.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace regrow::remat {
namespace {

constexpr auto later = [](const auto& a, const auto& b) { return a.order > b.order || (a.order == b.order && a.id > b.id); };

}  // namespace

double distance(const Standing& standing, double now, double foretold_now) noexcept {
  return std::max(standing.foretold ? standing.at - foretold_now : now - standing.at, 0.0);
}

double Candidates::score(const Standing& standing, double now, double foretold_now) const noexcept {
  const double d = distance(standing, now, foretold_now);
  if (alpha_ == 0) return d == never ? 0 : standing.density;
  return standing.density / (alpha_ == 1 ? d : std::pow(d, alpha_));  // never: 0
}

std::size_t Candidates::bucket_of(double density) noexcept {
  if (!(density > 0)) return 0;
  return static_cast<std::size_t>(std::clamp((std::log2(density) + 96) * 16, 1.0, static_cast<double>(buckets) - 1));
}

void Candidates::insert(std::uint32_t id, const Standing& standing) {
  if (id >= version_.size()) version_.resize(id + std::size_t{1});
  if (entries_ > 4 * held_ + 256) rebuild();
  held_ += holds(id) ? 0 : 1;
  version_[id] += holds(id) ? 2 : 1;
  const std::size_t bucket = bucket_of(standing.density), kind = standing.foretold ? 1 : 0;
  Heap& heap = heaps_[bucket][kind];
  heap.push_back({standing.foretold ? -standing.at : standing.at, standing.density, id, version_[id]});
  std::push_heap(heap.begin(), heap.end(), later);
  filled_[kind][bucket / 64] |= std::uint64_t{1} << bucket % 64;
  ++entries_;
}

void Candidates::remove(std::uint32_t id) noexcept {
  if (!holds(id)) return;
  ++version_[id];
  --held_;
}

const Candidates::Entry* Candidates::head(Heap& heap) {
  while (!heap.empty() && !current(heap.front())) {
    std::pop_heap(heap.begin(), heap.end(), later);
    heap.pop_back();
    --entries_;
  }
  return heap.empty() ? nullptr : &heap.front();
}

Candidates::Choice Candidates::lowest(double now, double foretold_now) {
  Choice best;
  for (std::size_t kind = 0; kind < 2; ++kind) {
    for (std::size_t w = 0; w < buckets / 64; ++w) {
      for (std::uint64_t bits = filled_[kind][w]; bits != 0; bits &= bits - 1) {
        const std::size_t bucket = w * 64 + static_cast<std::size_t>(std::countr_zero(bits));
        const Entry* entry = head(heaps_[bucket][kind]);
        if (entry == nullptr) {
          filled_[kind][w] &= ~(std::uint64_t{1} << bucket % 64);
          continue;
        }
        const Standing standing = {entry->density, kind == 1 ? -entry->order : entry->order, kind == 1};
        const double its = score(standing, now, foretold_now);
        if (best.id == ~0u || its < best.score) best = {entry->id, standing, its};
      }
    }
  }
  return best;
}

void Candidates::rebuild() {
  for (auto& pair : heaps_) {
    for (Heap& heap : pair) {
      std::erase_if(heap, [this](const Entry& entry) { return !current(entry); });
      std::make_heap(heap.begin(), heap.end(), later);
    }
  }
  entries_ = held_;
}

void Candidates::clear() {
  for (auto& pair : heaps_) {
    for (Heap& heap : pair) heap.clear();
  }
  filled_ = {};
  version_.clear();
  entries_ = held_ = 0;
}

}  // namespace regrow::remat
