/**
 * Image requests (G 2, G 4.8): read, checked and admitted before anything is sent. Generations are JSON; edits are forms, or JSON with
 * `images` as newer SDKs send them.
 */
import type { Account } from '../../../catalog/index.ts';
import { estimateTokens, fail } from '../../../core/index.ts';
import { type Call, mediaType } from '../../../platform/web/index.ts';
import { type InferenceOperation, imageTokens, TOKENS_PER_INPUT_IMAGE } from '../../../rules/index.ts';
import type { Caller } from '../../caller.ts';
import { defaultImageModel } from '../../images/model.ts';
import { resolveModel, upstreamName } from '../../models/resolve.ts';
import { bodyClassOf, readJsonBody } from '../../services.ts';
import { canonicalPath } from '../headers.ts';
import type { NativeRequest, NativeServices } from '../native-request.ts';
import { placeProviderIds } from '../provider-objects.ts';
import type { ImageBody } from './body.ts';
import { notAForm, readImageForm } from './form.ts';
import { imageJson } from './json.ts';

export async function readImageRequest(
  services: NativeServices,
  call: Call,
  caller: Caller,
  operation: InferenceOperation,
): Promise<NativeRequest> {
  const body = await readImageBody(services, call, operation);
  const { settings, files, dropped, objectsIn } = body;
  const model = resolveModel(services.catalog(), caller, body.model ?? fallbackModel(operation, caller, services));
  const accounts = services.catalog().accounts(caller.group.id);
  const owner = { store: services.store, userId: caller.key.userId, accounts };
  const place = objectsIn === undefined ? {} : await placeProviderIds({ references: [], objectsIn }, owner);
  return {
    ...place,
    model,
    inputTokens: () => estimateTokens(settings.prompt),
    bounds: {
      bodyBytes: settings.promptBytes,
      moreInput: files * TOKENS_PER_INPUT_IMAGE,
      maxOutput: settings.count * imageTokens(settings),
    },
    images: { settings, files },
    isStream: settings.isStream,
    dropped,
    pathFor: () => canonicalPath(call),
    bodyFor: (account: Account) => body.bodyFor(upstreamName(model, account)),
  };
}

async function readImageBody(services: NativeServices, call: Call, operation: InferenceOperation): Promise<ImageBody> {
  if (operation !== 'images.edit') return imageJson(await readJsonBody(services, call, operation), operation);
  const type = mediaType(call);
  if (type === 'multipart/form-data')
    return readImageForm(services.spool, call, services.bodyLimit(bodyClassOf(operation)));
  if (type !== 'application/json') throw notAForm();
  return imageJson(await readJsonBody(services, call, operation), operation);
}

/** Generations may omit the model; edits must name it (G 2). */
function fallbackModel(
  operation: InferenceOperation,
  caller: Caller,
  { catalog, clock }: Pick<NativeServices, 'catalog' | 'clock'>,
): string {
  const first = defaultImageModel(catalog(), caller, clock.now());
  if (operation === 'images.generate' && first !== undefined) return first;
  const advice = first === undefined ? 'GET /v1/models lists the models of this key' : `for example "${first}"`;
  throw fail('invalid_request', `model: the field is required; ${advice}.`, { param: 'model' });
}
