// Descriptors of tile products: operators, their sum, its traits, and the path that carries it out.
#pragma once

#include "tilewright/pipeline/descriptor/explain.h"
#include "tilewright/pipeline/descriptor/refused.h"
#include "tilewright/pipeline/descriptor/traits.h"
