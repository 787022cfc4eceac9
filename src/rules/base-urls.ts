/** Base URLs of accounts by style, and the mistakes that people make in them: no version, one too many, or a whole endpoint. */
import type { Style } from './groups.ts';

interface BaseUrlForm {
  /** What the gateway adds itself. */
  readonly excess: RegExp;
  /** What most servers have and the gateway does not add. */
  readonly version: string;
  /** A path that the gateway adds. */
  readonly call: string;
}

const FORMS: Readonly<Record<Style | 'video', BaseUrlForm>> = {
  responses: {
    excess: /\/(?:chat\/completions|completions|responses|embeddings|images\/(?:generations|edits)|models)$/,
    version: '/v1',
    call: '/responses',
  },
  messages: { excess: /\/v1(?:\/messages(?:\/count_tokens)?|\/models)?$/, version: '', call: '/v1/messages' },
  'generate-content': { excess: /\/v1(?:beta|alpha)?(?:\/models.*)?$/, version: '', call: '/v1beta/models' },
  video: { excess: /\/contents\/generations\/tasks$/, version: '/api/v3', call: '/contents/generations/tasks' },
};

/** The URL that was probably meant, and where calls go as it is. Undefined for one without such a mistake. */
export function mistakenBaseUrl(
  style: Style | 'video',
  baseUrl: string,
): { readonly meant: string; readonly calls: string } | undefined {
  const { excess, version, call } = FORMS[style];
  const { origin, pathname } = new URL(baseUrl);
  const path = pathname.replace(/\/+$/, '');
  const meant = path.replace(excess, '') || version;
  return meant === path ? undefined : { meant: origin + meant, calls: origin + path + call };
}
