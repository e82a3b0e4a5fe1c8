#include "arguments.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "tilewright/detail/whole_file.h"

namespace tilewright::cli {
namespace {

Error bad_option(std::string_view option, const std::string& found, std::string_view wanted) {
  return {ErrorCode::invalid_argument, fmt::format("option.{}", option),
          fmt::format("--{}: '{}' is not {}", option, found, wanted)};
}

/// A number that FP32 has, perhaps rounded: neither what it takes for infinity nor what it takes for zero.
const CLI::Validator& factor_check() {
  using Float = std::numeric_limits<float>;
  static const CLI::Validator check(
      [](const std::string& text) {
        errno = 0;
        const double wide = std::strtod(text.c_str(), nullptr);
        const auto value = static_cast<float>(wide);
        const bool huge = std::isinf(value) && (std::isfinite(wide) || errno == ERANGE),
                   tiny = value == 0 && (wide != 0 || errno == ERANGE);
        if (!huge && !tiny) return std::string();
        return fmt::format("{} is no number of FP32; nearest legal: {}", text,
                           std::copysign(huge ? Float::max() : Float::denorm_min(), value));
      },
      "NUMBER");
  return check;
}

/// A word of a list, as its index.
Expected<int> parse_word(std::string_view option, const std::string& text,
                         const std::vector<std::string>& words) {
  const auto found = std::find(words.begin(), words.end(), text);
  if (found != words.end()) return static_cast<int>(found - words.begin());
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ", ") + word;
  return bad_option(option, text, "one of " + list);
}

/// The type of D when none is named.
DType usual_output(DType a, DType b) {
  const auto either = [&](DType t) { return a == t || b == t; };
  if (is_complex(a)) return a == DType::ctf32 ? DType::cf32 : a;
  if (either(DType::f64)) return DType::f64;
  if (either(DType::f32) || either(DType::tf32)) return DType::f32;
  if (either(DType::s8) || either(DType::u8)) return DType::s32;
  return either(DType::bf16) ? DType::bf16 : DType::f16;
}

/// The words of --dtype for one operand.
constexpr const char* kTypeWords =
    "e4m3, e5m2, f16, bf16, tf32, s8, u8, f32, f64, cf16, cbf16, ctf32, cf32, cf64, mxfp8, mxfp4, nvfp4, "
    "fp8-1x128";

/// Likewise what is no such word.
Expected<DType> parse_operand_type(const std::string& word) {
  const Expected<DType> type = parse_dtype(word);
  if (!type)
    return Error{type.error().code, type.error().rule,
                 fmt::format("--dtype: '{}' is not one of {}", word, kTypeWords)};
  return type;
}

}  // namespace

CLI::Validator count_check(uint64_t most) {
  return {[most](const std::string& text) {
            if (text.substr(std::min(text.size(), text.find_first_not_of(' '))).starts_with('-'))
              return fmt::format("{} is negative; the least is 0", text);
            errno = 0;
            if (std::strtoull(text.c_str(), nullptr, 0) > most || errno == ERANGE)
              return fmt::format("{} is too large; the most is {}", text, most);
            return std::string();
          },
          "NUMBER >= 0"};
}

Status check_words(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const std::vector<std::string>& words = option->results();
    if (option->count() == 0 || std::find(words.begin(), words.end(), "") == words.end()) continue;
    const std::string& name = option->get_lnames().front();
    return Error{ErrorCode::invalid_argument, "option." + name,
                 fmt::format("--{}: an empty word; leave the option out", name)};
  }
  return {};
}

Status check_writable(std::string_view option, const std::string& path) {
  if (path.empty()) return {};
  Status failed = detail::check_whole_file(path, "file.write");
  if (failed) failed->message = fmt::format("--{}: {}", option, failed->message);
  return failed;
}

std::string both_spellings(std::string_view name) {
  std::string dashes(name);
  std::replace(dashes.begin(), dashes.end(), '_', '-');
  return dashes == name ? fmt::format("--{}", name) : fmt::format("--{},--{}", name, dashes);
}

