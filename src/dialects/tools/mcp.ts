/**
 * MCP servers of the messages and responses dialects. They carry credentials and act
 * for the caller, so an option without a form is rejected, never dropped.
 */
import { reject, rejectToolOption } from '../errors/rejection.ts';
import type { JsonObject } from '../hub/types.ts';
import { isGiven, isObject, maybeList, maybeObject, maybeString } from '../wire/read.ts';

export interface RemoteServer {
  readonly label: string;
  readonly url: string;
  readonly token?: string;
  /** Tools the model may call; all when absent. */
  readonly allowed?: readonly string[];
}

/** Returns undefined for a server whose tools are all switched off. */
export function remoteServer(raw: JsonObject): RemoteServer | undefined {
  const label = maybeString(raw.server_label) ?? maybeString(raw.name) ?? '';
  const url = maybeString(raw.server_url) ?? maybeString(raw.url);
  if (url === undefined || label === '' || raw.headers !== undefined)
    reject('tools', `The MCP server "${label}" needs a label and a URL, and no custom headers, with this model.`);
  // The provider's default is to ask before every call.
  if (isResponsesTool(raw) && raw.require_approval !== 'never')
    rejectToolOption(
      'tools',
      'require_approval',
      `Calls of the MCP server "${label}" cannot require approval with this model; set require_approval to "never".`,
    );
  const token = maybeString(raw.authorization) ?? maybeString(raw.authorization_token);
  const allowed = allowedTools(raw, label);
  if (maybeObject(raw.tool_configuration).enabled === false || allowed?.length === 0) return undefined;
  return { label, url, ...(token !== undefined && { token }), ...(allowed && { allowed }) };
}

const isResponsesTool = (raw: JsonObject): boolean => raw.type === 'mcp';

function allowedTools(raw: JsonObject, label: string): readonly string[] | undefined {
  if (isObject(raw.toolset)) return enabledTools(raw.toolset, label);
  const listed = raw.allowed_tools ?? maybeObject(raw.tool_configuration).allowed_tools;
  if (!isObject(listed)) return isGiven(listed) ? stringsIn(listed) : undefined;
  if (isGiven(listed.read_only)) rejectToolFilter(label);
  return isGiven(listed.tool_names) ? stringsIn(listed.tool_names) : undefined;
}

/** Both dialects can list enabled tools; only one of them can list disabled tools. */
function enabledTools({ default_config, configs }: JsonObject, label: string): readonly string[] | undefined {
  const entries = Object.entries(maybeObject(configs));
  if (maybeObject(default_config).enabled === false)
    return entries.filter(([, config]) => maybeObject(config).enabled === true).map(([name]) => name);
  if (entries.some(([, config]) => maybeObject(config).enabled === false)) rejectToolFilter(label);
  return undefined;
}

const rejectToolFilter = (label: string): never =>
  reject(
    'tools',
    `Tools of the MCP server "${label}" can only be limited by an explicit list of allowed tools with this model.`,
  );

const stringsIn = (list: unknown): string[] => maybeList(list).filter((name) => typeof name === 'string');
