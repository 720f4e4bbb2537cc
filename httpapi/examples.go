package httpapi

import (
	"encoding/json"

	"example.org/parley"
	"example.org/parley/setting"
)

// The examples of the document. A test reads each against its schema.
const (
	agentIDExample   = "01976c1e-7a4b-7def-8123-456789abcde1"
	sessionIDExample = "01976c1e-7a4b-7def-8123-456789abcde2"
	messageIDExample = "01976c1e-7a4b-7def-8123-456789abcde3"
	turnIDExample    = "01976c1e-7a4b-7def-8123-456789abcde4"
	requestIDExample = "01976c1e-7a4b-7def-8123-456789abcde5"
	otherIDExample   = "01976c1e-7a4b-7def-8123-456789abcde6"
	timeExample      = "2026-01-31T12:00:00.000Z"
	hashExample      = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

	agentInputExample = `{"name":"Release writer","system_prompt":"You write release notes for {{project.name}}.",` +
		`"model":"sim/echo","temperature":0.3,"tools":["current_time"],"tags":["docs"]}`
	sessionInputExample = `{"agent_id":"release-writer","title":"Version 2","tags":["docs"],"message":{"role":"user",` +
		`"content":{"text":"Draft the notes."}}}`
	searchExample = `{"data":[{"session":{"id":"` + sessionIDExample + `","title":"Version 2","agent_id":"` +
		agentIDExample + `","project_id":null,"status":"completed","archived_at":null},` +
		`"message":{"id":"` + messageIDExample + `","sequence":2,"role":"assistant","author":{"kind":"agent","id":"` +
		agentIDExample + `","name":"Release writer"},"tool_name":"","created_at":"` + timeExample + `"},` +
		`"snippet":{"text":"The release notes are ready.","marks":[[4,11]]},"score":1}],"next":null,"complete":true}`
	treeExample = `{"data":[{"id":"` + sessionIDExample +
		`","parent_session_id":null,"parent_message_id":null,"depth":0,"agent_id":"` + agentIDExample +
		`","agent_slug":"release-writer","kind":"agent","title":"Version 2","status":"completed","wait_reason":null,` +
		`"statistics":{"messages":5,"user_facing":5,"turns":1,"input_tokens":40,"output_tokens":8,"cached_tokens":0,` +
		`"unknown_calls":0,"cost":0.0001,"unpriced_calls":0,"calls":2,"cache_hits":0,"cache_write_tokens":0,` +
		`"saved":0},` +
		`"total":{"sessions":1,"turns":1,"input_tokens":40,"output_tokens":8,"cached_tokens":0,"unknown_calls":0,` +
		`"cost":0.0001,"unpriced_calls":0},"created_at":"` + timeExample + `","updated_at":"` + timeExample +
		`","finished_at":"` + timeExample + `"}],` +
		`"total":{"sessions":1,"turns":1,"input_tokens":40,"output_tokens":8,"cached_tokens":0,"unknown_calls":0,` +
		`"cost":0.0001,"unpriced_calls":0},"truncated":false}`
	teamFields = `"lead_id":"` + agentIDExample + `","slug":"release-writer","name":"Release writer",` +
		`"description":"","owner_id":"` + otherIDExample + `","owner_name":"Ada","member_count":1`
	teamLeadExample = `{` + teamFields + `}`
	teamExample     = `{` + teamFields + `,"members":[{"agent_id":"` + agentIDExample +
		`","slug":"release-writer","name":"Release writer","description":"","lead_id":null,"depth":0,` +
		`"background":{"session_id":"` + sessionIDExample + `","status":"running","wait_reason":null,"turn_id":"` +
		turnIDExample + `","doing":"Draft the notes.",` +
		`"statistics":{"messages":5,"user_facing":5,"turns":1,"input_tokens":40,"output_tokens":8,"cached_tokens":0,` +
		`"unknown_calls":0,"cost":0.0001,"unpriced_calls":0,"calls":2,"cache_hits":0,"cache_write_tokens":0,` +
		`"saved":0},"updated_at":"` + timeExample + `"},"open_delegations":[{"id":"` + requestIDExample +
		`","kind":"task","status":"running","to_agent_id":"` + otherIDExample + `","to_principal_id":null,` +
		`"title":"Look for breaking changes.","deadline_at":"` + timeExample + `","created_at":"` + timeExample +
		`"}],"next_run_at":"` + timeExample + `"}],` +
		`"total":{"sessions":1,"turns":1,"input_tokens":40,"output_tokens":8,"cached_tokens":0,"unknown_calls":0,` +
		`"cost":0.0001,"unpriced_calls":0}}`
	budgetExample = `{"session_id":"` + sessionIDExample + `","agent_id":"` + agentIDExample +
		`","limits":{"max_steps":null,"max_tool_calls":null,"max_tokens":null,"max_cost":null,"max_seconds":null,` +
		`"session_tokens":100000,"session_cost":null,"daily_tokens":null,"daily_cost":null,` +
		`"chain_tokens":null,"chain_cost":null,"requests_per_minute":null},` +
		`"session":{"daily_tokens":null,"daily_cost":null,"tokens":1500,"cost":0.002,"today_tokens":1500,` +
		`"today_cost":0.002,"reserved_tokens":0,"reserved_cost":0,"day_ends_at":"` + timeExample +
		`"},"agent":null,"chain":null}`
	importInputExample = `{"name":"login/chat.json","text":"{\"entries\":[{\"role\":\"user\",\"content\":` +
		`\"Plan it.\",\"timestamp\":\"` + timeExample + `\"}]}","dry_run":true}`
	importedExample = `{"format":"chat.json","dry_run":true,"sessions":[{"outcome":"created","session_id":null,` +
		`"agent_id":"` + agentIDExample + `","title":"Plan it.","messages":1,"left":[]}]}`
	featureArchivedExample = `{"archived":["` + sessionIDExample + `"],"busy":[]}`

	messageExample = `{"id":"` + messageIDExample + `","workspace_id":"` + otherIDExample + `","session_id":"` +
		sessionIDExample + `","log_id":"` + otherIDExample + `","sequence":1,"position":null,"turn_id":"` +
		turnIDExample + `",` +
		`"step":0,"role":"user","status":"completed","author":{"kind":"person","id":"` + otherIDExample +
		`","name":"ada"},"content":{"parts":[{"text":"Hello","type":"text"}],"text":"Hello"},` +
		`"context_note":null,"tool_call_id":null,"tool_name":null,` +
		`"covers_through":null,"internal":false,"steer":false,"model":null,"agent_type":null,"iteration":null,` +
		`"usage":null,"content_hash":"` + hashExample + `","chain_version":2,` +
		`"error":null,"metadata":{},"marks":{"pinned":false,"context_edge":false,"set_aside":false},` +
		`"token_estimate":null,"created_at":"` + timeExample + `","updated_at":"` + timeExample + `"}`
	entryExample = `{"role":"user","turn_id":"` + turnIDExample + `","author":{"kind":"person","id":"` +
		otherIDExample + `","name":"ada"},"model":null,"status":"completed","message":` + messageExample +
		`,"blocks":null,"from_sequence":null,"to_sequence":null}`
	chatMessageExample = `{"id":"` + messageIDExample + `","sequence":1,"turn_id":"` + turnIDExample +
		`","role":"user","author":{"kind":"person","id":"` + otherIDExample +
		`","name":"ada"},"status":"completed","content":"Hello","reasoning":null,"tool_calls":null,` +
		`"tool_call_id":null,"tool_name":null,"error":null,"created_at":"` + timeExample + `"}`
	messageIDRowExample = `{"id":"` + messageIDExample + `","sequence":1,"position":null}`
	versionExample      = `{"message_id":"` + messageIDExample +
		`","n":1,"kind":"text","offset":0,"end":5,"chunks":2,"text":"Hello","created_at":"` + timeExample + `"}`

	grownExample = `{"message_id":"` + messageIDExample + `","session_id":"` + sessionIDExample +
		`","text_end":10,"reasoning_end":0,"due_at":"` + timeExample + `"}`
	outsideExample       = `{"message":` + messageExample + `,"turn":` + turnExample + `,"tool_calls":[]}`
	sessionClientExample = `{"client_id":"window-1","principal":{"kind":"person","id":"` + otherIDExample +
		`","name":"ada"},"seen_at":"` + timeExample + `","expires_at":"` + timeExample + `"}`
	shareExample = `{"session_id":"` + sessionIDExample + `","reader_id":"` + otherIDExample +
		`","workspace_id":"` + otherIDExample + `","shared_by":{"kind":"person","id":"` + otherIDExample +
		`","name":"ada"},"created_at":"` + timeExample + `"}`

	turnExample = `{"id":"` + turnIDExample + `","workspace_id":"` + otherIDExample + `","session_id":"` +
		sessionIDExample + `","trigger_message_id":"` + messageIDExample +
		`","continues_id":null,"status":"completed","wait_reason":null,"attempt":1,"takeovers":0,"step":1,` +
		`"agent_id":"` + agentIDExample +
		`","agent_version":1,"loop_id":null,"iteration":null,"error":null,"usage":{"input_tokens":12,` +
		`"output_tokens":5,"cached_tokens":0,"unknown_calls":0},"cost":0.0001,` +
		`"created_at":"` + timeExample + `","started_at":"` + timeExample + `","finished_at":"` + timeExample + `"}`
	loopExample = `{"id":"` + otherIDExample + `","workspace_id":"` + otherIDExample + `","session_id":"` +
		sessionIDExample + `","prompt":"Fix one failing test.","max":5,"until":{"tool_called":null,` +
		`"text_matches":"(?i)all tests pass","schema":null},"context":{"recent":1},"archive_when_done":false,` +
		`"author":{"kind":"person","id":"` + otherIDExample +
		`","name":"ada"},"state":"running","reason":null,"iteration":2,"turn_id":"` + turnIDExample +
		`","created_at":"` + timeExample + `","finished_at":null}`
	scheduleRunExample = `{"schedule_id":"` + otherIDExample + `","due_at":"` + timeExample +
		`","state":"posted","reason":null,"session_id":"` + sessionIDExample + `","message_id":"` + messageIDExample +
		`","turn_id":"` + turnIDExample + `","created_at":"` + timeExample + `"}`
	scheduleExample = `{"id":"` + otherIDExample + `","workspace_id":"` + otherIDExample + `","agent_id":"` +
		agentIDExample + `","name":"Morning round","cron":"0 9 * * 1-5","every":null,"at":null,` +
		`"time_zone":"Europe/Berlin","jitter":"5m","message":"Look for new issues.","enabled":true,` +
		`"overlap":"skip","missed":"once","deadline":"24h","author":{"kind":"person","id":"` + otherIDExample +
		`","name":"ada"},"next_at":"` + timeExample + `","last_run":` + scheduleRunExample +
		`,"skipped_in_a_row":0,"created_at":"` + timeExample + `","updated_at":"` + timeExample + `"}`
	knowledgeExample = `{"id":"` + otherIDExample + `","workspace_id":"` + otherIDExample + `","agent_id":"` +
		agentIDExample + `","scope":"agent","kind":"preference","text":"Releases are cut on Tuesdays.",` +
		`"confidence":90,"pinned":true,"status":"active","author":{"kind":"agent","id":"` + agentIDExample +
		`","name":"Release writer"},"sources":[{"session_id":"` + sessionIDExample + `","message_id":"` +
		messageIDExample + `","sequence":12,"role":"user"}],"approved_at":null,"approved_by_id":null,` +
		`"supersedes_id":null,"superseded_by_id":null,"created_at":"` + timeExample + `","changed_at":"` +
		timeExample + `","confirmed_at":"` + timeExample + `"}`
	pipelineRunExample = `{"id":"` + otherIDExample + `","workspace_id":"` + otherIDExample + `","project_id":null,` +
		`"agent_id":"` + otherIDExample + `","owner_id":"` + otherIDExample + `","author":{"kind":"person","id":"` +
		otherIDExample + `","name":"ada"},"name":"A book about frost",` +
		`"status":"running","parallel":4,"documents":[{"name":"brief","artifact_id":"` + otherIDExample +
		`","version":2}],"nodes":[{"node":{"name":"outline","agent_id":null,"instructions":"Outline the book.",` +
		`"model":null,` + noParametersExample +
		`,"cite":false,"inputs":[{"document":"brief","node":null,"output":0,"pointer":"","each":false}],` +
		`"outputs":[{"name":"content","kind":"json","title":"Outline","schema":null,"artifact_id":null,` +
		`"base_version":null}]},"status":"completed",` +
		`"opened":true,"instances":[{"status":"completed","attempt":1,"transform_id":"` + otherIDExample +
		`","retry_of":null,"outputs":[{"artifact_id":"` + otherIDExample + `","version":1,"pointer":""}],` +
		`"failure":null,"cost":0.0021}],"failure":null},{"node":{"name":"chapter","agent_id":null,` +
		`"instructions":"Write this chapter.","model":null,` + noParametersExample +
		`,"cite":false,"inputs":[{"document":null,"node":"outline",` +
		`"output":0,"pointer":"/chapters","each":true}],"outputs":[{"name":"content","kind":"markdown",` +
		`"title":"Chapter","schema":null,"artifact_id":null,"base_version":null}]},"status":"pending",` +
		`"opened":false,"instances":[],"failure":null}],` +
		`"cost":0.0021,"cancelled_at":null,"created_at":"` + timeExample + `","updated_at":"` + timeExample +
		`","started_at":"` + timeExample + `","ended_at":null}`
	artifactExample = `{"id":"` + otherIDExample + `","workspace_id":"` + otherIDExample + `","project_id":null,` +
		`"session_id":null,"owner_id":"` + otherIDExample + `","visibility":"private","kind":"markdown",` +
		`"name":"Outline","labels":["novel"],"schema":null,"version":2,"newest_version":2,"content_hash":"` +
		hashExample + `","size":29,"media_type":null,"archived_at":null,"created_at":"` + timeExample +
		`","updated_at":"` + timeExample + `"}`
	artifactVersionExample = `{"artifact_id":"` + otherIDExample + `","workspace_id":"` + otherIDExample +
		`","number":2,"author":{"kind":"agent","id":"` + agentIDExample + `","name":"Release writer"},"session_id":"` +
		sessionIDExample + `","message_id":"` + messageIDExample + `","transform_id":null,"conflict":false,` +
		`"content_hash":"` + hashExample + `","size":29,"media_type":null,"created_at":"` + timeExample +
		`","parent":1,"base":1,"restored_from":null}`
	noParametersExample = `"temperature":null,"top_p":null,"max_tokens":null,"seed":null,"reasoning_effort":null,` +
		`"tool_choice":null,"parallel_tool_calls":null,"response_format":null,"stop":null,"end_user":null,` +
		`"request_metadata":null,"service_tier":null`
	transformExample = `{"id":"` + otherIDExample + `","workspace_id":"` + otherIDExample + `","project_id":null,` +
		`"kind":"generation",` +
		`"definition_id":null,"definition_version":null,"name":"Summary","agent_id":"` + agentIDExample +
		`","instructions":"Sum up the outline in three sentences.","model":null,` + noParametersExample +
		`,"cite":false,"inputs":[{"position":1,"name":"Outline","artifact_id":"` + otherIDExample +
		`","version":2,"pointer":"","purged":false}],"outputs":[{"position":1,"name":"content","kind":"markdown",` +
		`"title":"Summary","schema":null,"artifact_id":"` + otherIDExample + `","creates":true,"base_version":null,` +
		`"version":1,"conflict":false,"sources":[],"purged":false}],"status":"completed","progress":1,"chunks":12,` +
		`"last_chunk_at":"` + timeExample + `","session_id":"` + sessionIDExample + `","turn_id":"` + turnIDExample +
		`","trigger_session_id":null,"trigger_message_id":null,"owner_id":"` + otherIDExample +
		`","created_by_id":"` + otherIDExample + `","retry_of_id":null,"run_id":null,"node":null,"failure":null,` +
		`"created_at":"` + timeExample + `","started_at":"` + timeExample + `","ended_at":"` + timeExample + `"}`
	definitionExample = `{"id":"` + otherIDExample + `","workspace_id":"` + otherIDExample + `","slug":"summary",` +
		`"description":"","name":"Summary","agent_id":"` + agentIDExample +
		`","instructions":"Sum up in three sentences.","model":null,` + noParametersExample +
		`,"cite":false,"outputs":[{"name":"content","kind":"markdown","title":"Summary","schema":null}],` +
		`"status":"active","owner_id":"` + otherIDExample + `","changed_by_id":"` + otherIDExample +
		`","version":1,"created_at":"` + timeExample + `","updated_at":"` + timeExample + `"}`
	refreshExample = `{"artifact_id":"` + otherIDExample + `","nodes":[{"name":"summary","transform_id":"` +
		otherIDExample + `","writes":[{"artifact_id":"` + otherIDExample + `","version":1,"pointer":""}],"after":[],` +
		`"model":"openai/gpt-5.2","input_tokens":812,"cost":{"input":0.001421,"input_cached":0.001421,` +
		`"output_most":0.057344,"output_tokens_most":4096}}],"truncated":false,"input_tokens":812,"input":0.001421,` +
		`"output_most":0.057344}`
	artifactDiffExample = `{"from":1,"to":2,"patch":null,"hunks":[{"from":3,"to":3,"lines":[{"op":"removed",` +
		`"text":"It begins.","parts":null,"open":false},{"op":"added","text":"It began in the rain.","parts":null,` +
		`"open":false}]}],"files":null,"truncated":false}`
	artifactExportExample = `{"artifact_id":"` + otherIDExample + `","project_id":"` + otherIDExample +
		`","version":2,"path":"docs/outline.md","size":29,"content_hash":"` + hashExample + `","created":true}`
	lineageExample = `{"changed":null,"nodes":[{"id":"artifact:` + otherIDExample + `:2","kind":"artifact",` +
		`"artifact_id":"` + otherIDExample + `","transform_id":null,"session_id":null,"message_id":null,` +
		`"call_id":null,"name":"Outline","author":{"kind":"agent","id":"` + agentIDExample +
		`","name":"Release writer"},"stale":false,"purged":false,"created_at":"` + timeExample +
		`","version":2,"status":null},{"id":"message:` + messageIDExample + `","kind":"message","artifact_id":null,` +
		`"transform_id":null,"session_id":"` + sessionIDExample + `","message_id":"` + messageIDExample +
		`","call_id":null,"name":"A novel","author":{"kind":"agent","id":"` + agentIDExample +
		`","name":"Release writer"},"stale":false,"purged":false,"created_at":"` + timeExample +
		`","version":null,"status":"completed"}],"edges":[{"from":"message:` + messageIDExample +
		`","to":"artifact:` + otherIDExample + `:2","kind":"wrote","pointer":null,"range":null}],"truncated":false}`
	cancelExample = `{"turn":` + turnExample + `,"settled":["` + messageIDExample +
		`"],"removed":[],"turns":[],"children":[],"by":"holder"}`

	callFields = `"id":"` + otherIDExample + `","workspace_id":"` + otherIDExample + `","session_id":"` +
		sessionIDExample + `","purpose":null,"turn_id":"` + turnIDExample + `","message_id":"` + messageIDExample +
		`","step":1,"attempt":1,` +
		`"provider":"sim","model":"sim/echo","temperature":0.3,"top_p":null,"max_tokens":null,"seed":null,` +
		`"reasoning_effort":null,"tool_choice":null,"parallel_tool_calls":null,"response_format":null,"stop":null,` +
		`"end_user":null,"request_metadata":null,"service_tier":null,"think":false,"search":false,"system_hash":"` +
		hashExample + `","tools_hash":"` +
		hashExample + `",` +
		`"manifest":{"policy":"all","ranges":[{"from":1,"to":1,"except":null,"reason":"policy","gap":false}],` +
		`"middleware":["redact@3"],"cache_key":null,"cache_ttl":null,"cached_response":false,"turn":null,` +
		`"bounds":null,"dropped":null,"offered":null,"rejected":null,"stubs":null,"knowledge_id":null,` +
		`"knowledge_block":null},` +
		`"request_hash":"` +
		hashExample +
		`","encoder_version":1,` +
		`"usage":{"input_tokens":12,"output_tokens":5,"cached_tokens":0,"cache_write_tokens":null,` +
		`"reasoning_tokens":null},"cache":{"hit":false,"cached_tokens":0,"written_tokens":null,"saved":0},` +
		`"cost":0.0001,"reserved":null,"estimated":false,"estimate":null,"truncated":null,` +
		`"finish_reason":"stop","outcome":"completed","error":null,` +
		`"created_at":"` + timeExample + `","first_token_ms":3,"total_ms":40`
	callExample   = `{` + callFields + `}`
	limitsExample = `{"max_steps":null,"max_tool_calls":null,"max_tokens":null,"max_cost":null,"max_seconds":null,` +
		`"session_tokens":null,"session_cost":null,"daily_tokens":null,"daily_cost":null,"chain_tokens":null,` +
		`"chain_cost":null,"requests_per_minute":null}`
	explainedExample = `"parts":[{"kind":"message","name":null,"sequence":1,"message_id":"` + messageIDExample +
		`","pinned":false,"stubbed":false,"role":"user","reason":"running turn","bytes":5,"tokens":12,"span":` +
		`{"offset":34,"length":5},"cached_tokens":0}],"totals":[{"kind":"message","parts":1,"bytes":5,"tokens":12}],` +
		`"estimated_tokens":12,` +
		`"left_out":[{"fate":"rule","from":1,"to":4,"count":4,"reason":"outside the window (recent(10))",` +
		`"tokens":null}],` +
		`"window":{"context_length":1000000,"max_output":null,"used":12,"share":0.0001}`
	callDetailExample = `{` + callFields +
		`,"system_prompt":"You write release notes.","tools":[],"request":{"model":"echo"},"exact":true,` +
		`"reason":null,` + explainedExample + `,"knowledge":[],"other_attempts":[],"costs":null,"limits":` +
		limitsExample +
		`,"replays":[]}`
	callDiffExample = `{"call_id":"` + otherIDExample + `","session_id":"` + sessionIDExample + `","with_id":"` +
		otherIDExample + `","exact":true,"seconds_past":12.5,"identical":false,"first_difference":{"offset":61,` +
		`"kind":"system","name":null,"sequence":null,"was":"It is 12:00.","is":"It is 12:01."},` +
		`"shared":{"bytes":420,"of_bytes":9200,"tokens":105,"of_tokens":2300,"messages":0},` +
		`"changes":[{"cause":"system_prompt","says":"The system prompt changed from line 1 on.","breaks_prefix":true,` +
		`"lines":[{"line":1,"sign":"-","text":"It is 12:00."},{"line":1,"sign":"+","text":"It is 12:01."}],` +
		`"names":[]}],` +
		`"cache":{"reason":"system_prompt","says":"The system prompt changed.","cached_tokens":0,` +
		`"possible_tokens":105,"possible_with_id":null}}`

	replayExample = `{"call":` + callExample +
		`,"answer":{"text":"Hello!","reasoning":"","refusal":"","tool_calls":[]},"original":` + callExample +
		`,"same_bytes":true,"original_answer":{"text":"Hello.","reasoning":"","refusal":"","tool_calls":[]},` +
		`"same_answer":false}`
	dryRunExample = `{"dry_run":true,"message":` + messageExample + `,"turn":` + turnExample + `,"messages":[` +
		messageExample + `],"calls":[` + callExample + `]}`
	answeredExample = `{"message":` + messageExample + `,"turn":` + turnExample + `,"messages":[` + messageExample +
		`],"next":null}`
	previewExample = `{"session_id":"` + sessionIDExample +
		`","model":"sim/echo","policy":"recent(10)","request":{"model":"echo"},` + explainedExample +
		`,"refused":null,` +
		`"cache":{"with_id":null,"tokens":0,"share":0,"likely":false,"says":"The session has made no call yet, so no ` +
		`cache holds any of it."},"cost":{"input":0.0001,"input_cached":0.0001,"output_most":0.08,` +
		`"output_tokens_most":4096},"change":null,"outlook":{"fate":"rule","share":0.6,"tokens":900,` +
		`"tokens_most":900000,"messages":12,"messages_most":20,"assumed":false,` +
		`"leaving":{"count":1,"tokens":12,"first":[{"message_id":"` + messageIDExample +
		`","sequence":5,"tokens":12}]}}}`

	approvalExample = `{"id":"` + otherIDExample + `","workspace_id":"` + otherIDExample + `","session_id":"` +
		sessionIDExample + `","root_id":"` + sessionIDExample + `","agent_id":"` + agentIDExample + `","turn_id":"` +
		turnIDExample + `",` +
		`"message_id":"` + messageIDExample +
		`","tool_call_id":"call_1","tool_name":"write_file","arguments":{"path":"notes.md","text":"Hello"},` +
		`"fingerprint":"` + hashExample + `","state":"approved","scope":"once","covers":null,` +
		`"decided_by":{"kind":"person","id":"` + otherIDExample + `","name":"Ada"},"comment":null,"created_at":"` +
		timeExample + `","expires_at":"` + timeExample + `","decided_at":"` + timeExample + `","used_at":null,` +
		`"question":null,"answer":null,"reason":"rule","explanation":null,"approvers":1,"missing":0,` +
		`"approved_by":[{"kind":"person","id":"` + otherIDExample + `","name":"Ada","at":"` + timeExample +
		`"}],"requester_ids":[]}`

	delegationExample       = `{` + delegationFields + `}`
	delegationDetailExample = `{` + delegationFields + `,"chain":{"root_id":"` + messageIDExample +
		`","chain_tokens":200000,"chain_cost":null,"tokens":1500,"cost":0.002,"reserved_tokens":0,"reserved_cost":0}}`
	delegationFields = `"id":"` + otherIDExample + `","workspace_id":"` + otherIDExample +
		`","kind":"task","status":"answered","from_agent_id":"` + agentIDExample + `","from_session_id":"` +
		sessionIDExample + `","call_message_id":"` + messageIDExample + `","to_agent_id":"` + otherIDExample +
		`","to_principal_id":null,"to_session_id":"` + otherIDExample + `","parent_id":null,"root_id":"` +
		messageIDExample +
		`","hop":1,"text":"Look for bugs in the parser.","message_id":"` + otherIDExample + `","turn_id":"` +
		turnIDExample + `","answer_message_id":"` + otherIDExample + `","answer_turn_id":"` + turnIDExample +
		`","return_message_id":"` + messageIDExample + `","return_turn_id":"` + turnIDExample +
		`","reason":null,"deadline_at":"` + timeExample + `","created_at":"` + timeExample + `","delivered_at":"` +
		timeExample + `","finished_at":"` + timeExample + `"`

	inboxExample = `{"id":"` + otherIDExample + `","workspace_id":"` + otherIDExample + `","principal_id":"` +
		otherIDExample + `","type":"question","title":"Which port may I use?","summary":"","agent_id":"` +
		agentIDExample +
		`","session_id":"` + sessionIDExample + `","message_id":"` + messageIDExample + `","source_session_id":"` +
		otherIDExample + `","source_message_id":"` + otherIDExample + `","delegation_id":"` + otherIDExample +
		`","approval_id":null,"citations":[],"created_at":"` + timeExample +
		`","read_at":null,"answered_at":null,"closed_at":null}`

	compactionExample = `{"compaction_id":"` + otherIDExample + `","workspace_id":"` + otherIDExample +
		`","session_id":"` + sessionIDExample +
		`","state":"completed","reason":"messages","through":null,"instructions":null,"from":null,"attempt":1,` +
		`"covers_from":1,` +
		`"covers_through":38,"absorbs_id":null,"call_id":"` + otherIDExample + `","message_id":"` + messageIDExample +
		`","error":null,"not_before":null,"rests_until":null,"requested_at":"` + timeExample + `","changed_at":"` +
		timeExample + `","finished_at":"` + timeExample + `","preview":null}`

	projectExample = `{"id":"` + otherIDExample + `","workspace_id":"` + otherIDExample +
		`","path":"/home/ada/site","name":"site","icon":null,"created_at":"` + timeExample + `","last_access_at":"` +
		timeExample + `"}`
	workspaceExample = `{"id":"` + otherIDExample + `","name":"default","visibility":"private","created_at":"` +
		timeExample + `"}`
	directoriesExample = `{"path":"/home/ada","root":"/home/ada","parent":null,"project_id":null,` +
		`"data":[{"name":"site","path":"/home/ada/site","project_id":"` + otherIDExample + `"}],"truncated":false}`
	fileExample = `{"id":"` + otherIDExample + `","workspace_id":"` + otherIDExample + `","owner_id":"` +
		otherIDExample + `","name":"chart.png","media_type":"image/png","size":48213,"sha256":"` + hashExample +
		`","width":640,"height":480,"created_at":"` + timeExample + `"}`
	modelsExample = `{"data":[{"id":"sim/echo","provider":"sim","name":"echo","simulator":true,"known":true,` +
		`"reasoning":false,"caching":false,"cache_hour":false,"tools":true,"vision":false,"search":false,` +
		`"think_tags":false,"context_length":128000,` +
		`"max_output":0,"output":"schema","price":null}],"default":"sim/echo","next":null}`
	warmedExample = `{"agent_id":"` + agentIDExample +
		`","model":"anthropic/claude-sonnet-5","warmed":true,"reason":null,"tokens":3100,` +
		`"usage":{"input_tokens":3204,"output_tokens":1,"cached_tokens":0,"cache_write_tokens":3190,` +
		`"reasoning_tokens":null},"cost":0.008,"cache":{"hit":false,"cached_tokens":0,"written_tokens":3190,` +
		`"saved":-0.0016}}`
	usageExample = `{"group":"day","from":"` + timeExample + `","to":"` + timeExample + `","total":` +
		usageSumExample + `,"data":[` + usageSumExample + `],"next":null}`
	usageSumExample = `{"agent_id":null,"model":null,"session_id":null,"day":"` + timeExample +
		`","name":null,"calls":12,"input_tokens":48000,"output_tokens":2100,"cached_tokens":41000,"unknown_calls":0,` +
		`"cost":0.0412,"unpriced_calls":0,"estimated_calls":0,"estimated_cost":0,"purpose":null,` +
		`"cache_hits":11,"cache_write_tokens":6200,"saved":0.0721}`
	anchorExample = `{"number":12,"hash":"` + hashExample + `"}`
	verifyExample = `{"stage":"records","next":"eyJTdGFnZSI6ImZpbGVzIn0","done":false,"checked":1,` +
		`"findings":[{"stage":"records","where":"session ` + sessionIDExample +
		`","says":"message 3 is missing","do":"compare it with a backup"}],"anchor":` + anchorExample + `}`
	auditExample = `{"id":"` + otherIDExample + `","workspace_id":"` + otherIDExample + `","at":"` + timeExample +
		`","principal_id":"` + otherIDExample + `","principal_name":"ada","action":"getSession","session_id":"` +
		sessionIDExample + `","target_id":null,"request_id":"` + otherIDExample + `"}`
	providersExample = `{"data":[{"name":"openai","configured":false,"key_env":"OPENAI_API_KEY",` +
		`"default_model":"openai/gpt-5-mini","simulator":false,"models":0}],"next":null}`
	toolExample = `{"name":"current_time","description":"Tells the current date and time.",` +
		`"parameters":{"type":"object"},"annotations":{"read_only":true,"idempotent":true,"destructive":false,` +
		`"open_world":false},"source":"builtin","unusable":null,"do":null,"agents":[]}`
	principalExample = `{"id":"` + otherIDExample + `","workspace_id":"` + otherIDExample +
		`","workspace":"default","name":"ada","kind":"person","role":"admin"}`
	whoAmIExample = `{"id":"` + otherIDExample + `","workspace_id":"` + otherIDExample +
		`","workspace":"default","name":"ada","kind":"person","role":"admin","may_choose_directories":true,` +
		`"sign_in_id":null}`
	keyFields = `"id":"` + otherIDExample + `","workspace_id":"` + otherIDExample +
		`","workspace":"default","principal_id":"` + otherIDExample +
		`","name":"ci","role":"member","prefix":"pk_example","requests_per_minute":null,"max_sessions":1000,` +
		`"max_storage":null,"created_at":"` + timeExample + `","revoked_at":null`
	keyExample    = `{` + keyFields + `}`
	signInExample = `{"id":"` + otherIDExample + `","workspace_id":"` + otherIDExample + `","principal_id":"` +
		otherIDExample + `","principal_name":"ada","created_at":"` + timeExample + `","last_used_at":"` + timeExample +
		`","expires_at":"` + timeExample + `"}`
	newKeyExample = `{` + keyFields + `,"key":"pk_example-shown-once"}`

	eventExample = `{"session_id":"` + sessionIDExample + `","sequence":3,"type":"session.started","created_at":"` +
		timeExample + `","data":{"turn_id":"` + turnIDExample + `","attempt":1}}`
)

