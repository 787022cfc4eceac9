/** The description of a picture. */
export const PICTURE_FORMATS = ['png', 'jpeg', 'webp'] as const;
export type PictureFormat = (typeof PICTURE_FORMATS)[number];

/** Everything that a file depends on. No part of a prompt is drawn. */
export interface Picture {
  width: number;
  height: number;
  format: PictureFormat;
  /** Quality of the jpeg or webp encoder, 0 to 100. */
  compression: number;
  isTransparent: boolean;
  /** The label of the quality; the pattern is the same for all. */
  quality: string;
  /** Position among the pictures of one response. */
  index: number;
  /** Position of a partial image. Partial images are blurred, the first one most. */
  partial?: number;
  /** The file is padded to about this many bytes. */
  bytes?: number;
}
