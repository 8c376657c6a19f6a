// SPDX-License-Identifier: Apache-2.0
#include "system/traffic.h"
