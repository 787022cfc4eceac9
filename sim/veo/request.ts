/** What the simulated Veo accepts: the members that Google documents, and no other. */
import { type JsonObject, objectOf, objectsOf } from '../json.ts';
import { Refusal } from './refusal.ts';

const INSTANCE = ['prompt', 'image', 'lastFrame', 'referenceImages'];
const PARAMETERS = [
  ...['sampleCount', 'durationSeconds', 'aspectRatio', 'resolution', 'seed', 'negativePrompt', 'personGeneration'],
];
const CLOUD_PARAMETERS = [...PARAMETERS, 'generateAudio', 'storageUri'];

export interface VeoRequest {
  readonly prompt: string;
  readonly seconds: number;
  readonly storageUri: string;
}

/** Throws a `Refusal` in the words of the provider. */
export function readVeoRequest(body: JsonObject, isCloud: boolean): VeoRequest {
  known(body, ['instances', 'parameters'], '');
  const [instance, ...others] = objectsOf(body.instances);
  if (!instance || others.length > 0) throw invalid('Exactly one instance is required.');
  const parameters = objectOf(body.parameters);
  known(instance, INSTANCE, 'instances[0].');
  known(parameters, isCloud ? CLOUD_PARAMETERS : PARAMETERS, 'parameters.');
  for (const image of [instance.image, instance.lastFrame]) if (image !== undefined) checkImage(objectOf(image));
  const references = objectsOf(instance.referenceImages);
  for (const { image, referenceType } of references) {
    if (referenceType !== 'ASSET') throw invalid('referenceType must be ASSET.');
    checkImage(objectOf(image));
  }
  if (references.length > 3) throw invalid('At most 3 reference images are supported.');
  if (references.length > 0 && instance.image !== undefined)
    throw invalid('image and referenceImages exclude each other.');
  if (instance.lastFrame !== undefined && instance.image === undefined) throw invalid('lastFrame needs image.');
  const { durationSeconds: seconds = 8, aspectRatio = '16:9', resolution = '720p', storageUri = '' } = parameters;
  if (![4, 6, 8].includes(Number(seconds))) throw invalid(`durationSeconds ${seconds} is out of bound.`);
  if (!['16:9', '9:16'].includes(String(aspectRatio))) throw invalid(`aspectRatio ${aspectRatio} is not supported.`);
  if (!['720p', '1080p', '4k'].includes(String(resolution)))
    throw invalid(`resolution ${resolution} is not supported.`);
  return { prompt: String(instance.prompt ?? ''), seconds: Number(seconds), storageUri: String(storageUri) };
}

const invalid = (message: string): Refusal => new Refusal(400, 'INVALID_ARGUMENT', message);

function known(object: JsonObject, names: readonly string[], path: string): void {
  const other = Object.keys(object).find((name) => !names.includes(name));
  if (other !== undefined) throw invalid(`Invalid JSON payload received. Unknown name "${path}${other}"`);
}

function checkImage({ bytesBase64Encoded, mimeType, ...others }: JsonObject): void {
  known(others, [], 'image.');
  const isImage = /^image\/(?:jpeg|png|webp)$/.test(String(mimeType));
  if (!isImage || !/^[A-Za-z0-9+/]+=*$/.test(String(bytesBase64Encoded ?? '')))
    throw invalid('Input instance has an unsupported image.');
}