Expected<std::vector<int64_t>> parse_integers(std::string_view option, const std::string& text, size_t count,
                                              char separator) {
  std::vector<int64_t> values;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (values.size() < count) {
    while (at != end && *at == ' ') ++at;
    int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc{}) break;
    values.push_back(value);
    at = next;
    while (at != end && *at == ' ') ++at;
    if (at == end || *at != separator) break;
    ++at;
  }
  if (values.size() == count && at == end) return values;
  return bad_option(
      option, text,
      count == 1 ? "an integer" : fmt::format("{} integers separated by '{}'", count, separator));
}

Expected<Shape2> parse_shape(std::string_view option, const std::string& text) {
  const char separator = text.find('x') == std::string::npos ? ',' : 'x';
  const Expected<std::vector<int64_t>> values = parse_integers(option, text, 2, separator);
  if (!values) return values.error();
  return Shape2{(*values)[0], (*values)[1]};
}

void ProblemArguments::add_to(CLI::App& app, const std::string& default_extents) {
  this->app = &app;
  app.add_option("--mnkl", mnkl, "Extents M,N,K,L. " + default_extents);
  app.add_option("--mnk", mnk, "Extents M,N,K of one batch")->excludes("--mnkl");
  app.add_option_function<std::vector<std::string>>(
         "--dtype",
         [this](const std::vector<std::string>& words) {
           dtype = words.front();
           more_dtypes.assign(words.begin() + 1, words.end());
         },
         "Type of A and B: e4m3, e5m2, f16, bf16, tf32 (FP32 in memory), s8, u8, f32 or f64; complex cf16, "
         "cbf16, ctf32, cf32 (Complex64) or cf64 (Complex128); or block-scaled mxfp8, mxfp4 or nvfp4 (gemm: "
         "a list); A:B for two (e4m3:e5m2, s8:u8, mxfp8:mxfp4). fp8-1x128: e4m3 with --scale_mode block")
      ->default_str(dtype);
  app.add_option(
      both_spellings("c_dtype"), c_dtype,
      "Type of D: Float16, Float32, BFloat16, Float8E4M3FN, Float8E5M2, Int32, Float64, Complex64, "
      "Complex128, Complex32 or ComplexBFloat16. Default: that of the "
      "operands for f16, bf16, f32, f64 and complex ones, Float32 for tf32, Complex64 for ctf32, Int32 for "
      "integers, else Float16");
  app.add_option(both_spellings("a_major"), a_major, "Contiguous dimension of A: k or m")
      ->capture_default_str();
  app.add_option(both_spellings("b_major"), b_major, "Contiguous dimension of B: k or n")
      ->capture_default_str();
  app.add_option(both_spellings("c_major"), c_major, "Contiguous dimension of C and D: n (the default) or m");
  app.add_option("--accumulation", accumulation, "FP8: promoted or fast")->capture_default_str();
  app.add_option(both_spellings("mma_promotion_interval"), interval,
                 "FP8: MMAs (of 32 along K) between promotions: 1, 2 or a multiple of 4")
      ->capture_default_str();
  app.add_option(both_spellings("tile_shape_mn"), tile, "Tile of a CTA, M,N. Default: the planner's choice");
  app.add_option(both_spellings("cluster_shape_mn"), cluster,
                 "Cluster of CTAs, M,N: 1,1 2,1 1,2 or 2,2. Default: the planner's choice");
  app.add_option(both_spellings("swizzle_size"), swizzle,
                 "Width of a raster strip in clusters. Default: the planner's choice");
  app.add_option(both_spellings("raster_order"), raster, "along_m or along_n. Default: the planner's choice");
  app.add_option("--stages", stages, "Stages of the shared-memory ring. Default: as many as fit");
  app.add_option(
      "--sms", sms,
      "Multiprocessors to use at most; emulated: the size of the chip (default: three tiles a CTA)");
  app.add_option(both_spellings("scale_a"), scale_a, "Factor of A")
      ->check(factor_check())
      ->capture_default_str();
  app.add_option(both_spellings("scale_b"), scale_b, "Factor of B")
      ->check(factor_check())
      ->capture_default_str();
  app.add_option(both_spellings("scale_d"), scale_d, "Factor of D")
      ->check(factor_check())
      ->capture_default_str();
  app.add_option(
      both_spellings("scale_mode"), scale_mode,
      "e4m3: more FP32 scales, random ones: tensor (none, the default), row_column (for each row of "
      "A and each column of B) or block (1x128 of A, 128x128 of B)");
  app.add_option("--alpha", alpha, "Factor of A B")->check(factor_check())->capture_default_str();
  app.add_option("--beta", beta, "Factor of C; 0 never reads C")
      ->check(factor_check())
      ->capture_default_str();
  app.add_option("--bias", bias,
                 "FP8, f16, bf16: add a vector to D's rows (row: an element for each) or columns (column)");
  app.add_option(both_spellings("bias_dtype"), bias_dtype, "Float16, BFloat16 or Float32")
      ->capture_default_str()
      ->needs("--bias");
  app.add_option("--activation", activation, "FP8, f16, bf16: relu or gelu (its tanh approximation)");
  app.add_flag("--aux", aux, "FP8, f16, bf16: also store the value before the activation and scale_d");
  app.add_option(both_spellings("aux_dtype"), aux_dtype,
                 "Float16, BFloat16 or Float32. Default: D's type, BFloat16 where that has 8 bits")
      ->needs("--aux");
  app.add_flag("--amax", amax, "FP8, f16, bf16: also the largest magnitude of D before scale_d and rounding");
  app.add_option(both_spellings("d_layout"), d_layout, "Of C and D: row (the default) or column")
      ->excludes(app.get_option("--c_major"));
  app.add_flag(both_spellings("static_shape"), static_shape, "f32: kernels without checks of M and N only");
  app.add_option(
         "--pipeline", pipeline,
         "Who copies operands: auto, producer (a warpgroup) or async (f32: the threads that multiply)")
      ->capture_default_str();
  app.add_option("--splits", splits, "f32: cut K into about so many parts. Default: the planner's choice");
  app.add_option(both_spellings("max_workspace"), max_workspace, "Bytes of workspace at most. Default: any");
  app.add_flag(both_spellings("no_saturate"), no_saturate, "8-bit D: overflow gives NaN or infinity");
  app.add_option("--device", device, "auto, gpu or emulator")->capture_default_str();
  app.add_option(
         "--arch", arch,
         "Chip of the emulated machine, or that the GPU must be: auto, sm_90a or sm_100a (the default for "
         "block-scaled types)")
      ->capture_default_str();
  app.add_option("--M", m, "M alone")->excludes("--mnkl")->excludes("--mnk");
  app.add_option("--N", n, "N alone")->excludes("--mnkl")->excludes("--mnk");
  app.add_option("--K", ks, "K alone; block-scaled: a list")->excludes("--mnkl")->excludes("--mnk");
  app.add_option("--overlap", overlap,
                 "Block-scaled: accumulators that share tensor memory: on, off, or both to compare")
      ->capture_default_str();
  app.add_option(
         "--scheduler", scheduler,
         "Block-scaled: where a cluster's next tile comes from: static (its place in the grid) or clc "
         "(cluster launch control)")
      ->capture_default_str();
}

