/** Decoder of reasoning and text settings, which a request and a `configuration_update` item share. */
import type * as hub from '../../hub/types.ts';
import { readEffort } from '../../wire/efforts.ts';
import { compact, isGiven, needObject, needString, optional, readBoolean, wrongValue } from '../../wire/read.ts';

/** Without a summary setting the client wants no summary. */
export function decodeReasoning(body: hub.JsonObject): hub.HubReasoning {
  const reasoning = optional(body, 'reasoning', needObject);
  if (!reasoning) return {};
  const effort = optional(reasoning, 'effort', readEffort, 'reasoning');
  const style =
    optional(reasoning, 'summary', needString, 'reasoning') ??
    optional(reasoning, 'generate_summary', needString, 'reasoning');
  return compact({
    mode: effort === 'none' ? 'off' : undefined,
    effort,
    show: style === undefined ? 'none' : 'summary',
    style,
  });
}

export function decodeOutputSettings(body: hub.JsonObject): hub.HubOutput {
  const text = optional(body, 'text', needObject);
  if (!text) return { format: { kind: 'text' } };
  return compact({
    format: decodeFormat(text.format, 'text.format'),
    verbosity: optional(text, 'verbosity', needString, 'text'),
  });
}

export function decodeConfigChange(item: hub.JsonObject, path: string): hub.HubItem {
  const reasoning = optional(item, 'reasoning', needObject, path);
  const text = optional(item, 'text', needObject, path);
  return compact({
    kind: 'config_change',
    effort: reasoning && optional(reasoning, 'effort', readEffort, `${path}.reasoning`),
    format: text && isGiven(text.format) ? decodeFormat(text.format, `${path}.text.format`) : undefined,
  });
}

function decodeFormat(value: unknown, path: string): hub.HubFormat {
  if (!isGiven(value)) return { kind: 'text' };
  const format = needObject(value, path);
  const type = needString(format.type, `${path}.type`);
  if (type === 'text') return { kind: 'text' };
  if (type === 'json_object') return { kind: 'json' };
  if (type !== 'json_schema') return wrongValue(`${path}.type`, 'expected one of text, json_object, json_schema.');
  return compact({
    kind: 'schema',
    schema: needObject(format.schema, `${path}.schema`),
    name: optional(format, 'name', needString, path),
    strict: optional(format, 'strict', readBoolean, path),
    description: optional(format, 'description', needString, path),
  });
}
