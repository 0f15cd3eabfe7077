#include "profile/pipeline_model.h"

#include <gtest/gtest.h>

namespace saccade::profile {
namespace {

using Bound = PipelineModel::Bound;

PipelineModel balanced() {
  PipelineModel m;
  m.decode.cpu = 0.002;
  m.infer.cpu = 0.010;
  m.encode.cpu = 0.001;
  m.encoder_cpu = 0.007;
  m.lanes = m.streams = 4;
  m.encoder_threads = 6;
  m.tokens = 6;
  m.cpus = 4;
  return m;
}

TEST(PipelineModel, SharesTheCpusOut) {
  const PipelineModel m = balanced();
  EXPECT_EQ(m.bound(), Bound::cpus);
  EXPECT_NEAR(m.seconds_a_frame(), 0.020 / 4, 1e-12);
}

TEST(PipelineModel, TakesTheLongestOfAllBounds) {
  PipelineModel m = balanced();
  m.lanes = m.streams = 1;
  EXPECT_EQ(m.bound(), Bound::lanes);
  EXPECT_NEAR(m.seconds_a_frame(), 0.013, 1e-12);
  m = balanced();
  m.read.wait = 0.03;
  EXPECT_EQ(m.bound(), Bound::input);
  EXPECT_NEAR(m.seconds_a_frame(), 0.032, 1e-12);
  m = balanced();
  m.write.wait = 0.05;
  EXPECT_EQ(m.bound(), Bound::output);
  m = balanced();
  m.tokens = 1;
  EXPECT_EQ(m.bound(), Bound::tokens);
  EXPECT_NEAR(m.seconds_a_frame(), 0.013, 1e-12);
  m = balanced();
  m.encoder_threads = 1;
  m.cpus = 16;
  m.lanes = m.streams = 16;
  m.tokens = 18;
  EXPECT_EQ(m.bound(), Bound::encoder);
  EXPECT_NEAR(m.seconds_a_frame(), 0.007, 1e-12);
  m = balanced();
  m.streams = 1;
  m.infer_threads = 4;
  m.infer.cpu = 0.1;
  m.cpus = 64;
  EXPECT_EQ(m.bound(), Bound::middle);
  EXPECT_NEAR(m.seconds_a_frame(), 0.025, 1e-12);
  m = balanced();
  m.overlap = false;
  EXPECT_NEAR(m.seconds_a_frame(), 0.013, 1e-12);
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

TEST(PipelineModel, LeavesOthersTheirCpus) {
  pipeline::Measurements m = measured();
  m.cpus = m.threads = m.streams = m.lanes = 8;
  m.infer = {4, 3};
  m.idle_cpus = 1;
  EXPECT_NEAR(model_of(m).cpus, 4, 1e-9);
  m.idle_cpus = 5;
  EXPECT_NEAR(model_of(m).cpus, 8, 1e-9);
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
