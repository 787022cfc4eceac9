/** POST /v1/videos (V 4.7): its own fields become content items and parameters of a task. */
import * as rules from '../../rules/index.ts';
import { contentNodes, type ItemShape, readItem, requireText } from './content.ts';
import { isText, type JsonMembers, type JsonNode, shortName } from './json-tree.ts';
import { checkExclusive, type ParameterNode, parameterNodes } from './parameters.ts';
import { invalidField, type TaskTarget, unsupportedField } from './task-request.ts';

/** Parameters under the names of V 4.2. The errors name the client's own fields. */
export function videosParameters(body: JsonMembers, target: TaskTarget): Map<string, ParameterNode> {
  for (const [one, other] of rules.EXCLUSIVE_VIDEOS_FIELDS)
    checkExclusive(body.has(one) ? one : undefined, body.has(other) ? other : undefined);
  const nodes = parameterNodes(body, target);
  const seconds = body.get('seconds');
  if (seconds !== undefined) nodes.set('duration', { node: secondsNode(seconds), param: 'seconds' });
  const size = body.get('size');
  if (size !== undefined) {
    const { resolution, ratio } = readSize(size, target);
    nodes.set('resolution', { node: resolution, param: 'size' });
    nodes.set('ratio', { node: ratio, param: 'size' });
  }
  return nodes;
}

/** `"8"` and `8` are the same; a text in another spelling stays a text, which the check of the duration rejects. */
const secondsNode = (node: JsonNode): JsonNode =>
  typeof node === 'string' && /^(?:0|-?[1-9]\d{0,8})$/.test(node) ? Number(node) : node;

function readSize(node: JsonNode, { sheet }: TaskTarget) {
  const advice = 'send a size that the model offers, such as 1280x720';
  const size = typeof node === 'string' ? rules.sizeNamed(node, sheet.sizes) : undefined;
  if (size) return size;
  if (typeof node === 'string' && rules.UNOFFERED_SIZES.has(node))
    throw unsupportedField('size', `${node} is not offered`, advice);
  throw invalidField('size', isText(node) ? 'not a known size' : 'not a string', advice);
}

/** The items in upstream order: the prompt first, then the reference or the content. */
export function* videosItems(body: JsonMembers): Generator<ItemShape> {
  const [prompt, content, reference] = [body.get('prompt'), body.get('content'), body.get('input_reference')];
  if (prompt === undefined && content === undefined)
    throw invalidField('prompt', 'missing', 'send a prompt, or content');
  if (prompt !== undefined) yield { type: 'text', param: 'prompt', text: requireText(prompt, 'prompt') };
  if (reference !== undefined) yield readReference(reference);
  if (content === undefined) return;
  for (const [index, node] of contentNodes(content, prompt === undefined ? 0 : 1).entries()) {
    const item = readItem(node, index);
    if (item.type === rules.TEXT_ITEM && prompt !== undefined) checkExclusive('prompt', item.param);
    yield item;
  }
}

function readReference(node: JsonNode): ItemShape {
  const advice = 'send {"image_url": ...}, or the address as a string';
  const first = { type: 'image_url', roleParam: 'input_reference', role: 'first_frame' } as const;
  if (isText(node)) return { ...first, param: 'input_reference', url: node };
  if (!(node instanceof Map)) throw invalidField('input_reference', 'not an object or a string', advice);
  const reference: JsonMembers = node;
  for (const name of reference.keys())
    if (name !== 'image_url' && name !== 'file_id')
      throw invalidField(`input_reference.${shortName(name)}`, 'unknown', advice);
  if (reference.has('file_id'))
    throw unsupportedField('input_reference.file_id', 'files are not supported', 'send {"image_url": ...}');
  const url = reference.get('image_url');
  if (!isText(url)) throw invalidField('input_reference.image_url', 'not a string', advice);
  return { ...first, param: 'input_reference.image_url', url };
}
