/** The four kinds of media, in the order of the specification: `file_type` of an attachment, `type` of a delivery. */
export const MEDIA_KINDS = ["image", "audio", "video", "file"] as const;

/** A kind of media. */
export type MediaKind = (typeof MEDIA_KINDS)[number];
