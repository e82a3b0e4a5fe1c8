// Products of one block without a pipeline: matrices in shared memory (or anywhere else), the result in
// registers or in memory.
//
//   using MM = decltype(Size<64, 64, 32>() + Precision<f16, f16, float>() + Block() +
//                       BlockDim<128>() + SM<800>());
//
//   MM().execute(alpha, a, b, beta, c);   // C = alpha A B + beta C
//
//   auto accumulator = MM::suggest_accumulator();
//   MM().execute(a, b, accumulator);      // accumulator += A B
//
//   auto result = MM().execute(a, b);     // an accumulator of A B
//
// Called by all threads of the block, or by the first BlockDim ones, of which there are that many at least
// (blocks of any shape: threads count in the order of their linear index); others do nothing. There is no
// barrier inside: what was written to A, B and C is seen when copy_wait() or __syncthreads() stands between,
// and C is seen by other threads after another one. C overlaps neither A nor B; with beta = 0 it is not read.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tilewright/arch/index.h"
#include "tilewright/config.h"
#include "tilewright/layout/block_tensor.h"
#include "tilewright/pipeline/accumulator.h"
#include "tilewright/pipeline/block_check.h"
#include "tilewright/pipeline/block_copy.h"
#include "tilewright/pipeline/block_layouts.h"
#include "tilewright/pipeline/block_product.h"
#include "tilewright/pipeline/convert.h"
#include "tilewright/pipeline/descriptor.h"
#include "tilewright/pipeline/functors.h"
#include "tilewright/pipeline/misuse.h"

namespace tilewright::blas {
namespace detail {

template <class T>
struct IsMappedView : std::false_type {};
template <class View, class F>
struct IsMappedView<MappedView<View, F>> : std::true_type {};

}  // namespace detail

/// A tile that execute() reads: of make_tensor, get_tile, transpose_view, conj_transpose_view.
template <class T>
concept AnyMatrix = AnyTile<T> || detail::IsMappedView<std::remove_cvref_t<T>>::value;

namespace detail {

/// What a descriptor must be for execute().
template <class D>
struct CheckBlock {
  static constexpr bool without = !facts_of_v<D>.with_pipeline;
  static_assert(without,
                "execute() of a descriptor multiplies without a pipeline: leave WithPipeline() out, or use "
                "suggest_pipeline()");
  static constexpr bool ok = without && CheckBuilt<D>::ok;
};

/// Where the descriptor has been refused, nothing more is said.
template <class D, class Machine>
requires(!CheckBlock<D>::ok) class BlockExecution<D, Machine> {
 public:
  using accumulator_type = int;
  static TILEWRIGHT_DEVICE int make_accumulator() { return 0; }
  template <class... Arguments>
  static TILEWRIGHT_DEVICE int execute(const Arguments&...) {
    return 0;
  }
};

template <class D, class Machine>
class BlockExecution {
  using Product = impl::BlockProduct<D>;
  using Held = typename Product::Held;
  using Value = typename D::c_value_type;
  static constexpr auto kRows = static_cast<uint32_t>(facts_of_v<D>.m),
                        kColumns = static_cast<uint32_t>(facts_of_v<D>.n);

 public:
  using accumulator_type = Accumulator<Held, Value>;

  static TILEWRIGHT_DEVICE accumulator_type make_accumulator() { return accumulator_type(); }

