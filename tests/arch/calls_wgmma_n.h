// wgmma at every legal N, for each kind of accumulator.
#include "tests/arch/wgmma_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

template TILEWRIGHT_GLOBAL void every_n<Case<e4m3, e4m3, float>>(float*, uint64_t, uint64_t, bool);
template TILEWRIGHT_GLOBAL void every_n<Case<f16, f16, uint32_t>>(uint32_t*, uint64_t, uint64_t, bool);
template TILEWRIGHT_GLOBAL void every_n<Case<int8_t, uint8_t, int32_t>>(int32_t*, uint64_t, uint64_t, bool);

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
