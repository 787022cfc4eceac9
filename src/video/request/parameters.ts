/** Parameters of a task request (V 4.2), checked against the sheet of the variant and the capabilities of the model. */
import { publicUrl } from '../../core/index.ts';
import * as rules from '../../rules/index.ts';
import { problemOf } from './content.ts';
import { isText, type JsonMembers, type JsonNode, shortName } from './json-tree.ts';
import { alternatives, invalidField, unsupportedField } from './reject.ts';
import type { GivenParameters, TaskTarget } from './task-request.ts';

export interface CheckedParameters {
  readonly given: GivenParameters;
  readonly callbackUrl: string | undefined;
}

/** A value and the path of the field that it came from. */
export interface ParameterNode {
  readonly node: JsonNode;
  readonly param: string;
}
export type ParameterNodes = ReadonlyMap<rules.VideoParameter, ParameterNode>;

export const parameterNodes = (body: JsonMembers): Map<rules.VideoParameter, ParameterNode> =>
  new Map(
    rules.VIDEO_PARAMETERS.flatMap((name) => {
      const node = body.get(name);
      return node === undefined ? [] : [[name, { node, param: name }] as const];
    }),
  );

export function checkParameters(nodes: ParameterNodes, target: TaskTarget): CheckedParameters {
  const { parameters } = rules.VARIANT_SHEETS[target.variant];
  const values = new Map<rules.VideoParameter, unknown>();
  for (const name of rules.VIDEO_PARAMETERS) {
    const found = nodes.get(name);
    if (found) values.set(name, checkValue(found, parameters[name], target));
  }
  for (const [one, other] of rules.EXCLUSIVE_PARAMETERS) checkExclusive(nodes.get(one)?.param, nodes.get(other)?.param);
  const { callback_url: callbackUrl, ...given } = Object.fromEntries(values);
  return { given, callbackUrl: callbackUrl === undefined ? undefined : String(callbackUrl) };
}

/** Rejects two fields that exclude each other, by their paths. */
export function checkExclusive(one: string | undefined, other: string | undefined): void {
  if (one !== undefined && other !== undefined)
    throw invalidField(one, `cannot be combined with ${other}`, 'send one of the two');
}

function checkValue({ node, param }: ParameterNode, rule: rules.ParameterRule, target: TaskTarget): unknown {
  switch (rule.kind) {
    case 'integer':
      return checkInteger(node, param, rule);
    case 'boolean':
      if (typeof node !== 'boolean') throw invalidField(param, 'not a boolean', 'send true or false');
      return node;
    case 'offered':
      return checkOffered(node, param, rule.vocabulary, target.capabilities[rule.capability]);
    case 'word':
      if (!isText(node)) throw invalidField(param, 'not a string', `send ${alternatives(rule.accepted)}`);
      if (!rule.accepted.includes(String(node)))
        throw unsupportedField(param, 'this value is not supported', `send ${alternatives(rule.accepted)}`);
      return String(node);
    case 'public-url':
      return checkUrl(node, param, target);
    case 'tools':
      return checkTools(node, param, rule);
    case 'unsupported':
      throw unsupportedField(param, 'the model does not support it', 'remove it');
    case 'rejected':
      throw unsupportedField(param, 'the model does not accept it, not even as false or 0', 'remove it');
  }
}

function checkInteger(node: JsonNode, param: string, { min, max, unit, automatic }: rules.IntegerRule): number {
  const values = `${min} to ${max}${unit ? ` ${unit}` : ''}${automatic?.isSupported ? ` or ${automatic.value}` : ''}`;
  if (typeof node !== 'number' || !Number.isInteger(node))
    throw invalidField(param, 'not an integer', `send ${values}`);
  if (node === automatic?.value) {
    if (automatic.isSupported) return node;
    throw unsupportedField(param, `the model does not support ${node}`, `send ${values}`);
  }
  if (node < min || node > max) throw invalidField(param, `${node} is out of range`, `send ${values}`);
  // JSON can write -0, which the range of a rule may include.
  return node + 0;
}

function checkOffered(
  node: JsonNode,
  param: string,
  vocabulary: readonly string[],
  offered: readonly string[],
): string {
  const word = vocabulary.find((known) => known === node);
  if (word === undefined)
    throw invalidField(param, isText(node) ? 'not a known value' : 'not a string', `send ${alternatives(offered)}`);
  if (!offered.includes(word))
    throw unsupportedField(param, `the model does not offer ${word}`, `send ${alternatives(offered)}`);
  return word;
}

function checkUrl(node: JsonNode, param: string, { allowedOrigins = [] }: TaskTarget): string {
  if (!isText(node)) throw invalidField(param, 'not a string', 'send a public HTTPS URL');
  const url = publicUrl(String(node), allowedOrigins);
  if (url instanceof URL) return url.href;
  throw invalidField(param, problemOf(url.message), 'send a public HTTPS URL');
}

function checkTools(
  node: JsonNode,
  param: string,
  { types, maxItems }: Extract<rules.ParameterRule, { kind: 'tools' }>,
): readonly { type: string }[] {
  const advice = `send at most ${maxItems} objects with the type ${alternatives(types)}`;
  if (!Array.isArray(node)) throw invalidField(param, 'not an array', advice);
  if (node.length > maxItems) throw invalidField(param, `has ${node.length} items`, advice);
  return node.map((tool: JsonNode, index) => {
    if (!(tool instanceof Map)) throw invalidField(`${param}[${index}]`, 'not an object', advice);
    for (const name of tool.keys())
      if (name !== 'type') throw invalidField(`${param}[${index}].${shortName(name)}`, 'unknown', 'remove it');
    const type: JsonNode | undefined = tool.get('type');
    if (!isText(type)) throw invalidField(`${param}[${index}].type`, 'not a string', advice);
    const known = types.find((word) => word === type);
    if (!known) throw unsupportedField(`${param}[${index}].type`, 'this tool is not supported', advice);
    return { type: known };
  });
}
