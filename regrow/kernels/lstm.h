// SPDX-License-Identifier: Apache-2.0
// Long short-term memory (Hochreiter and Schmidhuber 1997): the cell, elementwise, and a sequence of cells with the products
// between them. Gates lie in the order input, forget, candidate, output, as in PyTorch. Re-entrant. Any thread.
//
// Threads share the batch: the bits of a row depend on its own operands alone.
#pragma once

#include <cstddef>
#include <span>

#include "regrow/tensor/view.h"

namespace regrow::kernels {

// Rows: gates (N, 4H) before their functions and cells (N, H) before the step, any strides; hidden states and cells after it, and
// the gates after their functions, contiguous. f16 and bf16 compute in f32.
struct LstmCell {
  View gates, cell;
  View hidden, next, active;
};
std::size_t lstm_cell_workspace(const Desc& gates);
void lstm_cell(const LstmCell& c, std::span<std::byte> workspace);

// The gradients of gates and cells from those of hidden states and cells after the step. Results are contiguous.
struct LstmCellBack {
  View d_hidden, d_next;
  View active, cell, next;
  View d_gates, d_cell;
};
std::size_t lstm_cell_back_workspace(const Desc& active);
void lstm_cell_back(const LstmCellBack& c, std::span<std::byte> workspace);

// A sequence, in f32 or f64: gates (T, N, 4H) that inputs and biases give, to which each hidden state adds its product with the
// transpose of weight (4H, H); the state (N, H) before the first step; all states (T, N, H), and gates after their functions. All
// contiguous.
struct Lstm {
  View gates, first_hidden, first_cell, weight;
  View hidden, cells, active;
};
std::size_t lstm_workspace(const Desc& gates);
void lstm(const Lstm& l, std::span<std::byte> workspace);

// Contiguous too. d_cells may have no address: nothing flows back to the cells.
struct LstmBack {
  View d_hidden, d_cells;
  View active, cells, first_cell, weight;
  View d_gates, d_first_hidden, d_first_cell;
};
std::size_t lstm_back_workspace(const Desc& active);
void lstm_back(const LstmBack& l, std::span<std::byte> workspace);

}  // namespace regrow::kernels
