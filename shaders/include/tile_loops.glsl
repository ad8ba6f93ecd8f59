// SPDX-License-Identifier: Apache-2.0
#ifndef SACCADE_TILE_LOOPS_GLSL
#define SACCADE_TILE_LOOPS_GLSL
// Which tiles of keys a work-group goes over, and by which of a kernel's two loops. Whole tiles, of which every row sees every key, have
// a loop of their own, which takes finite scores for granted; where that was wrong, everything is done again by the other one.
// To be included behind staging.glsl and the kernel's own
//
//   CHUNKS_QK, CHUNKS_V  chunks in which channels are staged; whole tiles have one
//   UNITS_ALONE          whole tiles that can be read by units have a loop to themselves
//   findPlace()          what the invocation works for
//   start(b)             no key was seen yet
//   addWholeTiles(p, b, begin, end, scale, byUnits)  false if a score was not finite
//   addTile(p, b, first, scale, aligned)             a tile of any other kind
//   finish(p, b)

void main() {
  AttentionParams p = ParamsIn(push.params).value;
  Block b = blockOf(p, groupIndex(), 0u, ROWS, 0u);
  if (isVacant(b)) return;
  findPlace();
  start(b);

  // The sign of the scale goes into Q, so that the largest product of a row has the largest score.
  float scale = abs(p.scale);
  bool aligned = isAligned(p);
  if (CHUNKS_QK == 1) stageQ(p, b, 0u, aligned);

  // ---- Whole tiles: from wholeBegin to wholeEnd, in step with the others.
  uint keysEnd = HAS_KEYS != 0 ? b.keysEnd : 0u;
  uint wholeBegin = b.keysBegin + (b.plainBegin - b.keysBegin + KEYS - 1u) / KEYS * KEYS;
  uint wholeEnd = wholeBegin;
  // Scales with which neither products nor scores of finite inputs are lost.
  bool inRange = PLAIN && CHUNKS_QK == 1 && CHUNKS_V == 1 && KV_DTYPE == 0 && scale > 1e-30 && scale < 1e15;
  uint plainEnd = min(b.plainEnd, keysEnd);
  if (inRange && plainEnd > wholeBegin) wholeEnd += (plainEnd - wholeBegin) / KEYS * KEYS;
  if (wholeEnd > wholeBegin) {
    // Strides for which a tile's offsets stay below 2^32.
    bool simple = aligned && max(p.kStrideT, p.vStrideT) < (1u << 22), ordinary;
    if (UNITS_ALONE && simple) ordinary = addWholeTiles(p, b, wholeBegin, wholeEnd, scale, true);
    else ordinary = addWholeTiles(p, b, wholeBegin, wholeEnd, scale, UNITS_ALONE ? false : simple);
    barrier();
    if (lane == 0u) flag = 0u;
    barrier();
    if (!ordinary) flag = 1u;
    barrier();
    if (flag != 0u) {
      start(b);
      wholeEnd = wholeBegin;
    }
  }

  // ---- The other tiles
  for (uint first = b.keysBegin; CAREFUL && first < keysEnd; first += KEYS) {
    if (first == wholeBegin) {
      first = wholeEnd;
      if (first >= keysEnd) break;
    }
    addTile(p, b, first, scale, aligned);
  }
  finish(p, b);
}

#endif  // SACCADE_TILE_LOOPS_GLSL
