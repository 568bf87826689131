import { crc32, deflateSync } from "node:zlib";

/** A PNG of 8-bit RGB: a gradient. */
export function drawImage(width: number, height: number): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // 8 bits a channel, RGB; compression, filter and interlace are 0.
  header.set([8, 2], 8);
  const rows = Buffer.alloc((1 + width * 3) * height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      rows.set([40 + x, 90 + y, 160], y * (1 + width * 3) + 1 + x * 3);
    }
  }
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const parts = [
    pngChunk("IHDR", header),
    pngChunk("IDAT", deflateSync(rows)),
    pngChunk("IEND", Buffer.alloc(0)),
  ];
  return Buffer.concat([signature, ...parts]);
}

function pngChunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const chunk = Buffer.alloc(named.length + 8);
  chunk.writeUInt32BE(data.length, 0);
  named.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(named), named.length + 4);
  return chunk;
}
