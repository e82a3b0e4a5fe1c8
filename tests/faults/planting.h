// Tables of faults in FP8 kernels.
#pragma once

#include "tests/faults/fault_table.h"
#include "tests/faults/words.h"

namespace tilewright::faults {

using Table = std::vector<PlantedFault>;

inline void plant(Table& table, const char* name, const GemmCase& gemm, const char* line,
                  emulator::FaultSpec fault, Symptom symptom) {
  table.push_back({name, &gemm, line, std::move(fault), std::move(symptom)});
}

constexpr const char *kProducer = "producer", *kConsumer = "consumer", *kStaging = "C staging";
/// The producing thread of a kernel with one consumer warpgroup, and with two.
constexpr int kProducer64 = 128, kProducer128 = 256;

// ---- the tables

void plant_in_setup(Table& table);      // barriers, registers, start and end
void plant_in_ring(Table& table);       // producer, consumers, clusters
void plant_in_compute(Table& table);    // MMAs and stores
void plant_in_scales(Table& table);     // scales of blocks, and of rows and columns
void plant_in_addresses(Table& table);  // the barrier beside the right one

}  // namespace tilewright::faults
