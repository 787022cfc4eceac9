/**
 * A remote server of tools, as either family declares it. Credentials ride on it and it acts in the caller's name, so what
 * cannot be said of it on the other side is refused, never forgotten.
 */

import { reject } from '../errors/rejection.ts';
import type { JsonObject } from '../hub/types.ts';
import { given, isObject, maybeList, maybeObject, maybeString } from '../wire/read.ts';

export interface RemoteServer {
  readonly label: string;
  readonly url: string;
  readonly token?: string;
  /** The only tools of it that may be called; all of them when absent. */
  readonly allowed?: readonly string[];
}

export function remoteServer(raw: JsonObject): RemoteServer {
  const label = maybeString(raw.server_label) ?? maybeString(raw.name) ?? '';
  const url = maybeString(raw.server_url) ?? maybeString(raw.url);
  if (url === undefined || label === '' || raw.headers !== undefined)
    reject('tools', `The MCP server "${label}" can only be reached by an address and a token with this model.`);
  if (given(raw.require_approval) && raw.require_approval !== 'never')
    reject('tools', `Calls of the MCP server "${label}" cannot wait for an approval with this model.`);
  const token = maybeString(raw.authorization) ?? maybeString(raw.authorization_token);
  const allowed = allowedTools(raw, label);
  return { label, url, ...(token !== undefined && { token }), ...(allowed && { allowed }) };
}

function allowedTools(raw: JsonObject, label: string): readonly string[] | undefined {
  if (isObject(raw.toolset)) return enabledTools(raw.toolset, label);
  const listed = raw.allowed_tools ?? maybeObject(raw.tool_configuration).allowed_tools;
  if (!isObject(listed)) return given(listed) ? names(listed) : undefined;
  if (listed.read_only === true) refuseChoice(label);
  return given(listed.tool_names) ? names(listed.tool_names) : undefined;
}

/** A list of what may be called is known to both families, a list of what may not only to one. */
function enabledTools({ default_config, configs }: JsonObject, label: string): readonly string[] | undefined {
  const entries = Object.entries(maybeObject(configs));
  if (maybeObject(default_config).enabled === false)
    return entries.filter(([, config]) => maybeObject(config).enabled === true).map(([name]) => name);
  if (entries.some(([, config]) => maybeObject(config).enabled === false)) refuseChoice(label);
  return undefined;
}

const refuseChoice = (label: string): never =>
  reject('tools', `Tools of the MCP server "${label}" can only be allowed one by one with this model.`);

const names = (list: unknown): string[] => maybeList(list).filter((name) => typeof name === 'string');
