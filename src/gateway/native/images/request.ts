/**
 * Image requests (G 2, G 4.8), read, checked and admitted before anything is sent:
 * generations in JSON; edits as forms, or in JSON as newer SDKs do.
 */
import { capabilitiesFor } from '../../../catalog/index.ts';
import { failAt } from '../../../core/index.ts';
import { mediaType } from '../../../platform/web/index.ts';
import * as rules from '../../../rules/index.ts';
import { estimateText } from '../../billing/request-tokens.ts';
import { callersOf } from '../../caller.ts';
import { checkImageFields, isContractFormat } from '../../images/fields.ts';
import { convertedImageModel, defaultImageModel } from '../../images/model.ts';
import { chooseByModel } from '../../key-groups.ts';
import { bodyClassOf, jobOwner } from '../../services.ts';
import { canonicalPath } from '../headers.ts';
import type { NativeReadServices, NativeRequest, NativeSource } from '../native-request.ts';
import { sharedObject } from '../provider-objects.ts';
import { notAForm, readImageForm } from './form.ts';
import { type ImageBody, imageJob, imageJson } from './json.ts';

export async function readImageRequest(services: NativeReadServices, source: NativeSource): Promise<NativeRequest> {
  const { call, operation } = source;
  const body = await readImageBody(services, source);
  const { files, dropped, objectsIn } = body;
  // The first image model of the key stands for a missing name.
  const model = body.model ?? fallbackModel(source, services);
  const caller = chooseByModel(services.catalog(), source.caller, operation, model);
  // Where the group has no such model, the request is rejected later; until then it is one of the contract.
  const named = caller.fallback?.model ?? services.catalog().resolve(caller.group.id, model);
  const accepted = named ? capabilitiesFor(caller.group.style, named) : rules.CONTRACT_IMAGES;
  const settings = checkImageFields(body.values, accepted);
  const { format } = settings;
  // What a provider makes of another format has no bound; of a moving picture, the number of frames is one.
  const isOpen = format !== undefined && format !== 'gif' && !isContractFormat(format);
  return {
    model,
    objectsOf: objectsIn === undefined ? undefined : () => sharedObject(objectsIn),
    inputTokens: () => estimateText(settings.prompt),
    bounds: {
      bodyBytes: settings.promptBytes,
      moreInput: files * rules.TOKENS_PER_INPUT_IMAGE,
      maxOutput: settings.count * rules.imageTokens(settings),
      unknown: body.unknown ?? (isOpen ? 'output_format' : undefined),
    },
    images: { settings, files },
    isStream: settings.isStream,
    dropped,
    pathFor: () => canonicalPath(call),
    bodyFor: (model) => body.bodyFor(model),
  };
}

async function readImageBody(services: NativeReadServices, source: NativeSource): Promise<ImageBody> {
  const { call, operation } = source;
  if (operation === 'images.edit') {
    const type = mediaType(call);
    if (type === 'multipart/form-data')
      return readImageForm(services.spool, call, services.bodyLimit(bodyClassOf(operation)));
    if (type !== 'application/json') throw notAForm();
  }
  const bytes = await source.body();
  const owner = jobOwner(call, source.caller, bytes.length);
  return imageJson(bytes, await services.threads.run(imageJob, { bytes, operation }, owner));
}

/** Generations may omit the model; edits must name it (G 2). */
function fallbackModel({ operation, caller }: NativeSource, { catalog, clock }: NativeReadServices): string {
  const [first] = callersOf(catalog(), caller.key).flatMap((one) => {
    // In a group whose models draw inside a conversation, one whose requests are converted.
    const isNative = rules.inferenceRow(operation).groups[one.group.style].kind === 'native';
    return (isNative ? defaultImageModel : convertedImageModel)(catalog(), one, clock.now()) ?? [];
  });
  if (operation === 'images.generate' && first !== undefined) return first;
  const advice = first === undefined ? 'GET /v1/models lists the models of this key' : `for example "${first}"`;
  throw failAt('invalid_request', 'model', `the field is required; ${advice}.`);
}