bool ProblemArguments::block_scaled() const {
  const size_t colon = dtype.find(':');
  const bool first = parse_block_format(dtype.substr(0, colon)).has_value();
  return first || (colon != std::string::npos && parse_block_format(dtype.substr(colon + 1)).has_value());
}

Expected<std::vector<ProblemArguments>> ProblemArguments::by_dtype() const {
  std::vector<ProblemArguments> all{*this};
  for (const std::string& word : more_dtypes) all.push_back(*this), all.back().dtype = word;
  for (ProblemArguments& one : all) {
    one.more_dtypes.clear();
    if (!one.block_scaled())
      return bad_option("dtype", one.dtype, "block-scaled; a list has mxfp8, mxfp4, nvfp4, mxfp8:mxfp4");
  }
  return all;
}

bool ProblemArguments::extent_given(char name) const {
  return !mnkl.empty() || !mnk.empty() || (name == 'm' ? m : n).has_value();
}

std::vector<int64_t> ProblemArguments::k_values() const {
  if (mnkl.empty() && mnk.empty()) return ks;
  const Expected<Problem> one = problem();
  return one ? std::vector<int64_t>{one->k} : std::vector<int64_t>{};
}

Expected<std::vector<bool>> ProblemArguments::overlaps() const {
  const Expected<int> which = parse_word("overlap", overlap, {"on", "off", "both"});
  if (!which) return which.error();
  if (*which == 2) return std::vector<bool>{false, true};
  return std::vector<bool>{*which == 0};
}

