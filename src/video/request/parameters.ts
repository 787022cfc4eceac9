/** Parameters of a task request (V 4.2), checked against the sheet of the model. */
import { publicUrl } from '../../core/index.ts';
import * as rules from '../../rules/index.ts';
import { problemOf } from './content.ts';
import { isText, type JsonMembers, type JsonNode, shortName } from './json-tree.ts';
import { alternatives, type GivenParameters, invalidField, type TaskTarget, unsupportedField } from './task-request.ts';

export interface CheckedParameters {
  readonly given: GivenParameters;
  readonly callbackUrl: string | undefined;
  readonly safetyIdentifier: string | undefined;
}

/** A value and the path of the field that it came from. */
export interface ParameterNode {
  readonly node: JsonNode;
  readonly param: string;
}
/** By the names of the sheet, in its order. */
export type ParameterNodes = ReadonlyMap<string, ParameterNode>;

export const parameterNodes = (body: JsonMembers, { sheet }: TaskTarget): Map<string, ParameterNode> =>
  new Map(
    rules.sheetMembers(sheet).flatMap((name) => {
      const node = body.get(name);
      return node === undefined ? [] : [[name, { node, param: name }] as const];
    }),
  );

export function checkParameters(nodes: ParameterNodes, target: TaskTarget): CheckedParameters {
  const values = new Map<string, unknown>();
  for (const name of rules.sheetMembers(target.sheet)) {
    const found = nodes.get(name);
    const rule = target.sheet.parameters[name];
    if (found && rule) values.set(name, checkValue(found, rule, target));
  }
  for (const [one, other] of rules.EXCLUSIVE_PARAMETERS) checkExclusive(nodes.get(one)?.param, nodes.get(other)?.param);
  const { callback_url, safety_identifier, ...given } = Object.fromEntries(values);
  return {
    given,
    callbackUrl: callback_url as string | undefined,
    safetyIdentifier: safety_identifier as string | undefined,
  };
}

type ParamOf = (name: string) => string;

/**
 * Members and items that do not go together by the sheet.
 * What the request leaves out is the provider's choice, which fits.
 */
export function checkConditions(
  { sheet }: TaskTarget,
  given: GivenParameters,
  roles: readonly string[],
  paramOf: ParamOf,
) {
  const holds = ([name, value]: readonly [string, rules.MemberValue]): boolean =>
    name === 'role' ? roles.includes(String(value)) : given[name] === value;
  for (const { when, only = {}, needs } of sheet.conditions) {
    const facts = Object.entries(when);
    if (!facts.every(holds)) continue;
    const because = `with ${facts.map(([name, value]) => `${name} ${value}`).join(' and ')}`;
    for (const [name, values] of Object.entries(only)) {
      const value = given[name] as rules.MemberValue | undefined;
      if (value !== undefined && !values.includes(value))
        throw unsupportedField(
          paramOf(name),
          `${value} is not accepted ${because}`,
          `send ${alternatives(values.map(String))}`,
        );
    }
    const [first = 'content'] = facts.map(([name]) => name).filter((name) => name !== 'role');
    if (needs !== undefined && !roles.includes(needs))
      throw unsupportedField(paramOf(first), `no item has the role ${needs}`, `add one, which is needed ${because}`);
  }
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
      return checkOffered(node, param, rule.capability, target.sheet);
    case 'word':
      if (!isText(node)) throw invalidField(param, 'not a string', `send ${alternatives(rule.accepted)}`);
      if (!rule.accepted.includes(String(node)))
        throw unsupportedField(param, 'this value is not supported', `send ${alternatives(rule.accepted)}`);
      return String(node);
    case 'text':
      return checkText(node, param, rule.maxLength);
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

function checkInteger(node: JsonNode, param: string, rule: rules.IntegerRule): number {
  const { min, max, values, unit, automatic } = rule;
  const range = values ? alternatives(values.map(String)) : `${min} to ${max}`;
  const advice = `send ${range}${unit ? ` ${unit}` : ''}${automatic?.isSupported ? ` or ${automatic.value}` : ''}`;
  if (typeof node !== 'number' || !Number.isInteger(node)) throw invalidField(param, 'not an integer', advice);
  if (node === automatic?.value) {
    if (automatic.isSupported) return node;
    throw unsupportedField(param, `the model does not support ${node}`, advice);
  }
  if (node < min || node > max) throw invalidField(param, `${node} is out of range`, advice);
  if (values && !values.includes(node)) throw unsupportedField(param, `the model does not offer ${node}`, advice);
  // JSON can write -0, which the range of a rule may include.
  return node + 0;
}

function checkOffered(node: JsonNode, param: string, capability: 'resolutions' | 'ratios', sheet: rules.VideoSheet) {
  const offered: readonly string[] = sheet[capability];
  const word: string | undefined = rules.sizeWords(sheet.sizes)[capability].find((known) => known === node);
  if (word === undefined)
    throw invalidField(param, isText(node) ? 'not a known value' : 'not a string', `send ${alternatives(offered)}`);
  if (!offered.includes(word))
    throw unsupportedField(param, `the model does not offer ${word}`, `send ${alternatives(offered)}`);
  return word;
}

function checkText(node: JsonNode, param: string, maxLength: number): string {
  const advice = `send a text of at most ${maxLength} characters`;
  if (!isText(node)) throw invalidField(param, 'not a string', advice);
  // Not decoded before its length is known.
  const isLong = typeof node !== 'string' && node.raw.length > 6 * maxLength;
  if (isLong || String(node).length > maxLength) throw invalidField(param, 'too long', advice);
  return String(node);
}

/** What is asked of the provider: with the members that the sheet writes out, if the model offers them. */
export function withDefaults(given: GivenParameters, sheet: rules.VideoSheet): GivenParameters {
  const { defaults, defaultDuration: duration, resolutions, ratios } = sheet;
  if (!defaults) return given;
  const offers: Readonly<Record<string, readonly unknown[]>> = { resolution: resolutions, ratio: ratios };
  const values = Object.entries(defaults).map(([name, value]) => {
    const offered = offers[name] ?? [];
    return [name, offered.length === 0 || offered.includes(value) ? value : offered[0]];
  });
  return { ...Object.fromEntries(values), ...(duration !== undefined && { duration }), ...given };
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
