#include "library_peer.h"

#include "tilewright/gemm.h"

namespace tilewright::bench {
namespace {

class PlannedPeer : public LibraryPeer {
 public:
  explicit PlannedPeer(Plan plan) : plan_(std::move(plan)) {}

  std::string name() const override {
    const PlanInfo& i = plan_.info();
    const auto text = [](const Shape2& s) { return std::to_string(s.m) + "x" + std::to_string(s.n); };
    return "plan(): " + text(i.tile) + " cluster " + text(i.cluster) + ", along " +
           (i.raster == schedule::Raster::along_m ? "m " : "n ") + std::to_string(i.swizzle);
  }
  bool run(const void* a, const void* b, void* d) const override {
    return !plan_.run({.a = a, .b = b, .d = d});
  }

 private:
  Plan plan_;
};

}  // namespace

std::unique_ptr<LibraryPeer> LibraryPeer::create(int64_t n, bool promoted, std::string& error) {
  Problem problem;
  problem.m = problem.n = problem.k = n;
  problem.accumulation = promoted ? Accumulation::promoted : Accumulation::fast;
  // The kernels beside it do not overlap their neighbours in the stream.
  Expected<Plan> made = plan(problem, {.device = Device::gpu, .dependent_launch = false});
  if (made) return std::make_unique<PlannedPeer>(std::move(*made));
  error = made.error().message;
  return nullptr;
}

}  // namespace tilewright::bench
