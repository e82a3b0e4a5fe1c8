#include <algorithm>
#include <string>

#include "tilewright/mainloop/tcgen05_storage_plan.h"

namespace tilewright {
namespace {

constexpr int kColumnsPerCharacter = 8;
constexpr int kLabelWidth = 18;

std::string padded(std::string label) {
  label.resize(static_cast<size_t>(std::max(kLabelWidth, static_cast<int>(label.size()) + 1)), ' ');
  return label;
}

// "left accumulator  [########   )  0..255 (256 columns)"
std::string range_line(const char* label, const TmemRange& range, char mark, const TmemRange& shared) {
  std::string bar;
  for (int column = 0; column < tmem_columns; column += kColumnsPerCharacter) {
    // A range narrower than a character still shows.
    const bool inside = range.first < column + kColumnsPerCharacter && range.end() > column;
    const bool in_both = inside && shared.first < column + kColumnsPerCharacter && shared.end() > column;
    bar += in_both ? '%' : inside ? mark : '.';
  }
  return padded(label) + bar + "  " + std::to_string(range.first) + ".." + std::to_string(range.end() - 1) +
         " (" + std::to_string(range.count) + ")\n";
}

std::string ruler() {
  std::string line(static_cast<size_t>(tmem_columns / kColumnsPerCharacter), ' ');
  for (int column = 0; column < tmem_columns; column += 64) {
    const std::string number = std::to_string(column);
    line.replace(static_cast<size_t>(column / kColumnsPerCharacter), number.size(), number);
  }
  return padded("columns") + line + "512\n";
}

// "even tiles drain 224 192 160 ... 0"
std::string drain_line(const TmemPlan& plan, uint32_t tile) {
  const TmemRange window = plan.accumulator(tile);
  std::string line = plan.shape.overlap ? padded(tile == 0 ? "even tiles drain" : "odd tiles drain")
                                        : padded("every tile drains");
  for (int step = 0; step < plan.subtiles(); ++step) {
    line += std::to_string(window.first + plan.subtile_column(tile, step)) + " ";
    if (plan.shape.overlap && step == plan.early_release_subtile) line += "| release | ";
  }
  line.back() = '\n';
  return line;
}

}  // namespace

std::string draw_tmem(const TmemPlanShape& shape) {
  const TmemPlan plan = tmem_plan(shape);
  const TmemRange shared{plan.right.first, plan.shared_columns()};
  std::string picture = "tensor memory of one CTA: " + std::to_string(tmem_lanes) + " lanes x " +
                        std::to_string(tmem_columns) + " columns, tile 256 x 256 x " +
                        std::to_string(shape.k_tile) + " over two CTAs, a scale for every " +
                        std::to_string(shape.vector) + " elements\n";
  picture += ruler();
  if (shape.overlap) {
    picture += range_line("left accumulator", plan.left, 'L', shared);
    picture += range_line("right accumulator", plan.right, 'R', shared);
  } else {
    picture += range_line("accumulator", plan.left, 'L', shared);
  }
  picture += range_line("A scales", plan.a_scales, 'a', {});
  picture += range_line("B scales", plan.b_scales, 'b', {});
  if (shape.overlap) {
    picture += padded("") + "%: shared by both accumulators, " + std::to_string(shared.count) +
               " columns from " + std::to_string(shared.first) + "\n";
  }
  picture += drain_line(plan, 0);
  if (shape.overlap) picture += drain_line(plan, 1);
  return picture;
}

}  // namespace tilewright
