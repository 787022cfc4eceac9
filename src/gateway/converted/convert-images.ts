/**
 * Image requests on models that draw inside a conversation (beyond G 4.1):
 * checked by the images API, converted, and sent once.
 */
import { capabilitiesFor, type Model } from '../../catalog/index.ts';
import { fail, failAt } from '../../core/index.ts';
import { pairOf } from '../../dialects/index.ts';
import type { Call } from '../../platform/web/index.ts';
import { type Dialect, type InferenceOperation, inferenceRow, TOKENS_PER_CONVERTED_IMAGE } from '../../rules/index.ts';
import { estimateText } from '../billing/request-tokens.ts';
import type { Caller } from '../caller.ts';
import { checkImageFields } from '../images/fields.ts';
import { convertedImageModel, isConvertedImageModel } from '../images/model.ts';
import { resolveModel } from '../models/resolve.ts';
import { jobOwner, readJsonBody } from '../services.ts';
import type { ConvertedServices } from './context.ts';
import { ConvertedCall } from './converted-call.ts';
import { imageFieldsJob } from './image-fields.ts';
import { requestedImages } from './image-usage.ts';
import { signerFor } from './opaque-signer.ts';

export interface ImageConversion {
  readonly operation: InferenceOperation;
  readonly to: Dialect;
}

export async function convertImages(
  services: ConvertedServices,
  call: Call,
  caller: Caller,
  { operation, to }: ImageConversion,
): Promise<void> {
  const bytes = await readJsonBody(services.bodyLimit, { call, operation });
  const body = await services.threads.run(imageFieldsJob, { bytes }, jobOwner(call, caller, bytes.length));
  const model = modelFor(services, caller, body.model);
  const { group } = caller;
  if (!isConvertedImageModel(caller, model))
    throw fail(
      'endpoint_not_supported',
      `${inferenceRow(operation).method} ${call.path} is not available for the model "${model.name}" of ` +
        `the ${group.style}-style group "${group.id}".`,
      { param: 'model' },
    );
  const { size, prompt, promptBytes } = checkImageFields(body, capabilitiesFor(caller.group.style, model));
  const pair = pairOf({ client: 'images', upstream: to });
  const request = pair.client.decodeRequest(body, { ...call.request, model: model.name });
  call.addLogFields({ model: model.name, stream: request.stream, converted: `images->${to}` });
  call.trace.client = 'images';
  call.trace.target = to;
  const inputTokens = (): number => estimateText(prompt);
  const images = { size };
  const admission = await services.billing.admit(call, caller, {
    operation,
    model,
    bodyBytes: promptBytes,
    maxOutput: TOKENS_PER_CONVERTED_IMAGE.max,
    images: requestedImages(images),
  });
  const created = Math.floor(services.clock.now() / 1000);
  const issuer = caller.group.style;
  const replyContext = { request, model: model.name, requestId: call.id, issuer, created };
  try {
    const inGroup = services.catalog().accounts(caller.group.id);
    const accounts = inGroup.filter(({ features }) => features.has(to));
    const base = { services, call, caller, operation, pair, accounts, request, input: '[]', size: bytes.length, model };
    const sign = signerFor(services.opaqueKey, caller);
    await new ConvertedCall({ ...base, inputTokens, admission, replyContext, sign, images }).run(request);
  } finally {
    admission.release();
  }
}

function modelFor({ catalog, clock }: ConvertedServices, caller: Caller, name: unknown): Model {
  const given = name ?? convertedImageModel(catalog(), caller, clock.now());
  if (given !== undefined) return resolveModel(catalog(), caller, given);
  throw failAt('invalid_request', 'model', 'the field is required; GET /v1/models lists the models of this key.');
}
