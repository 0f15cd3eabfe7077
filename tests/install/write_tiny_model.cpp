#include "apps/tiny_onnx.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  saccade::testing::write_tiny_network(argv[1]);
  return 0;
}
