#include "src/gemm_enumerators.h"

#include <optional>
#include <string>
#include <type_traits>

#include "src/gemm_rules.h"
#include "src/plan_text.h"

namespace tilewright {
namespace {

/// Looks at one enumerator after another; keeps the first error.
class Enumerators {
 public:
  template <class E>
  void check(const std::string& subject, E value) {
    static_assert(std::is_unsigned_v<std::underlying_type_t<E>>);
    if (error_ || value <= last_of<E>.value) return;
    error_ = broken(RuleId::enumerator_value, subject, "value " + text(static_cast<int64_t>(value)),
                    last_of<E>.name);
  }
  template <class E>
  void check(const std::string& subject, const std::optional<E>& value) {
    if (value) check(subject, *value);
  }
  void check(const std::string& subject, const Operand& operand) {
    check(subject + " type", operand.type);
    check(subject + " layout", operand.layout);
    check(subject + " block", operand.block);
  }
  const Status& error() const { return error_; }

 private:
  Status error_;
};

}  // namespace

Status check_enumerators(const Problem& p, const Options& o) {
  Enumerators all;
  all.check("A", p.a);
  all.check("B", p.b);
  all.check("C", p.c);
  all.check("D", p.d);
  all.check("accumulation", p.accumulation);
  all.check("scale_mode", p.scale_mode);
  all.check("bias", p.epilogue.bias);
  all.check("bias_type", p.epilogue.bias_type);
  all.check("activation", p.epilogue.activation);
  all.check("aux", p.epilogue.aux);
  all.check("device", o.device);
  all.check("chip", o.chip);
  all.check("raster", o.raster);
  all.check("load", o.load);
  all.check("store", o.store);
  all.check("pipeline", o.pipeline);
  all.check("scheduler", o.scheduler);
  return all.error();
}

}  // namespace tilewright