Status ProblemArguments::set_extents(Problem& p) const {
  if (!mnkl.empty() || !mnk.empty()) {
    const bool one_batch = mnkl.empty();
    const Expected<std::vector<int64_t>> extents =
        one_batch ? parse_integers("mnk", mnk, 3) : parse_integers("mnkl", mnkl, 4);
    if (!extents) return extents.error();
    p.m = (*extents)[0];
    p.n = (*extents)[1];
    p.k = (*extents)[2];
    p.l = one_batch ? 1 : (*extents)[3];
    return {};
  }
  if (!block_scaled() && extents_given()) {
    if (ks.size() > 1)
      return Error{
          ErrorCode::invalid_argument, "option.K",
          fmt::format("--K: {} values, but only block-scaled types take a list; nearest legal: one K",
                      ks.size())};
    std::string missing;
    for (const auto& [name, there] :
         {std::pair{"--M", m.has_value()}, {"--N", n.has_value()}, {"--K", !ks.empty()}})
      if (!there) missing += (missing.empty() ? "" : " and ") + std::string(name);
    if (!missing.empty())
      return Error{
          ErrorCode::invalid_argument, "option.K",
          fmt::format(
              "{} missing: --M, --N and one K are given together (or --mnk M,N,K), but for block-scaled "
              "types",
              missing)};
  }
  p.m = m.value_or(0);
  p.n = n.value_or(0);
  p.k = ks.empty() ? 0 : ks.front();
  return {};
}

Status ProblemArguments::set_types(Problem& p) const {
  if (!more_dtypes.empty())
    return Error{ErrorCode::invalid_argument, "option.dtype",
                 fmt::format("--dtype: {} types, but only gemm of block-scaled types takes a list; nearest "
                             "legal: one type",
                             1 + more_dtypes.size())};
  const bool fp8_blocks = dtype == "fp8-1x128";
  const std::string types = fp8_blocks ? "e4m3" : dtype;
  const Expected<int> scales = scale_mode.empty()
                                   ? Expected<int>(fp8_blocks ? 2 : 0)
                                   : parse_word("scale_mode", scale_mode, {"tensor", "row_column", "block"});
  if (!scales) return scales.error();
  if (fp8_blocks && *scales != 2) return bad_option("scale_mode", scale_mode, "block, which fp8-1x128 means");
  p.scale_mode = static_cast<ScaleMode>(*scales);
  const size_t colon = types.find(':');
  const std::string words[] = {types.substr(0, colon),
                               colon == std::string::npos ? types : types.substr(colon + 1)};
  Operand* const operands[] = {&p.a, &p.b};
  for (int i = 0; i < 2; ++i) {
    if (block_scaled()) {
      const Expected<BlockFormat> format = parse_block_format(words[i]);
      if (!format) return format.error();
      operands[i]->block = *format;
      operands[i]->type = element_type(*format);
    } else {
      const Expected<DType> type = parse_operand_type(words[i]);
      if (!type) return type.error();
      operands[i]->type = *type;
    }
  }
  const Expected<DType> d =
      c_dtype.empty() ? Expected<DType>(usual_output(p.a.type, p.b.type)) : parse_dtype(c_dtype);
  if (!d) return d.error();
  p.d.type = *d;
  p.c.type = bits_of(*d) == 8 ? DType::f16 : *d;
  return {};
}