  /// C = c_store(alpha A B + beta c_load(C)), with a_load(element) and b_load(element) of A and B.
  template <class Alpha, AnyMatrix A, AnyMatrix B, class Beta, AnyTile C, class LoadA = identity,
            class LoadB = identity, class LoadC = identity, class StoreC = identity>
  static TILEWRIGHT_DEVICE void execute(const Alpha& alpha, const A& a, const B& b, const Beta& beta,
                                        const C& c, const LoadA& a_load = {}, const LoadB& b_load = {},
                                        const LoadC& c_load = {}, const StoreC& c_store = {}) {
    static_assert(C::tile_rows == facts_of_v<D>.m && C::tile_columns == facts_of_v<D>.n,
                  "execute(alpha, A, B, beta, C): C is an M x N tile");
    impl::check_leading_dimension("C", c);
    accumulator_type accumulator;
    execute(a, b, accumulator, a_load, b_load);
    if (!accumulator.is_thread_active()) return;
    if constexpr (impl::is_identity<LoadC> && impl::is_identity<StoreC>) {
      accumulator.axpby(alpha, beta, c);
    } else {
      using Old = std::remove_cvref_t<std::invoke_result_t<const LoadC&, const typename C::value_type&>>;
      using Type = impl::LinearType<Value, Alpha, Beta, Old>;
      const auto by = impl::convert_to<Type>(alpha), old_by = impl::convert_to<Type>(beta);
      const auto scaled = [by](const Value& value) { return impl::scale(by, impl::convert_to<Type>(value)); };
      if (old_by == Type{}) {
        accumulator.process_and_store(c, [&](const Value& value) { return c_store(scaled(value)); });
      } else {
        accumulator.reduce_and_store(c, [&](const Value& value, const auto& old, Coord) {
          return c_store(impl::scale_add(old_by, impl::convert_to<Type>(c_load(old)), scaled(value)));
        });
      }
    }
  }
  /// The same for every matrix of BatchesPerBlock.
  template <class Alpha, AnyTileBatch A, AnyTileBatch B, class Beta, AnyTileBatch C, class... Ops>
  static TILEWRIGHT_DEVICE void execute(const Alpha& alpha, const A& a, const B& b, const Beta& beta,
                                        const C& c, const Ops&... ops) {
    static_assert(A::count == facts_of_v<D>.batches && B::count == facts_of_v<D>.batches &&
                      C::count == facts_of_v<D>.batches,
                  "execute(alpha, A, B, beta, C): as many matrices of each as BatchesPerBlock says");
    TILEWRIGHT_NO_UNROLL
    for (int i = 0; i < facts_of_v<D>.batches; ++i)
      execute(alpha, get_batch(a, i), get_batch(b, i), beta, get_batch(c, i), ops...);
  }
  /// The same of matrices in the layouts of get_layout_smem_a, _b and _c.
  template <class Alpha, class A, class B, class Beta, class C>
  static TILEWRIGHT_DEVICE void execute(const Alpha& alpha, A* a, B* b, const Beta& beta, C* c) {
    execute(alpha, make_tensor(a, D::get_layout_smem_a()), make_tensor(b, D::get_layout_smem_b()), beta,
            make_tensor(c, D::get_layout_smem_c()));
  }
  /// With leading dimensions, in elements.
  template <class Alpha, class A, class B, class Beta, class C>
  static TILEWRIGHT_DEVICE void execute(const Alpha& alpha, A* a, unsigned lda, B* b, unsigned ldb,
                                        const Beta& beta, C* c, unsigned ldc) {
    execute(alpha, make_tensor(a, D::get_layout_smem_a(lda)), make_tensor(b, D::get_layout_smem_b(ldb)), beta,
            make_tensor(c, D::get_layout_smem_c(ldc)));
  }

  /// accumulator += A B; it starts from zero when it is new, cleared or read.
  template <AnyMatrix A, AnyMatrix B, class LoadA = identity, class LoadB = identity>
  static TILEWRIGHT_DEVICE void execute(const A& a, const B& b, accumulator_type& accumulator,
                                        const LoadA& a_load = {}, const LoadB& b_load = {}) {
    static_assert(A::tile_rows == facts_of_v<D>.m && A::tile_columns == facts_of_v<D>.k &&
                      B::tile_rows == facts_of_v<D>.k && B::tile_columns == facts_of_v<D>.n,
                  "execute(): A is an M x K tile and B a K x N one");
    check_threads();
    impl::check_leading_dimension("A", a);
    impl::check_leading_dimension("B", b);
    if (!accumulator.is_thread_active()) return;
    if (!accumulator.filled_) Product::clear(accumulator.held_);
    Product::multiply(accumulator.held_, a, b, a_load, b_load);
    accumulator.finish(a.rows() < kRows ? a.rows() : kRows, b.columns() < kColumns ? b.columns() : kColumns);
  }

  /// A B in a new accumulator.
  template <AnyMatrix A, AnyMatrix B, class LoadA = identity, class LoadB = identity>
  requires(!std::is_same_v<LoadA, accumulator_type>) static TILEWRIGHT_DEVICE accumulator_type
      execute(const A& a, const B& b, const LoadA& a_load = {}, const LoadB& b_load = {}) {
    return accumulator_type(typename accumulator_type::Fill{}, [&](accumulator_type& accumulator) {
      execute(a, b, accumulator, a_load, b_load);
    });
  }

 private:
  static TILEWRIGHT_DEVICE void check_threads() {
#if defined(TILEWRIGHT_EMULATE)
    const arch::Index3 block = arch::block_dim();
    if (block.x * block.y * block.z < D::max_threads_per_block)
      impl::misuse("block.threads", "execute() is called in a block of fewer threads than BlockDim names");
#endif
  }
};

}  // namespace detail
}  // namespace tilewright::blas
