/** Members of messages requests: @anthropic-ai/sdk, `MessageCreateParams` of the beta namespace. */
import { readKinds } from './kind.ts';

/** `fallback` has no `speed`: that would be a tier of one model only. `free` blocks are records of what the provider did, which it reads as text. */
export const MESSAGES_MEMBERS = readKinds(`
@cached: cache_control:cache
@tool: name cache_control:cache allowed_callers defer_loading input_examples* strict
request text: model messages:message system:block
request bounded: max_tokens tools:tool mcp_servers:server container:container thread:thread
request again: context_management:management compaction:compaction
request model: fallbacks:fallback=model
request tier: service_tier speed
request cut: fallback_credit_token*=cut user_profile_id*=cut workspace_id*=cut organization_id*=cut billing_policy*=cut
request sampling: temperature top_k top_p stop_sequences
request within: thinking:thinking output_config:output output_format:format tool_choice:choice
request delivery: stream diagnostics:diagnostics anthropic_version anthropic_beta betas
request label: metadata* cache_control:cache
request place: inference_geo
message: role content:block clear_at output_config:output
block(text): text citations* @cached
block(image)^media: source:source transformations:transformations @cached
block(document)^media: source:source title context citations* @cached
block(search_result): source title content:block citations* @cached
block(container_upload)^media: file_id @cached
block(thinking): thinking signature
block(redacted_thinking): data
block(compaction): content encrypted_content signature tool_changes:block @cached
block(tool_use): id name input* caller* toolset_name @cached
block(tool_result): tool_use_id content:block is_error toolset_name @cached
block(mcp_tool_result): tool_use_id content:block is_error @cached
block(web_fetch_tool_result): tool_use_id content:block caller* @cached
block(web_fetch_result): content:block retrieved_at url
block(tool_addition tool_removal): tool:change @cached
block free: server_tool_use mcp_tool_use mcp_tool_listing fallback browser_state tool_reference web_search_tool_result web_search_result
  web_search_tool_result_error web_fetch_tool_result_error code_execution_tool_result bash_code_execution_tool_result
  text_editor_code_execution_tool_result tool_search_tool_result advisor_tool_result code_execution_result encrypted_code_execution_result
  bash_code_execution_result code_execution_tool_result_error bash_code_execution_tool_result_error text_editor_code_execution_create_result
  text_editor_code_execution_view_result text_editor_code_execution_str_replace_result text_editor_code_execution_tool_result_error
  tool_search_tool_search_result tool_search_tool_result_error advisor_result advisor_redacted_result advisor_tool_result_error
source(base64 text): data media_type
source(url): url
source(file): file_id
source(content): content:block
transformations: oversized_image
change(tool_definition): definition:tool
change free: tool_reference mcp_tool_reference mcp_toolset_reference
tool(none custom): @tool description input_schema* eager_input_streaming
tool(bash memory tool_search_tool_bm25 tool_search_tool_regex): @tool
tool(text_editor): @tool max_characters
tool(computer): @tool display_height_px display_width_px display_number enable_zoom
tool(computer_toolset browser_toolset): configs* @cached
tool(code_execution)^tool: @tool
tool(web_search)^tool: @tool max_uses allowed_domains blocked_domains user_location:location response_inclusion
tool(web_fetch)^tool: @tool max_uses max_content_tokens allowed_domains blocked_domains citations* url_sources* use_cache response_inclusion
tool(mcp_toolset)^tool: mcp_server_name configs* default_config* tools* @cached
tool(advisor)^tool: @tool model=model max_uses max_tokens caching:cache
location: type city country region timezone
server: type url name authorization_token tool_configuration:configuration
configuration: allowed_tools enabled
container: id skills:skill
skill: type skill_id version
thread: type previous_message_id
compaction^again: type instructions
management: edits:edit
edit(clear_thinking): keep:amount
edit(clear_tool_uses): clear_at_least:amount clear_tool_inputs exclude_tools keep:amount trigger:amount
edit(compact)^again: instructions pause_after_compaction trigger:amount
amount: type value
fallback: model=model max_tokens output_config:output thinking:thinking
thinking: type budget_tokens display block_binding:binding
binding: prefix_mismatch_behavior
output: effort format:format task_budget:budget
budget: type total remaining
format: type schema*
choice: type name disable_parallel_tool_use
diagnostics: previous_message_id
cache: type ttl scope
`);
