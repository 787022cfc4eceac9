/**
 * Base URLs of accounts by style or cloud, and the mistakes that people make in them: no version, one too many, or a
 * whole endpoint.
 */
import type { AccountKind } from './account-kinds.ts';
import type { Style } from './groups.ts';

interface BaseUrlForm {
  /** What the gateway adds itself. */
  readonly excess: RegExp;
  /** What most servers have and the gateway does not add. */
  readonly version: string;
  /** A path that the gateway adds. */
  readonly call: string;
}

const FORMS: Readonly<Record<Style | 'video' | AccountKind, BaseUrlForm>> = {
  responses: {
    excess: /\/(?:chat\/completions|completions|responses|embeddings|images\/(?:generations|edits)|models)$/,
    version: '/v1',
    call: '/responses',
  },
  messages: { excess: /\/v1(?:\/messages(?:\/count_tokens)?|\/models)?$/, version: '', call: '/v1/messages' },
  'generate-content': { excess: /\/v1(?:beta|alpha)?(?:\/models.*)?$/, version: '', call: '/v1beta/models' },
  video: { excess: /\/contents\/generations\/tasks$/, version: '/api/v3', call: '/contents/generations/tasks' },
  // The path of the resource may be there, with its version or without.
  'azure-openai': {
    excess: /(?:\/openai\/(?:v1\/.+|deployments(?:\/.*)?)|(?<!\/openai)\/v1)$/,
    version: '',
    call: '/openai/v1/responses',
  },
  vertex: { excess: /\/v1(?:beta1)?(?:\/projects.*)?$/, version: '', call: '/v1/projects' },
  bedrock: { excess: /\/model(?:\/.*)?$/, version: '', call: '/model' },
};

/** The URL that was probably meant, and where calls go as it is. Undefined for one without such a mistake. */
export function mistakenBaseUrl(
  form: Style | 'video' | AccountKind,
  baseUrl: string,
): { readonly meant: string; readonly calls: string } | undefined {
  const { excess, version, call } = FORMS[form];
  const { origin, pathname } = new URL(baseUrl);
  const path = pathname.replace(/\/+$/, '');
  const meant = path.replace(excess, '') || version;
  return meant === path ? undefined : { meant: origin + meant, calls: origin + path + call };
}
