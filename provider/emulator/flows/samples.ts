import { inflateSync } from "node:zlib";
import type { MediaKind } from "../../../schema/message-kind.js";

const decode = (base64: string): Uint8Array => Uint8Array.from(Buffer.from(base64, "base64"));

/** A PNG, 96 x 64: a gradient. */
const image =
  "iVBORw0KGgoAAAANSUhEUgAAAGAAAABACAIAAABqVuVZAAAAbUlEQVR42u3QMQ0AMAgAMEDNNE3dpKIA3j1NqqB57ssIJuVgJ0iQIEGCBAkSJAhBgg" +
  "QJEiRIkCAECRIkSJAgQYIQJEiQIEGCBAkShCBBggQJEiRIEIIECRIkSJAgQQgSJEiQIEGCBAlCkCBBPzQezhmhhFl7pQAAAABJRU5ErkJggg==";

/** A WAV, deflated: half a second of a 400 Hz tone. */
const audio =
  "eNoL8nRzO8LPwBDuGOaalluiIMDAwMDIwMjgIM8AxowMHAwpiSWJC/gZGBomL964c8/OjYsnN+TG+ru7uPvH5o6KjYqNio2KjYqNio2KjYqNio2KjY" +
  "qNio2KjYqNitFXDABrEdgg";

/** A two-second WebM (VP8), 64 x 48: a white square that moves to the right, written by ffmpeg. */
const video =
  "GkXfo59ChoEBQveBAULygQRC84EIQoKEd2VibUKHgQJChYECGFOAZwEAAAAAAAIZEU2bdLpNu4tTq4QVSalmU6yBoU27i1OrhBZU" +
  "rmtTrIHGTbuMU6uEElTDZ1OsggEiTbuMU6uEHFO7a1OsggID7AEAAAAAAABZAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" +
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAVSalmoCrXsYMPQkBNgIRM" +
  "YXZmV0GETGF2ZkSJiECfQAAAAAAAFlSua9euAQAAAAAAAE7XgQFzxYgAAAAAAAAAAZyBACK1nIN1bmSIgQCGhVZfVlA4g4EBI+OD" +
  "hB3NZQDgkLCBQLqBMJqBAlWwhFW5gQFV7oEA7AEAAAAAAAACAAASVMNn0HNzzWPAi2PFiAAAAAAAAAABZ8iYRaOHRU5DT0RFUkSH" +
  "i0xhdmMgbGlidnB4Z8ihRaOIRFVSQVRJT05Eh5MwMDowMDowMi4wMDAwMDAwMDAAH0O2dUCG54EAo7mBAACA0AIAnQEqQAAwAABH" +
  "CIWFiIWEiAICAnTyZri88zHm+kD++7ArXFzZEUf/Z3f/9O7//p3f3vijloEB9ADRAQAHEOwAGAAYWC/0AAiMAACjloED6ADRAQAH" +
  "EOwAGAAYWC/0AAiMAACjloEF3ADRAQAHEOwAGAAYWC/0AAiMAAAcU7trkbuPs4EAt4r3gQHxggF38IED";

/** Small media files that the emulator serves below {@link SAMPLES_PATH}, so that replies need no network. */
export const samples: Readonly<Record<MediaKind, { file: string; contentType: string; bytes: Uint8Array }>> =
  {
    image: { file: "image.png", contentType: "image/png", bytes: decode(image) },
    audio: { file: "audio.wav", contentType: "audio/wav", bytes: inflateSync(decode(audio)) },
    video: { file: "video.webm", contentType: "video/webm", bytes: decode(video) },
    file: {
      file: "file.txt",
      contentType: "text/plain; charset=utf-8",
      bytes: Buffer.from("A sample file. Um arquivo de exemplo.\n"),
    },
  };

/** The path of the samples on the port of the registration interface. */
export const SAMPLES_PATH = "/_emulator/samples/";

/** Returns the URL of each sample under an origin, such as `http://127.0.0.1:8080`. */
export function sampleUrls(origin: string): Record<MediaKind, string> {
  const urls = Object.entries(samples).map(([kind, { file }]) => [kind, origin + SAMPLES_PATH + file]);
  return Object.fromEntries(urls) as Record<MediaKind, string>;
}
