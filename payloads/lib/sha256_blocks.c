/* SPDX-License-Identifier: MIT */
/*
 * The rounds of SHA-256. The instructions for them do four rounds on vectors of four words; what
 * they compute is in Intel's and Arm's manuals (SHA256RNDS2, SHA256MSG1, SHA256MSG2; SHA256H,
 * SHA256H2, SHA256SU0, SHA256SU1).
 */
#include "payloads/lib/sha256_blocks.h"

static const uint32_t round_constant[64] = {
	0x428a2f98,
	0x71374491,
	0xb5c0fbcf,
	0xe9b5dba5,
	0x3956c25b,
	0x59f111f1,
	0x923f82a4,
	0xab1c5ed5,
	0xd807aa98,
	0x12835b01,
	0x243185be,
	0x550c7dc3,
	0x72be5d74,
	0x80deb1fe,
	0x9bdc06a7,
	0xc19bf174,
	0xe49b69c1,
	0xefbe4786,
	0x0fc19dc6,
	0x240ca1cc,
	0x2de92c6f,
	0x4a7484aa,
	0x5cb0a9dc,
	0x76f988da,
	0x983e5152,
	0xa831c66d,
	0xb00327c8,
	0xbf597fc7,
	0xc6e00bf3,
	0xd5a79147,
	0x06ca6351,
	0x14292967,
	0x27b70a85,
	0x2e1b2138,
	0x4d2c6dfc,
	0x53380d13,
	0x650a7354,
	0x766a0abb,
	0x81c2c92e,
	0x92722c85,
	0xa2bfe8a1,
	0xa81a664b,
	0xc24b8b70,
	0xc76c51a3,
	0xd192e819,
	0xd6990624,
	0xf40e3585,
	0x106aa070,
	0x19a4c116,
	0x1e376c08,
	0x2748774c,
	0x34b0bcb5,
	0x391c0cb3,
	0x4ed8aa4a,
	0x5b9cca4f,
	0x682e6ff3,
	0x748f82ee,
	0x78a5636f,
	0x84c87814,
	0x8cc70208,
	0x90befffa,
	0xa4506ceb,
	0xbef9a3f7,
	0xc67178f2,
};

static uint32_t rotate(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

static uint32_t load_word(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The words of the next sixteen rounds take the place of those of the last, one at a time. */
static inline void renew_word(uint32_t w[16], unsigned i)
{
	uint32_t x = w[(i + 1) % 16], y = w[(i + 14) % 16];

	w[i] += w[(i + 9) % 16] + (rotate(x, 7) ^ rotate(x, 18) ^ x >> 3) +
		(rotate(y, 17) ^ rotate(y, 19) ^ y >> 10);
}

/* The standard moves all eight variables on by one; here they stay, and their names move. */
static inline void round_plain(uint32_t v[8], unsigned i, uint32_t word)
{
	uint32_t a = v[-i % 8], b = v[(1 - i) % 8], c = v[(2 - i) % 8];
	uint32_t e = v[(4 - i) % 8], f = v[(5 - i) % 8], g = v[(6 - i) % 8];
	uint32_t t = v[(7 - i) % 8] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
		     (g ^ (e & (f ^ g))) + word;

	v[(3 - i) % 8] += t;
	v[(7 - i) % 8] =
		t + (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) | (c & (a | b)));
}

static void block_plain(uint32_t state[8], const uint8_t *block)
{
	uint32_t w[16], v[8];

	for (int i = 0; i < 8; i++)
		v[i] = state[i];
	for (int i = 0; i < 16; i++)
		w[i] = load_word(block + 4 * i);
	for (unsigned start = 0; start < 64; start += 16) {
#pragma GCC unroll 16
		for (unsigned i = 0; i < 16; i++) {
			if (start > 0)
				renew_word(w, i);
			round_plain(v, i, round_constant[start + i] + w[i]);
		}
	}
	for (int i = 0; i < 8; i++)
		state[i] += v[i];
}

void sha256_blocks_plain(uint32_t state[8], const uint8_t *blocks, size_t count)
{
	for (; count > 0; count--, blocks += 64)
		block_plain(state, blocks);
}

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

/* The instructions want the state as (f e b a) and (h g d c), lowest lane first. */
__attribute__((target("sha,sse4.1"))) static void blocks_x86(
	uint32_t state[8], const uint8_t *blocks, size_t count)
{
	const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	__m128i low = _mm_loadu_si128((const __m128i *)state);
	__m128i high = _mm_loadu_si128((const __m128i *)(state + 4));
	__m128i feba = _mm_shuffle_epi32(_mm_unpacklo_epi64(low, high), 0x1b);
	__m128i hgdc = _mm_shuffle_epi32(_mm_unpackhi_epi64(low, high), 0x1b);

	for (; count > 0; count--, blocks += 64) {
		__m128i feba_before = feba, hgdc_before = hgdc, w[4];

#pragma GCC unroll 4
		for (int i = 0; i < 4; i++)
			w[i] = _mm_shuffle_epi8(
				_mm_loadu_si128((const __m128i *)blocks + i), big_endian);
#pragma GCC unroll 16
		for (int i = 0; i < 16; i++) {
			__m128i *now = &w[i % 4], last = w[(i + 3) % 4], k, x;

			k = _mm_loadu_si128((const __m128i *)round_constant + i);
			k = _mm_add_epi32(k, *now);
			hgdc = _mm_sha256rnds2_epu32(hgdc, feba, k);
			feba = _mm_sha256rnds2_epu32(feba, hgdc, _mm_shuffle_epi32(k, 0x0e));
			if (i >= 12)
				continue;
			x = _mm_sha256msg1_epu32(*now, w[(i + 1) % 4]);
			x = _mm_add_epi32(x, _mm_alignr_epi8(last, w[(i + 2) % 4], 4));
			*now = _mm_sha256msg2_epu32(x, last);
		}
		feba = _mm_add_epi32(feba, feba_before);
		hgdc = _mm_add_epi32(hgdc, hgdc_before);
	}
	low = _mm_shuffle_epi32(feba, 0x1b);
	high = _mm_shuffle_epi32(hgdc, 0x1b);
	_mm_storeu_si128((__m128i *)state, _mm_unpacklo_epi64(low, high));
	_mm_storeu_si128((__m128i *)(state + 4), _mm_unpackhi_epi64(low, high));
}

/* SSE alone is used, which every kernel for this processor saves. */
sha256_blocks_fn *sha256_blocks_special(void)
{
	unsigned a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSSE3) || !(c & bit_SSE4_1) ||
		!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_SHA))
		return NULL;
	return blocks_x86;
}

