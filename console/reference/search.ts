/**
 * What the search of /docs finds: operations, errors, limits, and sections of the guides. Loaded when someone searches.
 */

import { ERRORS } from '../../src/rules/errors.ts';
import type { Endpoint } from './document.ts';
import { ERROR_ADVICE } from './error-advice.ts';
import { CALLER_CODES } from './errors.ts';
import type { Guide } from './guides.ts';
import { slug } from './html.ts';
import { LIMIT_NAMES } from './limits.ts';

/** Title, address, kind, and further text. Lists are shorter than objects. */
export type SearchEntry = readonly [title: string, address: string, kind: string, text: string];

export const searchEntries = (endpoints: readonly Endpoint[], guides: readonly Guide[]): SearchEntry[] => [
  ...endpoints.map(
    ({ method, path, summary, operationId, tags }): SearchEntry => [
      summary.replaceAll('`', ''),
      `/docs/${slug(tags[0] ?? '')}.html#${slug(operationId)}`,
      `${method} ${path}`,
      tags[0] ?? '',
    ],
  ),
  ...CALLER_CODES.map(
    (code): SearchEntry => [
      code,
      `/docs/errors.html#${code}`,
      'error',
      `${ERRORS[code].status} ${ERRORS[code].means} ${ERROR_ADVICE[code]}`,
    ],
  ),
  ...LIMIT_NAMES.map(
    ({ name, id, text }): SearchEntry => [`Limits: ${name}`, `/docs/limits.html#${id}`, 'limits', text],
  ),
  ...guides.flatMap(({ file, title, sections }) =>
    sections.map(
      ({ heading, id, text }): SearchEntry => [
        heading === '' ? title : `${title}: ${heading}`,
        `/docs/${file}${id === '' ? '' : `#${id}`}`,
        'guide',
        text.trim(),
      ],
    ),
  ),
];
