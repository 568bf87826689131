import type { MediaKind } from "../../../schema/index.js";
import { drawImage } from "./sample-image.js";
import { soundTone } from "./sample-sound.js";
import { sampleVideo } from "./sample-video.js";

/** A file that the emulator serves. */
export interface Sample {
  contentType: string;
  bytes: Uint8Array;
}

const FILE_NAMES: Record<MediaKind, string> = {
  image: "image.png",
  audio: "audio.wav",
  video: "video.webm",
  file: "file.txt",
};

/** Where the samples stand, on the port of the registration interface. */
const SAMPLES_PATH = "/_emulator/samples/";

/** Small media, so that replies show some without the network: by path, such as `/_emulator/samples/image.png`. */
export const samples: ReadonlyMap<string, Sample> = new Map([
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
