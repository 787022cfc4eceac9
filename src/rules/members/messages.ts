/** Members of messages requests: @anthropic-ai/sdk, `MessageCreateParams` of the beta namespace. */
import { words } from '../words.ts';
import { objectKinds } from './kind.ts';

const CACHED = ['cache_control:cache'] as const;
const TOOL = ['name', 'cache_control:cache', 'allowed_callers', 'defer_loading', 'input_examples*', 'strict'] as const;

/**
 * `fallback` has no `speed`: that would be a tier of one model only. `free` blocks are records of what the provider
 * did, which it reads as text.
 */
export const MESSAGES_MEMBERS = objectKinds({
  request: [
    { why: 'text', members: ['model', 'messages:message', 'system:block'] },
    {
      why: 'bounded',
      members: ['max_tokens', 'tools:tool', 'mcp_servers:server', 'container:container', 'thread:thread'],
    },
    { why: 'again', members: ['context_management:management', 'compaction:compaction'] },
    { why: 'model', members: ['fallbacks:fallback=model'] },
    { why: 'tier', members: ['service_tier', 'speed'] },
    {
      why: 'cut',
      members: [
        'fallback_credit_token*=cut',
        'user_profile_id*=cut',
        'workspace_id*=cut',
        'organization_id*=cut',
        'billing_policy*=cut',
      ],
    },
    { why: 'sampling', members: ['temperature', 'top_k', 'top_p', 'stop_sequences'] },
    {
      why: 'within',
      members: ['thinking:thinking', 'output_config:output', 'output_format:format', 'tool_choice:choice'],
    },
    { why: 'delivery', members: ['stream', 'diagnostics:diagnostics', 'anthropic_version', 'anthropic_beta', 'betas'] },
    { why: 'label', members: ['metadata*', 'cache_control:cache'] },
    { why: 'place', members: ['inference_geo'] },
  ],
  message: { members: ['role', 'content:block', 'clear_at', 'output_config:output'] },
  block: {
    types: {
      text: ['text', 'citations*', ...CACHED],
      image: ['source:source', 'transformations:transformations', ...CACHED],
      document: ['source:source', 'title', 'context', 'citations*', ...CACHED],
      search_result: ['source', 'title', 'content:block', 'citations*', ...CACHED],
      container_upload: ['file_id', ...CACHED],
      thinking: ['thinking', 'signature'],
      redacted_thinking: ['data'],
      compaction: ['content', 'encrypted_content', 'signature', 'tool_changes:block', ...CACHED],
      tool_use: ['id', 'name', 'input*', 'caller*', 'toolset_name', ...CACHED],
      tool_result: ['tool_use_id', 'content:block', 'is_error', 'toolset_name', ...CACHED],
      mcp_tool_result: ['tool_use_id', 'content:block', 'is_error', ...CACHED],
      web_fetch_tool_result: ['tool_use_id', 'content:block', 'caller*', ...CACHED],
      web_fetch_result: ['content:block', 'retrieved_at', 'url'],
      tool_addition: ['tool:change', ...CACHED],
      tool_removal: ['tool:change', ...CACHED],
    },
    free: words(
      'server_tool_use mcp_tool_use mcp_tool_listing fallback browser_state tool_reference',
      'web_search_tool_result web_search_result web_search_tool_result_error web_fetch_tool_result_error',
      'code_execution_tool_result bash_code_execution_tool_result text_editor_code_execution_tool_result',
      'tool_search_tool_result advisor_tool_result code_execution_result encrypted_code_execution_result',
      'bash_code_execution_result code_execution_tool_result_error bash_code_execution_tool_result_error',
      'text_editor_code_execution_create_result text_editor_code_execution_view_result',
      'text_editor_code_execution_str_replace_result text_editor_code_execution_tool_result_error',
      'tool_search_tool_search_result tool_search_tool_result_error advisor_result advisor_redacted_result',
      'advisor_tool_result_error',
    ),
    tags: { image: 'media', document: 'media', container_upload: 'media' },
  },
  source: {
    types: {
      base64: ['data', 'media_type'],
      text: ['data', 'media_type'],
      url: ['url'],
      file: ['file_id'],
      content: ['content:block'],
    },
  },
  transformations: { members: ['oversized_image'] },
  change: {
    types: {
      tool_definition: ['definition:tool'],
    },
    free: ['tool_reference', 'mcp_tool_reference', 'mcp_toolset_reference'],
  },
  tool: {
    types: {
      none: [...TOOL, 'description', 'input_schema*', 'eager_input_streaming'],
      custom: [...TOOL, 'description', 'input_schema*', 'eager_input_streaming'],
      bash: [...TOOL],
      memory: [...TOOL],
      tool_search_tool_bm25: [...TOOL],
      tool_search_tool_regex: [...TOOL],
      text_editor: [...TOOL, 'max_characters'],
      computer: [...TOOL, 'display_height_px', 'display_width_px', 'display_number', 'enable_zoom'],
      computer_toolset: ['configs*', ...CACHED],
      browser_toolset: ['configs*', ...CACHED],
      code_execution: [...TOOL],
      web_search: [
        ...TOOL,
        'max_uses',
        'allowed_domains',
        'blocked_domains',
        'user_location:location',
        'response_inclusion',
      ],
      web_fetch: [
        ...TOOL,
        'max_uses',
        'max_content_tokens',
        'allowed_domains',
        'blocked_domains',
        'citations*',
        'url_sources*',
        'use_cache',
        'response_inclusion',
      ],
      mcp_toolset: ['mcp_server_name', 'configs*', 'default_config*', 'tools*', ...CACHED],
      advisor: [...TOOL, 'model=model', 'max_uses', 'max_tokens', 'caching:cache'],
    },
    // Tools of a client too: the provider adds a prompt of its own for each.
    tags: {
      bash: 'tool',
      memory: 'tool',
      text_editor: 'tool',
      computer: 'tool',
      computer_toolset: 'tool',
      browser_toolset: 'tool',
      code_execution: 'tool',
      web_search: 'tool',
      web_fetch: 'tool',
      mcp_toolset: 'tool',
      advisor: 'tool',
    },
  },
  location: { members: ['type', 'city', 'country', 'region', 'timezone'] },
  server: { members: ['type', 'url', 'name', 'authorization_token', 'tool_configuration:configuration'] },
  configuration: { members: ['allowed_tools', 'enabled'] },
  container: { members: ['id', 'skills:skill'] },
  skill: { members: ['type', 'skill_id', 'version'] },
  thread: { members: ['type', 'previous_message_id'] },
  compaction: { members: ['type', 'instructions'], tag: 'again' },
  management: { members: ['edits:edit'] },
  edit: {
    types: {
      clear_thinking: ['keep:amount'],
      clear_tool_uses: ['clear_at_least:amount', 'clear_tool_inputs', 'exclude_tools', 'keep:amount', 'trigger:amount'],
      compact: ['instructions', 'pause_after_compaction', 'trigger:amount'],
    },
    tags: { compact: 'again' },
  },
  amount: { members: ['type', 'value'] },
  fallback: { members: ['model=model', 'max_tokens', 'output_config:output', 'thinking:thinking'] },
  thinking: { members: ['type', 'budget_tokens', 'display', 'block_binding:binding'] },
  binding: { members: ['prefix_mismatch_behavior'] },
  output: { members: ['effort', 'format:format', 'task_budget:budget'] },
  budget: { members: ['type', 'total', 'remaining'] },
  format: { members: ['type', 'schema*'] },
  choice: { members: ['type', 'name', 'disable_parallel_tool_use'] },
  diagnostics: { members: ['previous_message_id'] },
  cache: { members: ['type', 'ttl', 'scope'] },
});
