import { useSignal } from "@preact/signals";
import { t } from "../i18n/translate.js";
import type { MediaKind } from "../../../../schema/message-kind.js";
import { fileNameOf, safeUrl } from "../untrusted.js";
import { Icon } from "./buttons.js";
import { Text } from "./text.js";

/** A picture, player or link, if the address may be opened; otherwise the address as text. */
export function Media({ media, url }: { media: MediaKind; url: unknown }) {
  const safe = safeUrl(url);
  const broken = useSignal(false);
  if (safe === null) return <Unsafe url={url} />;
  if (media === "file") return <FileLink url={safe} />;
  if (broken.value) {
    return (
      <p>
        <small>{t("media.broken")}</small> <FileLink url={safe}>{safe}</FileLink>
      </p>
    );
  }
  return (
    <figure>
      <Player media={media} url={safe} onBroken={() => (broken.value = true)} />
      <FileLink url={safe} />
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

/** A link that opens in a new tab and passes nothing on about the page. */
export function FileLink({ url, children }: { url: string; children?: string }) {
  return (
    <a
      class="hstack gap-1"
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

/** An address that is no link, shown as text. */
export function Unsafe({ url }: { url: unknown }) {
  return (
    <p data-testid="unsafe-url">
      <small>{t("media.unsafe")}</small>{" "}
      <code>
        <Text>{typeof url === "string" ? url : (JSON.stringify(url) ?? "")}</Text>
      </code>
    </p>
  );
}
