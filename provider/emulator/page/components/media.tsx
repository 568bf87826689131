import { useSignal } from "@preact/signals";
import { t } from "../i18n/translate.js";
import type { MediaKind } from "../../../../schema/media-kind.js";
import { fileNameOf, safeUrl } from "../safe-url.js";
import { Icon } from "./icon.js";
import { Text } from "./text.js";

/** A picture, player or link, if the address is one that may be opened; else the address as text. */
export function Media({ media, url }: { media: MediaKind; url: unknown }) {
  const safe = safeUrl(url);
  const broken = useSignal(false);
  if (safe === null) return <Unsafe url={url} />;
  if (media === "file") return <FileLink url={safe} />;
  if (broken.value) return <Broken url={safe} />;
  return (
    <figure class="media">
      <Player media={media} url={safe} onBroken={() => (broken.value = true)} />
      <figcaption>
        <FileLink url={safe} />
      </figcaption>
    </figure>
  );
}

interface PlayerProps {
  media: Exclude<MediaKind, "file">;
  url: string;
  onBroken: () => void;
}

function Player({ media, url, onBroken }: PlayerProps) {
  const name = fileNameOf(url);
  if (media === "image") {
    const alt = t("media.imageAlt", { name });
    return <img src={url} alt={alt} referrerpolicy="no-referrer" onError={onBroken} />;
  }
  const label = `${t(`media.${media}`)} ${name}`;
  const props = {
    src: url,
    controls: true,
    preload: "metadata",
    "aria-label": label,
    onError: onBroken,
  } as const;
  return media === "audio" ? <audio {...props} /> : <video {...props} />;
}

/** A link that opens beside the page and tells the other side nothing of it. */
export function FileLink({ url, children }: { url: string; children?: string }) {
  return (
    <a
      class="file"
      href={url}
      target="_blank"
      rel="noopener noreferrer"
      referrerpolicy="no-referrer"
      title={url}
    >
      <Icon name="file" />
      <Text>{children ?? fileNameOf(url)}</Text>
    </a>
  );
}

function Broken({ url }: { url: string }) {
  return (
    <p>
      <small class="muted">{t("media.broken")}</small> <FileLink url={url}>{url}</FileLink>
    </p>
  );
}

/** An address that is no link: shown, so that it can be seen what was sent. */
export function Unsafe({ url }: { url: unknown }) {
  return (
    <p class="unsafe" data-testid="unsafe-url">
      <small class="muted">{t("media.unsafe")}</small>{" "}
      <code>
        <Text>{typeof url === "string" ? url : (JSON.stringify(url) ?? "")}</Text>
      </code>
    </p>
  );
}