Status ProblemArguments::set_epilogue(Problem& p) const {
  EpilogueOps& e = p.epilogue;
  if (!bias.empty()) {
    const Expected<int> kind = parse_word("bias", bias, {"none", "row", "column"});
    if (!kind) return kind.error();
    e.bias = static_cast<BiasKind>(*kind);
  }
  const Expected<DType> bias_type = parse_dtype(bias_dtype);
  if (!bias_type) return bias_type.error();
  e.bias_type = *bias_type;
  if (!activation.empty()) {
    const Expected<int> function = parse_word("activation", activation, {"none", "relu", "gelu"});
    if (!function) return function.error();
    e.activation = static_cast<Activation>(*function);
  }
  if (aux) {
    const Expected<DType> type = !aux_dtype.empty()       ? parse_dtype(aux_dtype)
                                 : bits_of(p.d.type) == 8 ? Expected<DType>(DType::bf16)
                                                          : Expected<DType>(p.d.type);
    if (!type) return type.error();
    e.aux = Operand{.type = *type, .layout = p.d.layout};
  }
  e.amax_d = amax;
  return {};
}

Expected<Problem> ProblemArguments::problem() const {
  Problem p;
  if (Status s = set_extents(p)) return *s;
  if (Status s = set_types(p)) return *s;
  if (Status s = set_layouts(p)) return *s;
  if (Status s = set_epilogue(p)) return *s;
  if (Status s = check_given(p)) return *s;
  const Expected<int> sums = parse_word("accumulation", accumulation, {"promoted", "fast"});
  if (!sums) return sums.error();
  p.accumulation = *sums == 0 ? Accumulation::promoted : Accumulation::fast;
  p.interval = interval;
  p.alpha = alpha;
  p.beta = beta;
  p.scale_a = scale_a;
  p.scale_b = scale_b;
  p.scale_d = scale_d;
  p.saturate = !no_saturate;
  return p;
}

// Options that would do nothing.
Status ProblemArguments::check_given(const Problem& p) const {
  const bool promoted = is_fp8(p.a.type) && !p.a.block;
  if (promoted && accumulation == "fast" && given("--mma_promotion_interval"))
    return Error{ErrorCode::invalid_argument, "option.mma_promotion_interval",
                 "--mma_promotion_interval: fast accumulation promotes nothing; leave one of them out"};
  for (const char* option : {"accumulation", "mma_promotion_interval"})
    if (!promoted && given(std::string("--") + option))
      return Error{
          ErrorCode::invalid_argument, fmt::format("option.{}", option),
          fmt::format("--{}: only FP8 sums are promoted; with --dtype {} leave it out", option, dtype)};
  if (!is_fp8(p.d.type) && given("--no_saturate"))
    return Error{ErrorCode::invalid_argument, "option.no_saturate",
                 fmt::format("--no_saturate: only a D of 8 bits saturates; with one of {} leave it out",
                             name_of(p.d.type))};
  if (!block_scaled() && given("--overlap"))
    return Error{ErrorCode::invalid_argument, "option.overlap",
                 fmt::format("--overlap: only block-scaled types have accumulators in tensor memory; with "
                             "--dtype {} leave it out",
                             dtype)};
  return {};
}