#elif defined(__AARCH64EL__) && (!defined(__clang__) || __clang_major__ >= 16)

#include <arm_neon.h>
#include <sys/auxv.h>

__attribute__((target("+crypto"))) static void blocks_arm64(
	uint32_t state[8], const uint8_t *blocks, size_t count)
{
	uint32x4_t abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4);

	for (; count > 0; count--, blocks += 64) {
		uint32x4_t abcd_before = abcd, efgh_before = efgh, w[4];

#pragma GCC unroll 4
		for (int i = 0; i < 4; i++)
			w[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(blocks + 16 * i)));
#pragma GCC unroll 16
		for (int i = 0; i < 16; i++) {
			uint32x4_t *now = &w[i % 4], abcd_old = abcd;
			uint32x4_t k = vaddq_u32(vld1q_u32(round_constant + 4 * i), *now);

			abcd = vsha256hq_u32(abcd, efgh, k);
			efgh = vsha256h2q_u32(efgh, abcd_old, k);
			if (i < 12)
				*now = vsha256su1q_u32(vsha256su0q_u32(*now, w[(i + 1) % 4]),
					w[(i + 2) % 4], w[(i + 3) % 4]);
		}
		abcd = vaddq_u32(abcd, abcd_before);
		efgh = vaddq_u32(efgh, efgh_before);
	}
	vst1q_u32(state, abcd);
	vst1q_u32(state + 4, efgh);
}

sha256_blocks_fn *sha256_blocks_special(void)
{
	return getauxval(AT_HWCAP) & HWCAP_SHA2 ? blocks_arm64 : NULL;
}

#else

sha256_blocks_fn *sha256_blocks_special(void)
{
	return NULL;
}

#endif

/* Asked for once: under a hypervisor the question costs as much as many blocks. */
void sha256_blocks(uint32_t state[8], const uint8_t *blocks, size_t count)
{
	static sha256_blocks_fn *chosen;
	sha256_blocks_fn *best = __atomic_load_n(&chosen, __ATOMIC_RELAXED);

	if (!best) {
		best = sha256_blocks_special();
		if (!best)
			best = sha256_blocks_plain;
		__atomic_store_n(&chosen, best, __ATOMIC_RELAXED);
	}
	best(state, blocks, count);
}
