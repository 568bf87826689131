import { crc32, deflateSync } from "node:zlib";
import type { MediaKind } from "../../../schema/message-kind.js";

const FILE_NAMES: Record<MediaKind, string> = {
  image: "image.png",
  audio: "audio.wav",
  video: "video.webm",
  file: "file.txt",
};

/** Where the samples stand, on the port of the registration interface. */
const SAMPLES_PATH = "/_emulator/samples/";

/** A WebM (VP8) of two seconds, 64 x 48: a white square that moves to the right. Written by ffmpeg. */
const sampleVideo = Uint8Array.from(
  Buffer.from(
    "GkXfo59ChoEBQveBAULygQRC84EIQoKEd2VibUKHgQJChYECGFOAZwEAAAAAAAIZEU2bdLpNu4tTq4QVSalmU6yBoU27i1OrhBZU" +
      "rmtTrIHGTbuMU6uEElTDZ1OsggEiTbuMU6uEHFO7a1OsggID7AEAAAAAAABZAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" +
      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAVSalmoCrXsYMPQkBNgIRM" +
      "YXZmV0GETGF2ZkSJiECfQAAAAAAAFlSua9euAQAAAAAAAE7XgQFzxYgAAAAAAAAAAZyBACK1nIN1bmSIgQCGhVZfVlA4g4EBI+OD" +
      "hB3NZQDgkLCBQLqBMJqBAlWwhFW5gQFV7oEA7AEAAAAAAAACAAASVMNn0HNzzWPAi2PFiAAAAAAAAAABZ8iYRaOHRU5DT0RFUkSH" +
      "i0xhdmMgbGlidnB4Z8ihRaOIRFVSQVRJT05Eh5MwMDowMDowMi4wMDAwMDAwMDAAH0O2dUCG54EAo7mBAACA0AIAnQEqQAAwAABH" +
      "CIWFiIWEiAICAnTyZri88zHm+kD++7ArXFzZEUf/Z3f/9O7//p3f3vijloEB9ADRAQAHEOwAGAAYWC/0AAiMAACjloED6ADRAQAH" +
      "EOwAGAAYWC/0AAiMAACjloEF3ADRAQAHEOwAGAAYWC/0AAiMAAAcU7trkbuPs4EAt4r3gQHxggF38IED",
    "base64",
  ),
);

/** Small media, so that replies show some without the network: by path, such as `/_emulator/samples/image.png`. */
export const samples: ReadonlyMap<string, { contentType: string; bytes: Uint8Array }> = new Map([
  [pathOf("image"), { contentType: "image/png", bytes: drawImage(96, 64) }],
  [pathOf("audio"), { contentType: "audio/wav", bytes: soundTone(440, 0.5) }],
  [pathOf("video"), { contentType: "video/webm", bytes: sampleVideo }],
  [
    pathOf("file"),
    {
      contentType: "text/plain; charset=utf-8",
      bytes: Buffer.from("A sample file. Um arquivo de exemplo.\n"),
    },
  ],
]);

/** The URL of each kind of media under an origin, such as `http://127.0.0.1:8080`. */
export function sampleUrls(origin: string): Record<MediaKind, string> {
  return {
    image: `${origin}${pathOf("image")}`,
    audio: `${origin}${pathOf("audio")}`,
    video: `${origin}${pathOf("video")}`,
    file: `${origin}${pathOf("file")}`,
  };
}

function pathOf(kind: MediaKind): string {
  return `${SAMPLES_PATH}${FILE_NAMES[kind]}`;
}

/** A PNG of 8-bit RGB: a gradient. */
function drawImage(width: number, height: number): Uint8Array {
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

/** A WAV of 8 bits, mono: a tone that fades. */
function soundTone(frequencyHz: number, seconds: number): Uint8Array {
  const samplesPerSecond = 8000;
  const count = Math.round(samplesPerSecond * seconds);
  const wav = Buffer.alloc(44 + count);
  wav.write("RIFF", 0, "latin1");
  wav.writeUInt32LE(36 + count, 4);
  wav.write("WAVEfmt ", 8, "latin1");
  wav.writeUInt32LE(16, 16);
  // PCM, one channel; then samples and bytes a second, bytes and bits a sample.
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(samplesPerSecond, 24);
  wav.writeUInt32LE(samplesPerSecond, 28);
  wav.writeUInt16LE(1, 32);
  wav.writeUInt16LE(8, 34);
  wav.write("data", 36, "latin1");
  wav.writeUInt32LE(count, 40);
  for (let n = 0; n < count; n += 1) {
    const loudness = 90 * (1 - n / count);
    wav[44 + n] = Math.round(128 + loudness * Math.sin((2 * Math.PI * frequencyHz * n) / samplesPerSecond));
  }
  return wav;
}
