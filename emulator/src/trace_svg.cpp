// The timeline as a picture that needs no viewer but a browser.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "text.h"
#include "trace.h"

namespace tilewright::emulator {
namespace {

constexpr int kWidth = 1200, kLabels = 200, kPlot = kWidth - kLabels - 10;
constexpr int kHeader = 22, kRow = 16, kLane = 7, kGap = 4, kTop = 54;
constexpr double kCharacter = 5.6;  // of the labels' font, at most
constexpr double kVisible = 0.3;    // pixels

struct Style {
  const char *name, *fill;
};
constexpr std::array<Style, static_cast<size_t>(Trace::Kind::count_)> kStyles{{{"load", "#4c8bd6"},
                                                                               {"cp.async", "#7fb0e6"},
                                                                               {"product", "#3f9b57"},
                                                                               {"tensor memory", "#9b6fc4"},
                                                                               {"store", "#e08a2e"},
                                                                               {"wait", "#c9ccd1"}}};

std::string escaped(const std::string& raw) {
  std::string result;
  for (const char c : raw) {
    if (c == '<') {
      result += "&lt;";
    } else if (c == '&') {
      result += "&amp;";
    } else {
      result += c;
    }
  }
  return result;
}

std::string fixed(double value, int digits = 2) {
  std::array<char, 40> text;
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

// 1, 2 or 5 times a power of ten, so that the axis has about eight ticks.
double tick_of(double range) {
  const double rough = range / 8, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1, 2, 5})
    if (factor * power >= rough) return factor * power;
  return 10 * power;
}

// A warp that has nothing to do but meet the others once.
bool has_only_one_wait(const Trace::Track& track) {
  return track.lanes.size() == 1 && track.lanes[0].size() == 1 &&
         track.lanes[0][0]->span.kind == Trace::Kind::wait;
}

class Picture {
 public:
  Picture(double begin, double end) : begin_(begin), scale_(kPlot / std::max(end - begin, 1e-9)) {}

  double x(double time) const { return kLabels + (time - begin_) * scale_; }

  void label(double x, double y, const std::string& words, const char* attributes = "") {
    body += text("<text x=\"", fixed(x, 1), "\" y=\"", fixed(y, 1), "\"", attributes, '>', escaped(words),
                 "</text>\n");
  }
  void box(double left, double top, double width, double height, Trace::Kind kind, const std::string& tip) {
    body += text("<rect x=\"", fixed(left), "\" y=\"", fixed(top, 1), "\" width=\"", fixed(width),
                 "\" height=\"", fixed(height, 1), "\" fill=\"", kStyles[static_cast<size_t>(kind)].fill,
                 "\"><title>", escaped(tip), "</title></rect>\n");
  }

  std::string body;

 private:
  double begin_, scale_;
};

// Spans that are too narrow to be seen apart are one.
void draw_lane(Picture& picture, const std::vector<const Trace::Entry*>& lane, double top, double height,
               const char* unit, double factor) {
  for (size_t i = 0; i < lane.size();) {
    const Trace::Entry& first = *lane[i];
    double end = first.end;
    size_t count = 1;
    while (i + count < lane.size() && lane[i + count]->span.kind == first.span.kind &&
           picture.x(lane[i + count]->end) - picture.x(first.begin) < kVisible) {
      end = lane[i + count++]->end;
    }
    i += count;
    const double left = picture.x(first.begin), width = std::max(picture.x(end) - left, kVisible);
    const std::string words = Trace::label(first.span);
    // A hair between neighbours.
    picture.box(left, top, width > 2 ? width - 0.5 : width, height, first.span.kind,
                text(words, ": ", fixed(first.begin * factor, 0), " to ", fixed(end * factor, 0), ' ', unit,
                     count == 1 ? "" : text(" (", count, " spans)")));
    if (height >= kRow && static_cast<double>(words.size()) * kCharacter < width - 4)
      picture.label(left + 3, top + 12, words,
                    first.span.kind == Trace::Kind::wait ? " class=\"on\"" : " class=\"in\"");
  }
}

}  // namespace

std::string Trace::svg() const {
  std::vector<Process> shown;
  size_t all = 0;
  for (Process& process : processes()) {
    ++all;
    const Launch& of = launches_[process.launch];
    const uint32_t peer = of.cluster.x > 1 ? 1 : of.cluster.y > 1 ? of.grid.x : 0;
    if (process.cta == 0 || process.cta == peer) shown.push_back(std::move(process));
  }
  double begin = 0, end = 0;
  bool any = false;
  for (const Process& process : shown)
    for (const Track& track : process.tracks)
      for (const auto& lane : track.lanes)
        for (const Entry* entry : lane) {
          begin = any ? std::min(begin, entry->begin) : entry->begin;
          end = any ? std::max(end, entry->end) : entry->end;
          any = true;
        }
  const bool timed = !launches_.empty() && launches_.front().microseconds != 1;
  const char* unit = timed ? "ns" : "steps";
  const double factor = timed ? 1000 : 1;
  Picture picture(begin, end);
  double y = kTop;
  std::string lines;
  for (const Process& process : shown) {
    picture.label(4, y + 15, process.name, " class=\"head\"");
    y += kHeader;
    for (const Track& track : process.tracks) {
      if (has_only_one_wait(track)) continue;
      const auto lanes = static_cast<double>(track.lanes.size());
      const double height = std::max<double>(kRow, lanes * kLane);
      picture.label(12, y + height / 2 + 4, track.name);
      for (size_t i = 0; i < track.lanes.size(); ++i)
        draw_lane(picture, track.lanes[i], y + static_cast<double>(i) * height / lanes,
                  lanes > 1 ? height / lanes - 1 : height, unit, factor);
      y += height + kGap;
    }
  }
  const double tick = tick_of(std::max((end - begin) * factor, 1e-6));
  for (double at = std::ceil(begin * factor / tick) * tick; at <= end * factor; at += tick) {
    const double x = picture.x(at / factor);
    lines += text("<line x1=\"", fixed(x, 1), "\" x2=\"", fixed(x, 1), "\" y1=\"", kTop, "\" y2=\"",
                  fixed(y, 0), "\"/>\n");
    picture.label(x, kTop - 4, fixed(at, tick < 1 ? 2 : 0), " text-anchor=\"middle\"");
  }
  picture.label(kWidth - 10, 16, timed ? "modelled time in ns" : "machine steps", " text-anchor=\"end\"");
  double legend = kLabels;
  for (size_t i = 0; i < kStyles.size(); ++i) {
    picture.box(legend, 6, 12, 12, static_cast<Kind>(i), kStyles[i].name);
    picture.label(legend + 16, 16, kStyles[i].name);
    legend += 40 + 7 * static_cast<double>(std::string(kStyles[i].name).size());
  }
  const std::string title = launches_.empty() ? "" : launches_.front().kernel;
  picture.label(4, 16, title.substr(0, 32), " class=\"head\"");
  if (shown.size() < all) picture.label(4, 34, text(shown.size(), " of ", all, " CTAs"));
  return text("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", kWidth, "\" height=\"", fixed(y + 6, 0),
              "\" viewBox=\"0 0 ", kWidth, ' ', fixed(y + 6, 0),
              "\" font-family=\"sans-serif\" font-size=\"11\">\n<style>.head{font-weight:bold}.in{fill:#fff;"
              "font-size:10px}.on{fill:#333;font-size:10px}line{stroke:#e3e5e8}</style>\n<rect "
              "width=\"100%\" height=\"100%\" "
              "fill=\"#fff\"/>\n",
              lines, picture.body, "</svg>\n");
}

}  // namespace tilewright::emulator
