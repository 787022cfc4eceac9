/**
 * Embedding requests of the generate-content dialect,
 * whose bodies name the model of the path again, once for each text.
 */
import { elementsAt, failAt, type Span, spanAt, spliceAll, valueAt } from '../../core/index.ts';
import type { ThreadJob } from '../../platform/threads/index.ts';
import type { BodyFacts } from '../billing/call-facts.ts';
import { inputBoundsOfBody } from '../billing/request-bounds.ts';
import { asJson, findingsFor, scanRequest } from '../request-scan.ts';
import { findGoogleIds, type ProviderIds } from './provider-ids.ts';
import type { ScanInput } from './scan.ts';

export interface EmbeddingScan {
  readonly names: readonly NamedModel[];
  readonly bounds: BodyFacts;
  readonly ids: ProviderIds | undefined;
}
interface NamedModel {
  readonly path: string;
  readonly span: Span;
  readonly value: unknown;
}

export const embeddingJob: ThreadJob<Pick<ScanInput, 'operation' | 'bytes'>, EmbeddingScan> = {
  module: import.meta.url,
  name: 'embeddingJob',
  run({ operation, bytes: body }, steps) {
    const findings = findingsFor(operation, 'generate', steps);
    const members = scanRequest(body, WANTED, { operation, findings, steps });
    const media = findings.tagged.filter(({ tag }) => tag === 'media').map(({ span }) => span);
    return {
      names: asJson(() => modelNames(body, members)),
      bounds: { ...asJson(() => inputBoundsOfBody(body, steps, media)), maxOutput: 0, unknown: findings.unknown },
      ids: asJson(() => findGoogleIds(body)),
    };
  },
};

const WANTED: ReadonlySet<string> = new Set(['model', 'requests']);

function modelNames(body: Buffer, members: ReadonlyMap<string, Span>): NamedModel[] {
  const own = members.get('model');
  const named = elementsAt(body, members.get('requests')).flatMap((element, n): NamedModel[] => {
    const span = spanAt(body, element, 'model');
    return span ? [{ path: `requests[${n}].model`, span, value: valueAt(body, span) }] : [];
  });
  return own ? [{ path: 'model', span: own, value: valueAt(body, own) }, ...named] : named;
}

/** The body by the account's name for the model. Throws when it names another model than its path. */
export function embeddingBytes(body: Buffer, { names }: EmbeddingScan, model: string): (upstream: string) => Buffer {
  // The request is admitted and charged for the model of the path.
  for (const { path, value } of names)
    if (typeof value !== 'string' || value.replace(/^models\//, '') !== model)
      throw failAt('invalid_value', path, `expected "models/${model.slice(0, 100)}", the model of the path.`);
  return (upstream) => {
    const bytes = Buffer.from(JSON.stringify(`models/${upstream}`));
    const changes = names.map(({ span }) => ({ span, bytes }));
    return upstream === model ? body : spliceAll(body, changes);
  };
}
