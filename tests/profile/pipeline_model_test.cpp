#include "profile/pipeline_model.h"

#include <gtest/gtest.h>

namespace saccade::profile {
namespace {

/// 20 ms of CPU a frame on 4 CPUs, in a job so long that its ends do not count.
PipelineModel balanced() {
  PipelineModel m;
  m.decode.cpu = 0.002;
  m.infer.cpu = 0.010;
  m.encode.cpu = 0.001;
  m.encoder_cpu = 0.007;
  m.lanes = m.streams = 4;
  m.encoder_threads = 6;
  m.tokens = 6;
  m.cpus = m.machine_cpus = 4;
  m.frames = 1'000'000;
  return m;
}

TEST(PipelineModel, SharesTheCpusOut) {
  EXPECT_NEAR(balanced().seconds_a_frame(), 0.020 / 4, 1e-4);
  EXPECT_NEAR(balanced().cpu(), 0.020, 1e-12);
}

TEST(PipelineModel, IsAsFastAsItsSlowestPart) {
  PipelineModel m = balanced();
  m.lanes = m.streams = 1;  // one thread does it all but encode
  m.tokens = 3;
  EXPECT_NEAR(m.seconds_a_frame(), 0.013, 1e-4);
  m = balanced();
  m.read.wait = 0.03;
  EXPECT_NEAR(m.seconds_a_frame(), 0.032, 1e-4);
  m = balanced();
  m.write.wait = 0.05;
  EXPECT_NEAR(m.seconds_a_frame(), 0.051, 1e-4);
  m = balanced();
  m.tokens = 1;
  EXPECT_NEAR(m.seconds_a_frame(), 0.013, 1e-4);
  m = balanced();
  m.encoder_threads = 1;
  m.cpus = m.machine_cpus = 16;
  m.lanes = m.streams = 16;
  m.tokens = 18;
  EXPECT_NEAR(m.seconds_a_frame(), 0.008, 1e-4);  // with one thread it keeps who hands pictures over
  m.encoder_threads = 2;
  EXPECT_NEAR(m.seconds_a_frame(), 0.004, 6e-4);
  m = balanced();
  m.decode.cpu = 0.05;
  EXPECT_NEAR(m.seconds_a_frame(), 0.05, 1e-4);
  m.decoder_threads = 4;  // all CPU time: 68 ms on 4 CPUs
  EXPECT_NEAR(m.seconds_a_frame(), 0.068 / 4, 1.5e-3);
}

TEST(PipelineModel, OfThreadsThatShareAFrame) {
  PipelineModel m = balanced();
  m.streams = 1;
  m.lanes = 2;
  m.infer_threads = 4;
  m.infer.cpu = 0.1;
  m.cpus = m.machine_cpus = 64;
  EXPECT_NEAR(m.seconds_a_frame(), 0.025, 1e-4);
}

TEST(PipelineModel, IsNoFasterThanQueuesAllow) {
  // Two frames under way, one thread each: never more than two CPUs' worth, though there are 8.
  PipelineModel m = balanced();
  m.encoder_cpu = 0;
  m.cpus = m.machine_cpus = 8;
  m.lanes = m.streams = 8;
  m.tokens = 2;
  EXPECT_NEAR(m.seconds_a_frame(), 0.013 / 2, 3e-4);
  // Where two serial stages are nearly as long as the bound, they get in each other's way.
  m.decode.cpu = 0.006;
  m.infer.cpu = 0.002;
  m.encode.cpu = 0.006;
  EXPECT_GE(m.seconds_a_frame(), 0.007 - 1e-9);
  EXPECT_LE(m.seconds_a_frame(), 0.008 + 1e-9);
}

TEST(PipelineModel, CountsFillingAndDrainingOfShortJobs) {
  PipelineModel m = balanced();
  m.frames = 1;
  EXPECT_NEAR(m.seconds_a_frame(), 0.020, 1e-9);
  m.frames = 10;
  EXPECT_GT(m.seconds_a_frame(), 0.0055);
  m.overlap = false;
  EXPECT_NEAR(m.seconds_a_frame(), 0.020, 1e-12);
}

TEST(PipelineModel, AFullMachineIsSlowerACpu) {
  PipelineModel m = balanced();
  m.crowding = 1.5;
  EXPECT_NEAR(m.seconds_a_frame(), 1.5 * 0.020 / 4, 2e-4);
  m.lanes = m.streams = m.tokens = 1;
  m.encode.cpu += m.encoder_cpu;
  m.encoder_cpu = 0;
  EXPECT_NEAR(m.seconds_a_frame(), 0.020, 1e-4);  // one CPU works
}

TEST(PipelineModel, ThreadsWithoutWorkAreInTheWayOfThoseThatHaveSome) {
  PipelineModel m = balanced();
  m.encoder_cpu = 0;
  m.tokens = 1;
  m.cpus = m.machine_cpus = 2;
  m.lanes = m.streams = 2;
  m.spinning = 1;
  EXPECT_NEAR(m.seconds_a_frame(), 0.013, 1e-4);  // there is a CPU for it
  m.cpus = m.machine_cpus = 1;
  EXPECT_NEAR(m.seconds_a_frame(), 0.026, 2e-4);
}

TEST(PipelineModel, LeavesOthersTheirShare) {
  PipelineModel m = balanced();
  m.encoder_cpu = 0;  // four threads, and
  m.others = 4;       // four of others on as many CPUs: half of each
  EXPECT_NEAR(m.seconds_a_frame(), 2 * 0.013 / 4, 3e-4);
  m.lanes = m.streams = 1;
  m.others = 3;
  EXPECT_NEAR(m.seconds_a_frame(), 0.013, 1e-4);  // a CPU for each
}

pipeline::Measurements measured() {
  pipeline::Measurements m;
  m.video = true;
  m.frames = 100;
  m.threads = m.streams = m.lanes = m.cpus = 2;
  m.tokens = 4;
  m.seconds = 1;
  return m;
}

TEST(PipelineModel, TellsWaitingFromHavingNoCpu) {
  pipeline::Measurements m = measured();
  m.delays_known = true;
  m.infer = {1.6, 0.6, 0.7};
  EXPECT_NEAR(model_of(m).infer.wait, 0.003, 1e-9);
  EXPECT_NEAR(model_of(m).infer.cpu, 0.006, 1e-9);
}

TEST(PipelineModel, GuessesThatWhereTheKernelDoesNotTell) {
  pipeline::Measurements m = measured();
  m.infer = {1.6, 0.6};
  m.mask = {0.3, 0.1};
  m.idle_cpus = 1.2;
  EXPECT_NEAR(model_of(m).infer.wait, 0.010, 1e-9);  // something else was waited for
  m.idle_cpus = 0;
  EXPECT_EQ(model_of(m).infer.wait, 0);  // others had the CPUs: the mask waited as well
  m.mask = {0.1, 0.1};
  EXPECT_NEAR(model_of(m).infer.wait, 0.004, 1e-9);  // the mask did not
  EXPECT_NEAR(model_of(m).infer.cpu, 0.006, 1e-9);
}

TEST(PipelineModel, TellsOthersFromOwnThreads) {
  pipeline::Measurements m = measured();
  m.cpus = m.threads = m.streams = m.lanes = 8;
  m.infer = {4, 3};
  m.own_cpus = 3;
  m.idle_cpus = 1;
  EXPECT_NEAR(others_cpus(m), 4, 1e-9);
  EXPECT_NEAR(model_of(m).others, 4, 1e-9);
  m.infer.delay = 3;  // each thread ran half of the time in which it could have
  EXPECT_NEAR(model_of(m).others, 8, 1e-9);
  m.idle_cpus = 5;
  EXPECT_NEAR(model_of(m).others, 0, 1e-9);
  // All busy, and all of it ours: too many threads are no other program.
  m.own_cpus = 8;
  m.idle_cpus = 0;
  EXPECT_NEAR(model_of(m).others, 0, 1e-9);
  m.idle_cpus = -1;  // unknown
  m.own_cpus = 3;
  EXPECT_EQ(others_cpus(m), 0);
}

TEST(PipelineModel, TakesCrowdingOutOfWhatWasMeasured) {
  pipeline::Measurements m = measured();
  m.infer = {1.5, 1.5};
  m.own_cpus = 2;
  EXPECT_NEAR(model_of(m, 1.5).infer.cpu, 0.010, 1e-9);  // both CPUs were busy
  m.own_cpus = 1;
  m.idle_cpus = 1;
  EXPECT_NEAR(model_of(m, 1.5).infer.cpu, 0.015, 1e-9);
}

TEST(PipelineModel, GivesThreadsTheirStages) {
  pipeline::Measurements m = measured();
  m.streams = 1;
  m.infer = {0.5, 0.4};
  m.encoder_cpu = 0.3;
  m.helper_cpu = 0.35;
  m.decoder_cpu = 0.2;
  m.decode = {0.1, 0.1};
  m.delays_known = true;
  EXPECT_NEAR(model_of(m).infer.cpu, 0.0075, 1e-9);
  EXPECT_NEAR(model_of(m).decode.cpu, 0.003, 1e-9);
  EXPECT_NEAR(model_of(m).encoder_cpu, 0.003, 1e-9);
  m.delays_known = false;  // all that is not of stages is in one number
  EXPECT_NEAR(model_of(m).infer.cpu, 0.007, 1e-9);
  EXPECT_NEAR(model_of(m).encoder_cpu, 0, 1e-9);
}

TEST(PipelineModel, AnEncoderThatIsBehindIsNotTheHandingOver) {
  pipeline::Measurements m = measured();
  m.encode = {0.9, 0.1};
  m.encoder_cpu = 1.7;
  const PipelineModel model = model_of(m);
  EXPECT_EQ(model.encode.wait, 0);
  EXPECT_NEAR(model.encode.cpu, 0.001, 1e-9);
  EXPECT_NEAR(model.encoder_cpu, 0.017, 1e-9);
}

}  // namespace
}  // namespace saccade::profile
