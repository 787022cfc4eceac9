/** Parts of a neutral request, for families with other words than those of V 4.2. */
import { fail } from '../../../core/index.ts';
import type { NeutralItem, NeutralMedia, NeutralText } from '../../request/task-request.ts';

export const isMedia = (item: NeutralItem): item is NeutralMedia => item.type !== 'text';

export function promptOf(items: readonly NeutralItem[]): NeutralText {
  const texts = items.flatMap((item) => (item.type === 'text' ? [item.text] : []));
  const [only, ...others] = texts;
  return only !== undefined && others.length === 0 ? only : texts.map(plainText).join('\n');
}

export const plainText = (text: NeutralText): string =>
  typeof text === 'string' ? text : JSON.parse(`"${Buffer.from(text.escaped).toString()}"`);

/** The address of an item. Only families with an asset library have references. */
export function mediaText({ address }: NeutralMedia): NeutralText {
  if (address !== undefined) return address;
  throw fail('unsupported_video_parameter', 'content: the provider takes no references; send a URL or a data URL.', {
    param: 'content',
  });
}

/** No data URL has more before its comma. */
const HEAD_BYTES = 128;
const COMMA = 0x2c;

/** Type and Base64 text of a data URL. The text of a long one stays where it is. */
export function dataUrlParts(item: NeutralMedia): { readonly mime: string; readonly data: NeutralText } {
  const address = mediaText(item);
  const comma =
    typeof address === 'string' ? address.indexOf(',') : address.escaped.subarray(0, HEAD_BYTES).indexOf(COMMA);
  const [head, data] =
    typeof address === 'string'
      ? [address.slice(0, comma), address.slice(comma + 1)]
      : [plainText({ escaped: address.escaped.subarray(0, comma) }), { escaped: address.escaped.subarray(comma + 1) }];
  return { mime: /^data:([^;,]+)/.exec(head)?.[1] ?? '', data };
}
