/** Settings that a request and a later `configuration_update` share: reasoning and text format. */
import {
  EFFORTS,
  type HubFormat,
  type HubItem,
  type HubOutput,
  type HubReasoning,
  type JsonObject,
} from '../../hub/types.ts';
import { aBoolean, compact, given, needObject, needString, oneOf, optional, wrongValue } from '../../wire/read.ts';

const STYLES = ['auto', 'concise', 'detailed'] as const;
const LEVELS = ['low', 'medium', 'high'] as const;

/** No word about a summary means that none is wanted. */
export function decodeReasoning(body: JsonObject): HubReasoning {
  const reasoning = optional(body, 'reasoning', needObject);
  if (!reasoning) return {};
  const effort = optional(reasoning, 'effort', oneOf(EFFORTS), 'reasoning');
  const style =
    optional(reasoning, 'summary', oneOf(STYLES), 'reasoning') ??
    optional(reasoning, 'generate_summary', oneOf(STYLES), 'reasoning');
  return compact({
    mode: effort === 'none' ? 'off' : undefined,
    effort,
    show: style === undefined ? 'none' : 'summary',
    style,
  });
}

export function decodeOutputSettings(body: JsonObject): HubOutput {
  const text = optional(body, 'text', needObject);
  if (!text) return { format: { kind: 'text' } };
  return compact({
    format: decodeFormat(text.format, 'text.format'),
    verbosity: optional(text, 'verbosity', oneOf(LEVELS), 'text'),
  });
}

export function decodeConfigChange(item: JsonObject, path: string): HubItem {
  const reasoning = optional(item, 'reasoning', needObject, path);
  const text = optional(item, 'text', needObject, path);
  return compact({
    kind: 'config_change',
    effort: reasoning && optional(reasoning, 'effort', oneOf(EFFORTS), `${path}.reasoning`),
    format: text && given(text.format) ? decodeFormat(text.format, `${path}.text.format`) : undefined,
  });
}

function decodeFormat(value: unknown, path: string): HubFormat {
  if (!given(value)) return { kind: 'text' };
  const format = needObject(value, path);
  const type = needString(format.type, `${path}.type`);
  if (type === 'text') return { kind: 'text' };
  if (type === 'json_object') return { kind: 'json' };
  if (type !== 'json_schema') return wrongValue(`${path}.type`, 'expected one of text, json_object, json_schema.');
  return compact({
    kind: 'schema',
    schema: needObject(format.schema, `${path}.schema`),
    name: optional(format, 'name', needString, path),
    strict: optional(format, 'strict', aBoolean, path),
    description: optional(format, 'description', needString, path),
  });
}
