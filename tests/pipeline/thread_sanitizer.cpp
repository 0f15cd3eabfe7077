// What the thread sanitizer must not judge: libraries that are not built for it. Their own locks and atomics
// are invisible to it, so it would report every hand-over inside them. Our own hand-overs are visible (see
// FrameStages::Visit and Token) and stay checked.
// The sanitizer asks for this function by its name.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "race:libavcodec.so\n"
         "race:libavformat.so\n"
         "race:libavutil.so\n"
         "race:libswscale.so\n"
         "race:libx264.so\n"
         "race:libx265.so\n"
         "race:libvpx.so\n"
         "called_from_lib:libtbb.so\n"
         "race_top:_pipeline_filters.h\n"
         "race_top:tbb::detail::\n"
         "race_top:stage_calls.h\n";
}
