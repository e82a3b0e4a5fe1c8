// What run() promises an epilogue that packs in pieces and stores in steps (pipeline/store_shadow.h), where
// the steps of a tile are spread over the MMAs around the switch to the next one.
#include <limits>

#include "tests/pipeline/run_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();

/// C = 2 A B by ordinary stores. Whatever has moved on leaves poison behind: a step that comes too early,
/// twice or to the wrong tile shows in C.
template <class D, class Out>
struct InSteps {
  Out out;

  template <class Accumulator>
  struct Bound {
    using Held = typename Accumulator::held_type;
    static constexpr int pieces = 4, size = Accumulator::size(), of_piece = size / pieces;
    static constexpr int packed_registers = size / 2;  // as if they were of 16 bits

    const InSteps& epilogue;
    float packed[size], staged[2][of_piece];
    bool drained = false;

    explicit Bound(const InSteps& of) : epilogue(of) {
      std::fill_n(packed, size, kPoison);
      for (auto& buffer : staged) std::fill_n(buffer, of_piece, kPoison);
    }
    static bool packs_early() { return true; }
    void pack(Accumulator& accumulator, schedule::TileCoord tile) { pack_piece<0, 1>(accumulator, tile); }
    template <int Piece, int Count>
    void pack_piece(Accumulator& accumulator, schedule::TileCoord) {
      float values[size / Count];
      accumulator.template get_elements<Piece * size / Count>(values);
      for (int i = 0; i < size / Count; ++i) packed[Piece * size / Count + i] = 2 * values[i];
    }
    template <int Piece>
    void store(schedule::TileCoord tile) {
      drained = true;  // whole pieces wait for their buffers
      stage<Piece>();
      publish<Piece>(tile);
    }
    void drain() { drained = true; }
    template <int Piece>
    void stage() {
      float(&to)[of_piece] = staged[Piece % 2];
      float* from = packed + Piece * of_piece;
      const bool free = (drained || Piece > 1) && std::isnan(to[0]);
      for (int i = 0; i < of_piece; ++i) to[i] = free ? from[i] : kPoison;
      std::fill_n(from, of_piece, kPoison);
      if (Piece == 1) drained = false;
    }
    template <int Piece>
    void publish(schedule::TileCoord tile) {
      const auto view = get_tile(epilogue.out, D::c_shape, tile.m, tile.n, tile.batch);
      for (int i = 0; i < of_piece; ++i) {
        const int at = Piece * of_piece + i;
        const Coord first = Held::first(at / Held::part_size);
        const uint32_t m = first.m + Held::down(at % Held::part_size);
        const uint32_t n = first.n + Held::across(at % Held::part_size);
        if (m < view.rows() && n < view.columns()) view(m, n) = staged[Piece % 2][i];
      }
      std::fill_n(staged[Piece % 2], of_piece, kPoison);
    }
    void finish() {}
  };

  template <class Accumulator>
  Bound<Accumulator> bind(std::byte*) const {
    return Bound<Accumulator>(*this);
  }
};

template <class D, int Depth>
void check_steps(int64_t m, int64_t n, int64_t k) {
  SCOPED_TRACE(::testing::Message() << m << " x " << n << " x " << k);
  Matrix<e4m3, row_major> a(m, k, 1, 0, false, "A");
  Matrix<e4m3, col_major> b(k, n, 1, 0, false, "B");
  Matrix<float, row_major> c(m, n, 1, 0, true, "C");
  std::mt19937 random(9);
  a.fill(random, -1, 1);
  b.fill(random, -1, 1);
  const auto p = suggest_pipeline<Depth, D>(a.const_tensor(), b.const_tensor());
  ASSERT_TRUE(p) << p.error().message;
  using Handle = std::decay_t<decltype(p->get_device_handle())>;
  using Epilogue = InSteps<D, decltype(c.tensor())>;
  using Accumulator = typename TilePipeline<Handle>::accumulator_type;
  static_assert(impl::can_pack_late_v<typename Epilogue::template Bound<Accumulator>, typename Handle::Loop,
                                      Accumulator>);
  const schedule::TileSchedule tiles = p->make_schedule(1);
  const auto config = p->persistent_config(run_kernel<Handle, Epilogue>, tiles, 0, nullptr, 1);
  ASSERT_TRUE(config) << config.error().message;
  run(run_kernel<Handle, Epilogue>, *config, tiles, p->get_device_handle(), Epilogue{c.tensor()});
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      double sum = 0;
      for (int64_t x = 0; x < k; ++x) sum += value_of(a.at(row, x, 0)) * value_of(b.at(x, column, 0));
      ASSERT_EQ(value_of(c.at(row, column, 0)), 2 * sum) << row << ", " << column;
    }
  }
}

class PipelineLateEpilogue : public OnMachine {};

template <int M, int N>
using Promoted = Tile<e4m3, e4m3, float, M, N, 128, 256, Accumulation<promoted<4>>>;

// The fewest K tiles with which steps are spread, fewer (pieces are then stored whole), and more.
TEST_F(PipelineLateEpilogue, gets_each_step_in_time) {
  for (const int64_t k : {384, 512, 704}) check_steps<Promoted<128, 256>, 4>(140, 520, k);
  check_steps<Promoted<256, 128>, 2>(264, 264, 640);
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
