// Every call of mma_sync.h.
#include "tests/arch/mma_sync_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

#define TILEWRIGHT_INSTANCE(...)                                                          \
  template TILEWRIGHT_GLOBAL void multiply_warp<MmaSyncCase<__VA_ARGS__>>(                \
      const MmaSyncCase<__VA_ARGS__>::Operand*, const MmaSyncCase<__VA_ARGS__>::Operand*, \
      const MmaSyncCase<__VA_ARGS__>::Register*, MmaSyncCase<__VA_ARGS__>::Register*);
TILEWRIGHT_MMA_SYNC_CASES(TILEWRIGHT_INSTANCE)
#undef TILEWRIGHT_INSTANCE

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
