#include "trace/stage_clock.h"
