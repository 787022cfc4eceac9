/** Content items of a video request: types, payloads, roles, addresses and formats (V 4.1). */

export const MEDIA_ROLES = [
  'reference_image',
  'first_frame',
  'last_frame',
  'reference_video',
  'reference_audio',
] as const;
export type MediaRole = (typeof MEDIA_ROLES)[number];

export type MediaKind = 'image' | 'video' | 'audio';
/**
 * How an item names its media: a public URL, a file that was uploaded, a private asset, a public character, or the
 * bytes as a data URL.
 */
export type AddressForm = 'https' | 'file' | 'asset' | 'character' | 'data';

export interface MediaItemRule {
  readonly kind: MediaKind;
  readonly roles: readonly MediaRole[];
  readonly addresses: readonly AddressForm[];
  /** The `asset_type` that an asset of this item must have. */
  readonly assetType: 'Image' | 'Video' | 'Audio';
  /** Role of the only item of its type when it has none; other items need a role. */
  readonly loneRole?: MediaRole;
}

/** By the `type` of the item. The payload is an object of the same name with the member `url`. */
export const MEDIA_ITEMS = {
  image_url: {
    kind: 'image',
    roles: ['reference_image', 'first_frame', 'last_frame'],
    addresses: ['https', 'file', 'asset', 'character', 'data'],
    assetType: 'Image',
    loneRole: 'first_frame',
  },
  video_url: { kind: 'video', roles: ['reference_video'], addresses: ['https', 'file', 'asset'], assetType: 'Video' },
  audio_url: {
    kind: 'audio',
    roles: ['reference_audio'],
    addresses: ['https', 'file', 'asset', 'data'],
    assetType: 'Audio',
  },
} as const satisfies Record<string, MediaItemRule>;
export type MediaItemType = keyof typeof MEDIA_ITEMS;

/** Has a string as its payload and no role. */
export const TEXT_ITEM = 'text';

/** A character can be nothing but a reference image (V 4.1). */
export const CHARACTER_ROLE: MediaRole = 'reference_image';

/** Ids are opaque and have about 22 characters; 64 leaves room. */
const REFERENCE = /^asset:\/\/((asset|char)_[A-Za-z0-9]{1,64})$/;
const REFERENCE_START = /^\s*asset:/i;

export interface ParsedReference {
  readonly id: string;
  readonly form: 'asset' | 'character';
}

/** True for every address that is meant as a reference, also when it is malformed. */
export const isReference = (address: string): boolean => REFERENCE_START.test(address);

/** Undefined when the reference is malformed or its id has another prefix. */
export function parseReference(address: string): ParsedReference | undefined {
  const [, id, prefix] = REFERENCE.exec(address) ?? [];
  return id === undefined ? undefined : { id, form: prefix === 'char' ? 'character' : 'asset' };
}
