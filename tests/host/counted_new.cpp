// SPDX-License-Identifier: Apache-2.0
#include "counted_new.hpp"

#include <cstdlib>
#include <new>

namespace saccade::host {
namespace {

thread_local bool wanted = false, paused = false;
thread_local int allocations = 0;

void* allocateAndCount(std::size_t size) {
  if (wanted && !paused) allocations++;
  if (void* const memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}

}  // namespace

CountedNew::CountedNew() {
  allocations = 0;
  wanted = true;
}

CountedNew::~CountedNew() { wanted = false; }

int CountedNew::count() const { return allocations; }

void CountedNew::pause() { paused = true; }

void CountedNew::resume() { paused = false; }

}  // namespace saccade::host

void* operator new(std::size_t size) { return saccade::host::allocateAndCount(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
