#include "media/filter.h"

extern "C" {
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
#include <libavutil/opt.h>
}

#include <fmt/format.h>

namespace saccade::media {

bool has_filter(const std::string& name) noexcept { return avfilter_get_by_name(name.c_str()) != nullptr; }

void FilterChain::GraphDeleter::operator()(AVFilterGraph* graph) const noexcept {
  avfilter_graph_free(&graph);
}

FilterChain::FilterChain(const std::string& filters, const VideoFormat& source, AVPixelFormat result)
    : time_base_(source.time_base) {
  capture_log();
  graph_.reset(avfilter_graph_alloc());
  if (!graph_) throw Error(ErrorCode::limit, "out of memory for a chain of filters");
  graph_->nb_threads = 1;
  const AVRational aspect = source.sample_aspect.num > 0 ? source.sample_aspect : AVRational{0, 1};
  const std::string arguments = fmt::format(
      "video_size={}x{}:pix_fmt={}:time_base={}/{}:pixel_aspect={}/{}", source.width, source.height,
      static_cast<int>(source.pixel_format), time_base_.num, time_base_.den, aspect.num, aspect.den);
  check(avfilter_graph_create_filter(&input_, avfilter_get_by_name("buffer"), "in", arguments.c_str(),
                                     nullptr, graph_.get()),
        "setting up filters");
  check(avfilter_graph_create_filter(&output_, avfilter_get_by_name("buffersink"), "out", nullptr, nullptr,
                                     graph_.get()),
        "setting up filters");
  const AVPixelFormat formats[] = {result};
  check(av_opt_set_bin(output_, "pix_fmts", reinterpret_cast<const std::uint8_t*>(formats), sizeof(formats),
                       AV_OPT_SEARCH_CHILDREN),
        "setting up filters");
  // Named from the chain's side: what it reads is our output.
  AVFilterInOut* from = avfilter_inout_alloc();
  AVFilterInOut* to = avfilter_inout_alloc();
  if (from == nullptr || to == nullptr) {
    avfilter_inout_free(&from);
    avfilter_inout_free(&to);
    throw Error(ErrorCode::limit, "out of memory for a chain of filters");
  }
  from->name = av_strdup("in");
  from->filter_ctx = input_;
  to->name = av_strdup("out");
  to->filter_ctx = output_;
  int code = avfilter_graph_parse_ptr(graph_.get(), filters.c_str(), &to, &from, nullptr);
  avfilter_inout_free(&from);
  avfilter_inout_free(&to);
  if (code >= 0) code = avfilter_graph_config(graph_.get(), nullptr);
  if (code == AVERROR_FILTER_NOT_FOUND) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("this build of FFmpeg lacks one of the filters in '{}' ({})", filters, take_log()));
  }
  check(code, "setting up the filters '" + filters + "'");
}

FilterChain::~FilterChain() = default;

void FilterChain::send(const AVFrame* frame) {
  if (frame == nullptr) {
    check(av_buffersrc_add_frame_flags(input_, nullptr, 0), "filtering");
    return;
  }
  const FramePtr copy = share(*frame);
  if (frame->pts != AV_NOPTS_VALUE) durations_[frame->pts] = frame->pkt_duration;
  check(av_buffersrc_add_frame_flags(input_, copy.get(), AV_BUFFERSRC_FLAG_NO_CHECK_FORMAT), "filtering");
}

FramePtr FilterChain::receive() {
  FramePtr frame = make_frame();
  const int code = av_buffersink_get_frame(output_, frame.get());
  if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return nullptr;
  check(code, "filtering");
  const AVRational unit = av_buffersink_get_time_base(output_);
  if (av_cmp_q(unit, time_base_) != 0) {
    if (frame->pts != AV_NOPTS_VALUE) frame->pts = av_rescale_q(frame->pts, unit, time_base_);
    if (frame->pkt_duration > 0) frame->pkt_duration = av_rescale_q(frame->pkt_duration, unit, time_base_);
  }
  // Filters that change the unit of time (yadif, bwdif) leave durations in the old one.
  if (const auto found = durations_.find(frame->pts); found != durations_.end())
    frame->pkt_duration = found->second;
  durations_.erase(durations_.begin(), durations_.upper_bound(frame->pts));
  return frame;
}

}  // namespace saccade::media
