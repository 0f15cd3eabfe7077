// Prints the name of each kernel of vision's tables that this machine can run, one a line.
#include <cstdio>

#include "vision/kernels/sabotage.h"

int main() {
  for (const std::string& name : saccade::vision::breakable_kernels()) std::puts(name.c_str());
}
