/** Embedding requests of the generate-content dialect, whose bodies name the model of the path again, once for each text. */
import type { Account, Model } from '../../catalog/index.ts';
import { elementsAt, fail, membersAt, type Span, spliceAll, valueAt } from '../../core/index.ts';
import type { InferenceOperation } from '../../rules/index.ts';
import { inputBoundsOfBody } from '../billing/request-bounds.ts';
import { upstreamName } from '../models/resolve.ts';
import { asJson, scanRequest } from '../request-scan.ts';
import type { RequestBounds } from './native-request.ts';

export interface EmbeddingBody {
  readonly bounds: RequestBounds;
  bytesFor(account: Account): Buffer;
}

const WANTED: ReadonlySet<string> = new Set(['model', 'requests']);
const MODEL: ReadonlySet<string> = new Set(['model']);
const OPEN_ARRAY = 0x5b;
const OPEN_OBJECT = 0x7b;

export function readEmbedding(operation: InferenceOperation, body: Buffer, model: Model): EmbeddingBody {
  const names = asJson(() => modelNames(operation, body));
  for (const { path, span } of names)
    checkName(
      asJson(() => valueAt(body, span)),
      path,
      model.name,
    );
  return {
    bounds: { ...asJson(() => inputBoundsOfBody(body)), maxOutput: 0 },
    bytesFor(account) {
      const upstream = upstreamName(model, account);
      const bytes = Buffer.from(JSON.stringify(`models/${upstream}`));
      return upstream === model.name
        ? body
        : spliceAll(
            body,
            names.map(({ span }) => ({ span, bytes })),
          );
    },
  };
}

interface NamedModel {
  readonly path: string;
  readonly span: Span;
}

function modelNames(operation: InferenceOperation, body: Buffer): NamedModel[] {
  const members = scanRequest(body, WANTED, operation);
  const own = members.get('model');
  const requests = members.get('requests');
  const elements = requests && body[requests.start] === OPEN_ARRAY ? elementsAt(body, requests) : [];
  const named = elements.flatMap((element, n): NamedModel[] => {
    const span = body[element.start] === OPEN_OBJECT ? membersAt(body, element, MODEL).get('model') : undefined;
    return span ? [{ path: `requests[${n}].model`, span }] : [];
  });
  return own ? [{ path: 'model', span: own }, ...named] : named;
}

/** The request is admitted and charged for the model of the path. */
function checkName(value: unknown, path: string, name: string): void {
  if (typeof value === 'string' && value.replace(/^models\//, '') === name) return;
  throw fail('invalid_value', `${path}: expected "models/${name.slice(0, 100)}", the model of the path.`, {
    param: path,
  });
}
