const SAMPLES_PER_SECOND = 8000;

/** A WAV of 8 bits, mono: a tone that fades. */
export function soundTone(frequencyHz: number, seconds: number): Uint8Array {
  const count = Math.round(SAMPLES_PER_SECOND * seconds);
  const wav = Buffer.alloc(44 + count);
  wav.write("RIFF", 0, "latin1");
  wav.writeUInt32LE(36 + count, 4);
  wav.write("WAVEfmt ", 8, "latin1");
  wav.writeUInt32LE(16, 16);
  // PCM, one channel; then samples and bytes a second, bytes and bits a sample.
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(SAMPLES_PER_SECOND, 24);
  wav.writeUInt32LE(SAMPLES_PER_SECOND, 28);
  wav.writeUInt16LE(1, 32);
  wav.writeUInt16LE(8, 34);
  wav.write("data", 36, "latin1");
  wav.writeUInt32LE(count, 40);
  for (let n = 0; n < count; n += 1) {
    const loudness = 90 * (1 - n / count);
    wav[44 + n] = Math.round(128 + loudness * Math.sin((2 * Math.PI * frequencyHz * n) / SAMPLES_PER_SECOND));
  }
  return wav;
}
