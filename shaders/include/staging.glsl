// SPDX-License-Identifier: Apache-2.0
#ifndef SACCADE_STAGING_GLSL
#define SACCADE_STAGING_GLSL
// Tiles of Q, K and V on their way to shared memory, for kernels whose work-groups share them. To be included where these are known:
//
//   ROWS, KEYS          of the tiles, which are qTile and kvTile
//   PIECES              of a row, staged at a time; PIECES_QK and PIECES_V of these hold channels
//   PITCH               pieces from one row of a tile to the next
//   PUT_PIECE(tile, at, piece)   stores a piece
//   lane, flag          of the invocation, and of the work-group

// What an address must be like for units: known when the pipeline is made, but for the tensors' addresses and strides.
bool isAligned(const AttentionParams p) {
  if (HEAD_DIM_QK % UNIT_ELEMENTS != 0) return false;
  if (HEAD_DIM_V % UNIT_ELEMENTS != 0) return false;
  if (KV_DTYPE != 0) return false;
  uint strides = p.qStrideB | p.qStrideH | p.qStrideT | p.kStrideB | p.kStrideH | p.kStrideT | p.vStrideB | p.vStrideH | p.vStrideT;
  return strides % UNIT_ELEMENTS == 0u && isUnitAligned(push.buffers[BUFFER_Q]) && isUnitAligned(push.buffers[BUFFER_K]) &&
         isUnitAligned(push.buffers[BUFFER_V]);
}

// Fills a chunk of a tile; rowAddress is an expression in `row`, of the tile. Without alignment element by element.
#define STAGE(tile, rows, chunk, pieces, headDim, aligned, load, rowAddress, changed)                                         \
  if (aligned) {                                                                                                        \
    const uint units = (pieces + UNIT_PIECES - 1) / UNIT_PIECES;                                                                           \
    [[dont_unroll]] for (uint i = lane; i < rows * units; i += LOCAL_SIZE) {                                            \
      uint row = i / units, unit = i % units, channel = chunk * CHANNELS + unit * UNIT_ELEMENTS;                        \
      uvec4 bits = loadUnit(elementAddress(rowAddress, min(channel, headDim - min(UNIT_ELEMENTS, headDim)), ELEMENT_BYTES)); \
      [[unroll]] for (uint n = 0; n < UNIT_PIECES; n++) {                                                               \
        Piece piece = pieceOfUnit(channel < headDim ? bits : uvec4(0u), n);                                             \
        PUT_PIECE(tile, row * PITCH + unit * UNIT_PIECES + n, changed);                                                 \
      }                                                                                                                 \
    }                                                                                                                   \
  } else {                                                                                                              \
    [[dont_unroll]] for (uint i = lane; i < rows * pieces; i += LOCAL_SIZE) {                                           \
      uint row = i / pieces, column = i % pieces;                                                                       \
      Piece piece = load(rowAddress, chunk * PIECES + column, headDim);                                                 \
      PUT_PIECE(tile, row * PITCH + column, changed);                                                                   \
    }                                                                                                                   \
  }

// Rows past the length, which may hold anything, are the last one: NaN in them must not decide which loop the others take.
void stageQ(const AttentionParams p, const Block b, uint chunk, bool aligned) {
  uint lastRow = max(b.seqlenQ, 1u) - 1u;
  STAGE(qTile, ROWS, chunk, PIECES_QK, HEAD_DIM_QK, aligned, loadPiece, queryRow(p, b, min(b.firstRow + row, lastRow)), negatedIf(piece, p.scale < 0.0))
}

void stageK(const AttentionParams p, const Block b, uint first, uint chunk, bool aligned) {
  STAGE(kvTile, KEYS, chunk, PIECES_QK, HEAD_DIM_QK, aligned, loadKeyPiece, keyRowOfK(p, b, first + row), piece)
}

// The value of a key, 0 of one that is past the last.
Piece keptValue(Piece piece, bool exists, inout bool finite) {
  if (!exists) return Piece(0);
  finite = finite && isFinite(piece);
  return piece;
}

// Bytes of V take their scale here, those of K where scores are.
Piece scaledValue(const AttentionParams p, const Block b, uint key, Piece piece) {
  return V_SCALE != 0 ? narrowed(widened(piece) * keyScaleOfV(p, b, key)) : piece;
}

// Sets the flag if there is NaN or infinity.
void stageV(const AttentionParams p, const Block b, uint first, uint chunk, bool aligned) {
  bool finite = true;
  STAGE(kvTile, KEYS, chunk, PIECES_V, HEAD_DIM_V, aligned, loadKeyPiece, keyRowOfV(p, b, first + row),
        keptValue(scaledValue(p, b, first + row, piece), first + row < b.seqlenK, finite))
  if (!finite) flag = 1u;
}

// The same for a whole tile of keys that exist, in the loop that counts: rows are strideBytes apart from `base` on, `offset` is that of
// the invocation's first unit. Of pages, rowAddress is taken, an expression in `row`.
#define STAGE_WHOLE(pieces, base, strideBytes, offset, rowAddress)                                                      \
  {                                                                                                                     \
    const uint units = (pieces + UNIT_PIECES - 1) / UNIT_PIECES, step = LOCAL_SIZE / units, steps = (KEYS + step - 1) / step;               \
    uint firstRow = lane / units, at = firstRow * PITCH + lane % units * UNIT_PIECES;                                   \
    [[unroll]] for (uint n = 0; n < steps; n++) {                                                                       \
      bool takesPart = (LOCAL_SIZE % units == 0 || firstRow < step) &&                                                  \
                       (n + 1 < steps || KEYS % step == 0 || firstRow + n * step < KEYS);                               \
      if (takesPart) {                                                                                                  \
        uint row = firstRow + n * step;                                                                                 \
        Address unit = PAGE_SIZE != 0 ? elementAddress(rowAddress, lane % units, UNIT_BYTES)                            \
                                      : elementAddress(elementAddress(base, n * step, strideBytes), offset, 1u);        \
        uvec4 bits = loadUnit(unit);                                                                                    \
        [[unroll]] for (uint i = 0; i < UNIT_PIECES; i++) PUT_PIECE(kvTile, at + (n * step * PITCH + i), pieceOfUnit(bits, i)); \
      }                                                                                                                 \
    }                                                                                                                   \
  }

// The offset in bytes of the first unit that the invocation stages of a whole tile.
uint firstUnit(const uint pieces, uint strideBytes) {
  const uint units = (pieces + UNIT_PIECES - 1) / UNIT_PIECES;
  return lane / units * strideBytes + lane % units * UNIT_BYTES;
}

#endif  // SACCADE_STAGING_GLSL
