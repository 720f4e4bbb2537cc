package telemetry

import "example.org/parley/internal/span"

// The names of the GenAI semantic conventions (1.40.0, in development). They are listed here because the conventions
// still change: Parley's output changes only together with this list and docs/observability.md.
const (
	attrOperation       = span.Key("gen_ai.operation.name")
	attrProvider        = span.Key("gen_ai.provider.name")
	attrConversation    = span.Key("gen_ai.conversation.id")
	attrAgentID         = span.Key("gen_ai.agent.id")
	attrAgentName       = span.Key("gen_ai.agent.name")
	attrAgentVersion    = span.Key("gen_ai.agent.version")
	attrRequestModel    = span.Key("gen_ai.request.model")
	attrTemperature     = span.Key("gen_ai.request.temperature")
	attrTopP            = span.Key("gen_ai.request.top_p")
	attrMaxTokens       = span.Key("gen_ai.request.max_tokens")
	attrSeed            = span.Key("gen_ai.request.seed")
	attrFinishReasons   = span.Key("gen_ai.response.finish_reasons")
	attrInputTokens     = span.Key("gen_ai.usage.input_tokens")
	attrOutputTokens    = span.Key("gen_ai.usage.output_tokens")
	attrCacheRead       = span.Key("gen_ai.usage.cache_read.input_tokens")
	attrCacheCreation   = span.Key("gen_ai.usage.cache_creation.input_tokens")
	attrToolName        = span.Key("gen_ai.tool.name")
	attrToolCallID      = span.Key("gen_ai.tool.call.id")
	attrToolType        = span.Key("gen_ai.tool.type")
	attrToolArguments   = span.Key("gen_ai.tool.call.arguments") // with contents only
	attrToolResult      = span.Key("gen_ai.tool.call.result")    // with contents only
	attrSystem          = span.Key("gen_ai.system_instructions") // with contents only
	attrInputMessages   = span.Key("gen_ai.input.messages")      // with contents only
	attrOutputMessages  = span.Key("gen_ai.output.messages")     // with contents only
	attrErrorType       = span.Key("error.type")
	attrHTTPMethod      = span.Key("http.request.method")
	attrHTTPRoute       = span.Key("http.route")
	attrHTTPStatus      = span.Key("http.response.status_code")
	attrWorkspace       = span.Key("parley.workspace.id")
	attrTurn            = span.Key("parley.turn.id")
	attrAttempt         = span.Key("parley.attempt")
	attrOutcome         = span.Key("parley.outcome")
	attrStep            = span.Key("parley.step")
	attrCall            = span.Key("parley.call.id")
	attrReasoningTokens = span.Key("parley.usage.reasoning_tokens")
	attrReasoningEffort = span.Key("parley.request.reasoning_effort")
	attrFirstToken      = span.Key("parley.first_token_seconds")
	attrCost            = span.Key("parley.cost_dollars")
	attrRequestID       = span.Key("parley.request.id")
	attrWait            = span.Key("parley.retry.wait_seconds")
)

// The operations.
const (
	operationAgent = "invoke_agent"
	operationChat  = "chat"
	operationTool  = "execute_tool"
)

// eventRetry is the span event of a repeated call.
const eventRetry = "parley.retry"
