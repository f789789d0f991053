// SPDX-License-Identifier: Apache-2.0
// In place of mix.cpp on x86-64: with AVX2 where the processor has it.
#include <immintrin.h>

#include <cstring>

#include "worker/train/data/mix_plain.hpp"

namespace batchsweep::train {
namespace {

std::int32_t four_bytes(const std::uint8_t* from) {
  std::int32_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}
void put_four_bytes(std::uint8_t* to, std::int32_t word) { std::memcpy(to, &word, sizeof word); }

// A pixel of each row in a half of the vector. Four bytes are read and written where three are
// meant: the fourth is the next pixel's, which is written after it.
[[gnu::target("avx2")]] void avx2_mix_across(const std::uint8_t* upper, const std::uint8_t* lower,
                                             const int* first, const std::int32_t* weights,
                                             int taps, int outputs, std::uint8_t* upper_out,
                                             std::uint8_t* lower_out) {
  const __m256i half = _mm256_set1_epi32(1 << (kFractionBits - 1));
  const __m256i low_bytes = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1));
  for (int x = 0; x < outputs; ++x, weights += taps, upper_out += 3, lower_out += 3) {
    const std::uint8_t *a = upper + 3 * first[x], *b = lower + 3 * first[x];
    __m256i sum = half;
    for (int tap = 0; tap < taps; ++tap, a += 3, b += 3) {
      const __m128i pixels = _mm_insert_epi32(_mm_cvtsi32_si128(four_bytes(a)), four_bytes(b), 1);
      sum = _mm256_add_epi32(
          sum, _mm256_mullo_epi32(_mm256_cvtepu8_epi32(pixels), _mm256_set1_epi32(weights[tap])));
    }
    sum = _mm256_shuffle_epi8(_mm256_srai_epi32(sum, kFractionBits), low_bytes);
    put_four_bytes(upper_out, _mm_cvtsi128_si32(_mm256_castsi256_si128(sum)));
    put_four_bytes(lower_out, _mm_cvtsi128_si32(_mm256_extracti128_si256(sum, 1)));
  }
}

[[gnu::target("avx2")]] void avx2_mix_down(const std::uint8_t* rows, std::size_t stride,
                                           const std::int32_t* weights, int taps, int bytes,
                                           std::uint8_t* out) {
  constexpr int kColumns = 16;
  const __m256i half = _mm256_set1_epi32(1 << (kFractionBits - 1));
  int from = 0;
  for (; from + kColumns <= bytes; from += kColumns) {
    __m256i left = half, right = half;
    const std::uint8_t* row = rows + from;
    for (int tap = 0; tap < taps; ++tap, row += stride) {
      const __m128i columns = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row));
      const __m256i weight = _mm256_set1_epi32(weights[tap]);
      left = _mm256_add_epi32(left, _mm256_mullo_epi32(_mm256_cvtepu8_epi32(columns), weight));
      right = _mm256_add_epi32(
          right, _mm256_mullo_epi32(_mm256_cvtepu8_epi32(_mm_srli_si128(columns, 8)), weight));
    }
    left = _mm256_srai_epi32(left, kFractionBits);
    right = _mm256_srai_epi32(right, kFractionBits);
    // Packing works within halves of the vectors: 0-3, 8-11, 4-7, 12-15, then put in order.
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packus_epi32(left, right), 0xD8);
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(out + from),
        _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
  }
  plain_mix_down(rows + from, stride, weights, taps, bytes - from, out + from);
}

const bool kAvx2 = __builtin_cpu_supports("avx2") != 0;

}  // namespace

void mix_across(const std::uint8_t* upper, const std::uint8_t* lower, const int* first,
                const std::int32_t* weights, int taps, int outputs, std::uint8_t* upper_out,
                std::uint8_t* lower_out) {
  if (kAvx2) {
    avx2_mix_across(upper, lower, first, weights, taps, outputs, upper_out, lower_out);
  } else {
    plain_mix_across(upper, first, weights, taps, outputs, upper_out);
    plain_mix_across(lower, first, weights, taps, outputs, lower_out);
  }
}

void mix_down(const std::uint8_t* rows, std::size_t stride, const std::int32_t* weights, int taps,
              int bytes, std::uint8_t* out) {
  if (kAvx2) {
    avx2_mix_down(rows, stride, weights, taps, bytes, out);
  } else {
    plain_mix_down(rows, stride, weights, taps, bytes, out);
  }
}

}  // namespace batchsweep::train
