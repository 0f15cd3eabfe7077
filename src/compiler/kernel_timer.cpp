#include "compiler/kernel_timer.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace saccade::compiler {

namespace {

constexpr std::array<std::string_view, 6> kOfPictures{"Conv",        "QLinearConv", "ConvTranspose",
                                                      "AveragePool", "MaxPool",     "InvertedResidual"};

std::vector<TensorDesc> first_of(std::span<const TensorDesc> descs, std::span<const Tensor* const> constants,
                                 std::int64_t batch) {
  std::vector<TensorDesc> result(descs.begin(), descs.end());
  for (std::size_t i = 0; i < result.size(); ++i) {
    const bool constant = i < constants.size() && constants[i] != nullptr;
    if (result[i].present && !constant && result[i].rank() > 1 && result[i].dims[0] == batch)
      result[i].dims[0] = 1;
  }
  return result;
}

}  // namespace

bool SinglePicture::possible(const KernelQuery& query) {
  return std::find(kOfPictures.begin(), kOfPictures.end(), query.node.op) != kOfPictures.end() &&
         !query.outputs.empty() && query.outputs[0].rank() == 4 && query.outputs[0].count() > 0 &&
         query.inputs[0].rank() == 4 && query.inputs[0].dims[0] == query.outputs[0].dims[0];
}

SinglePicture::SinglePicture(const KernelQuery& query)
    : batch_(query.outputs[0].dims[0]),
      inputs_(first_of(query.inputs, query.constants, batch_)),
      outputs_(first_of(query.outputs, {}, batch_)),
      query_{query.node, inputs_, query.constants, outputs_, query.precision} {}

}  // namespace saccade::compiler
