/** Members of responses requests: openai, `ResponseCreateParams`, and the frames of its WebSocket. */
import { readKinds } from './kind.ts';

/** `reasoning` has no `mode`: another one than the standard runs the model several times. */
export const RESPONSES_MEMBERS = readKinds(`
@marked: prompt_cache_breakpoint:caching
@function: name description parameters* strict allowed_callers async defer_loading output_schema*
@call: id call_id status caller* namespace name async
request text: model input:item instructions
request bounded: max_output_tokens tools:tool max_tool_calls prompt:prompt conversation:id previous_response_id
request again: context_management:management
request tier: service_tier
request sampling: temperature top_p top_logprobs
request within: reasoning:reasoning text:text tool_choice:choice parallel_tool_calls truncation
request delivery: stream stream_options:streaming store background include type stream_id event_id generate
request label: metadata* user safety_identifier prompt_cache_key prompt_cache_retention client_metadata*
request caching: prompt_cache_options:caching
request free: moderation:moderation
request narrowing: image:image
request delivery: access_programs:programs
request model: models=model
request place: provider:routing session_id
request bounded: plugins*
@message: role content:part phase id status name
item(none)^untyped: @message
item(message): @message
item(function_call): @call arguments*
item(function_call_output custom_tool_call_output): @call output:part
item(custom_tool_call): @call input
item(computer_call_output): @call output:part acknowledged_safety_checks*
item(item_reference): id
item(reasoning): id summary* content:part encrypted_content status
item(compaction): id encrypted_content created_by
item(compaction_trigger)^again: id
item(image_generation_call)^media: id status result action background error* output_format quality revised_prompt size svg_usage*
item(additional_tools): id role tools:tool
item(tool_search_output): @call execution tools:tool
item(configuration_update): id reasoning:reasoning text:text
item free: code_interpreter_call computer_call file_search_call web_search_call apply_patch_call apply_patch_call_output local_shell_call
  local_shell_call_output mcp_approval_request mcp_approval_response mcp_call mcp_list_tools program program_output shell_call shell_call_output
  tool_search_call
part(input_text): text @marked
part(output_text): text annotations* logprobs*
part(refusal): refusal
part(reasoning_text summary_text text): text
part(input_image)^media: image_url file_id detail @marked
part(input_file)^media: file_data file_id file_url filename detail @marked
part(input_audio)^media: input_audio:audio
part(computer_screenshot)^media: image_url file_id
audio: data format
tool(function): @function
tool(custom): @function format*
tool(namespace): name description tools:tool
tool(local_shell computer):
tool(apply_patch): allowed_callers
tool(computer_use computer_use_preview): display_height display_width environment:environment
tool(tool_search)^tool: description execution parameters*
tool(web_search web_search_preview)^tool: external_web_access filters* search_context_size user_location:location search_content_types
tool(file_search)^tool: vector_store_ids filters* max_num_results ranking_options*
tool(code_interpreter)^tool: container:environment allowed_callers
tool(shell)^tool: environment:environment allowed_callers
tool(mcp)^tool: server_label server_url server_description connector_id tunnel_id authorization headers* allowed_tools* require_approval*
  defer_loading allowed_callers
tool(programmatic_tool_calling)^tool:
tool(image_generation)^tool: model=model svg:svg size quality action background input_fidelity input_image_mask* moderation output_compression
  output_format partial_images complexity frame_count frame_duration_ms
svg: model=model reasoning:reasoning
environment(auto): file_ids memory_limit network_policy*
environment(container_auto): file_ids memory_limit network_policy* skills*
environment(container_reference): container_id
environment(local): skills*
location: type city country region timezone
prompt: id version variables*
id: id
management^again: type compact_threshold
reasoning: effort summary generate_summary context
text: format:format verbosity
format: type name description schema* strict
choice: type name server_label mode tools*
streaming: include_obfuscation
caching: mode ttl comparison_response_id
moderation: model policy*
image: context_compression
programs: cyber
routing: order only ignore sort allow_fallbacks require_parameters data_collection zdr quantizations max_price* enforce_distillable_text
  preferred_min_throughput* preferred_max_latency*
`);
