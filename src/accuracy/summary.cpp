#include "accuracy/summary.h"

namespace saccade::accuracy {

void Summary::add(MaskView first, MaskView second, std::span<const std::uint8_t> valid) {
  confusion_.add(first, second, valid);
  boundary_.add(first, second, boundary_tolerance(first.width, first.height));
  matte_.add(first, second, valid);
  ++pictures_;
}

void Summary::add(const Summary& other) noexcept {
  confusion_.add(other.confusion_);
  boundary_.first += other.boundary_.first, boundary_.first_near += other.boundary_.first_near;
  boundary_.second += other.boundary_.second, boundary_.second_near += other.boundary_.second_near;
  matte_.sum += other.matte_.sum, matte_.square_sum += other.matte_.square_sum;
  matte_.count += other.matte_.count;
  pictures_ += other.pictures_;
}

MaskAgreement Summary::agreement() const noexcept {
  MaskAgreement result;
  result.iou = confusion_.iou();
  result.mean_iou = confusion_.mean_iou();
  result.dice = confusion_.dice();
  result.boundary_f = boundary_.f();
  result.changed = confusion_.changed();
  result.mae = matte_.mean();
  result.mse = matte_.mean_square();
  result.sad = pictures_ == 0 ? 0 : matte_.sad() / static_cast<double>(pictures_);
  return result;
}

}  // namespace saccade::accuracy