// agentExample is an agent that sets everything.
func agentExample() string {
	return `{"id":"` + agentIDExample + `","workspace_id":"` + otherIDExample +
		`","slug":"release-writer","name":"Release writer","description":"","runtime":"standard",` + settingsExample(
		setting.Agent,
	) +
		`,"tags":["docs"],"lead_id":null,"brief_to_id":null,"status":"active","owner_id":"` + otherIDExample +
		`","owner_name":"Ada","changed_by_id":"` + otherIDExample + `","version":1,"created_at":"` + timeExample +
		`","updated_at":"` + timeExample + `"}`
}

// sessionExample is a session that sets nothing.
func sessionExample() string {
	return `{"id":"` + sessionIDExample + `","workspace_id":"` + otherIDExample + `","agent_id":"` + agentIDExample +
		`","owner_id":"` + otherIDExample + `","visibility":"private",` +
		`"project_id":null,"parent_session_id":null,"parent_message_id":null,"root_id":"` + sessionIDExample +
		`","depth":0,"log_id":"` + otherIDExample +
		`","forked_through":null,"kind":"agent","mode":"foreground","type":null,"feature":null,"task":null,` +
		`"key":null,"title":"Version 2","instructions":null,"tags":["docs"],"pinned":false,"metadata":{},` +
		settingsExample(
			0,
		) + `,"during":null,"status":"running","wait_reason":null,` +
		`"statistics":{"messages":1,"user_facing":1,"turns":1,"input_tokens":0,"output_tokens":0,"cached_tokens":0,` +
		`"unknown_calls":0,"cost":0,"unpriced_calls":0,"calls":0,"cache_hits":0,"cache_write_tokens":0,"saved":0},` +
		`"context":{"messages":1,"tokens":6,"cleared_at":null},` +
		`"last_sequence":1,"last_event_sequence":2,"turn_id":"` + turnIDExample +
		`","archived_at":null,"created_at":"` + timeExample + `","updated_at":"` + timeExample + `","started_at":"` +
		timeExample + `","finished_at":null}`
}

// settingsExample returns the settings' fields of an example, with those of a scope set.
func settingsExample(scope setting.Scope) string {
	set := []byte(`{"":0`)
	for _, one := range setting.All(scope) {
		d := one.Describe()
		set = append(set, `,"`+d.Name+`":`+d.Example...)
	}
	var s parley.Settings
	if err := json.Unmarshal(append(set, '}'), &s); err != nil {
		panic(
			"httpapi: the example of a setting is not one: " + err.Error(),
		) // seen by every test that starts the handler
	}
	return string(setting.AppendJSON(nil, &s)[1:])
}