Status ProblemArguments::set_layouts(Problem& p) const {
  const Expected<int> a = parse_word("a_major", a_major, {"k", "m"});
  if (!a) return a.error();
  const Expected<int> b = parse_word("b_major", b_major, {"k", "n"});
  if (!b) return b.error();
  const Expected<int> d = !c_major.empty()    ? parse_word("c_major", c_major, {"n", "m"})
                          : !d_layout.empty() ? parse_word("d_layout", d_layout, {"row", "column"})
                                              : Expected<int>(0);
  if (!d) return d.error();
  p.a.layout = *a == 0 ? Layout::row_major : Layout::column_major;
  p.b.layout = *b == 0 ? Layout::column_major : Layout::row_major;
  p.d.layout = p.c.layout = *d == 0 ? Layout::row_major : Layout::column_major;
  return {};
}

Expected<Options> ProblemArguments::options() const {
  Options o;
  const Expected<int> where = parse_word("device", device, {"auto", "gpu", "emulator"});
  if (!where) return where.error();
  o.device = static_cast<Device>(*where);
  const Expected<int> isa = parse_word("arch", arch, {"auto", "sm_90a", "sm_100a"});
  if (!isa) return isa.error();
  o.chip = static_cast<Chip>(*isa);
  if (!tile.empty()) {
    const Expected<Shape2> shape = parse_shape("tile_shape_mn", tile);
    if (!shape) return shape.error();
    o.tile = *shape;
  }
  if (!cluster.empty()) {
    const Expected<Shape2> shape = parse_shape("cluster_shape_mn", cluster);
    if (!shape) return shape.error();
    o.cluster = *shape;
  }
  if (!raster.empty()) {
    const Expected<int> order = parse_word("raster_order", raster, {"along_m", "along_n"});
    if (!order) return order.error();
    o.raster = static_cast<schedule::Raster>(*order);
  }
  const Expected<int> filled = parse_word("pipeline", pipeline, {"auto", "producer", "async"});
  if (!filled) return filled.error();
  o.pipeline = static_cast<PipelineKind>(*filled);
  const Expected<int> giver = parse_word("scheduler", scheduler, {"static", "clc"});
  if (!giver) return giver.error();
  o.scheduler = static_cast<schedule::TileScheduler>(*giver);
  o.swizzle = swizzle;
  o.stages = stages;
  o.max_sms = sms;
  o.splits = splits;
  o.max_workspace = max_workspace;
  o.static_shape = static_shape;
  return o;
}

Status check_machine_options(const ProblemArguments& problem, bool emulated) {
  constexpr const char* kOfGpu[] = {"--warmup_iterations", "--iterations", "--use_cold_l2"};
  constexpr const char* kOfEmulator[] = {"--schedule", "--trace", "--fault"};
  for (const char* option : emulated ? kOfGpu : kOfEmulator) {
    if (!problem.given(option)) continue;
    const std::string name(option + 2), where(emulated ? "a GPU" : "the emulated machine");
    if (problem.device != "auto" || !emulated)
      return Error{ErrorCode::invalid_argument, "option." + name,
                   fmt::format("--{}: only {} has it; leave it out", name, where)};
    say(fmt::format("--{} is ignored: only {} has it.\n", name, where));
  }
  return {};
}

const char* major_word(bool k_major, const char* other) { return k_major ? "k" : other; }

const char* scheduler_word(schedule::TileScheduler scheduler) {
  return scheduler == schedule::TileScheduler::static_persistent ? "static" : "clc";
}

const char* scale_mode_word(ScaleMode mode) {
  constexpr const char* kWords[] = {"tensor", "row_column", "block"};
  return kWords[static_cast<size_t>(mode)];
}

void say(const std::string& text) { std::fputs(text.c_str(), stderr); }

std::string json_text(const nlohmann::json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

nlohmann::json error_json(const Error& error) { return {{"rule", error.rule}, {"message", error.message}}; }

int refuse(const Error& error, bool json) {
  if (json) fmt::print("{}\n", json_text({{"pass", false}, {"error", error_json(error)}}));
  say(fmt::format("tilewright: {} [{}]\n", error.message, error.rule));
  return kRefused;
}

}  // namespace tilewright::cli
