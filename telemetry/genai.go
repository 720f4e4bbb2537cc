package telemetry

import "go.opentelemetry.io/otel/attribute"

// The names of the GenAI semantic conventions (1.40.0, in development). They are listed here because the conventions
// still change: Parley's output changes only together with this list and docs/observability.md.
const (
	attrOperation       = attribute.Key("gen_ai.operation.name")
	attrProvider        = attribute.Key("gen_ai.provider.name")
	attrConversation    = attribute.Key("gen_ai.conversation.id")
	attrAgentID         = attribute.Key("gen_ai.agent.id")
	attrAgentName       = attribute.Key("gen_ai.agent.name")
	attrAgentVersion    = attribute.Key("gen_ai.agent.version")
	attrRequestModel    = attribute.Key("gen_ai.request.model")
	attrTemperature     = attribute.Key("gen_ai.request.temperature")
	attrTopP            = attribute.Key("gen_ai.request.top_p")
	attrMaxTokens       = attribute.Key("gen_ai.request.max_tokens")
	attrSeed            = attribute.Key("gen_ai.request.seed")
	attrFinishReasons   = attribute.Key("gen_ai.response.finish_reasons")
	attrInputTokens     = attribute.Key("gen_ai.usage.input_tokens")
	attrOutputTokens    = attribute.Key("gen_ai.usage.output_tokens")
	attrCacheRead       = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	attrCacheCreation   = attribute.Key("gen_ai.usage.cache_creation.input_tokens")
	attrToolName        = attribute.Key("gen_ai.tool.name")
	attrToolCallID      = attribute.Key("gen_ai.tool.call.id")
	attrToolType        = attribute.Key("gen_ai.tool.type")
	attrToolArguments   = attribute.Key("gen_ai.tool.call.arguments") // with contents only
	attrToolResult      = attribute.Key("gen_ai.tool.call.result")    // with contents only
	attrSystem          = attribute.Key("gen_ai.system_instructions") // with contents only
	attrInputMessages   = attribute.Key("gen_ai.input.messages")      // with contents only
	attrOutputMessages  = attribute.Key("gen_ai.output.messages")     // with contents only
	attrErrorType       = attribute.Key("error.type")
	attrHTTPMethod      = attribute.Key("http.request.method")
	attrHTTPRoute       = attribute.Key("http.route")
	attrHTTPStatus      = attribute.Key("http.response.status_code")
	attrWorkspace       = attribute.Key("parley.workspace.id")
	attrTurn            = attribute.Key("parley.turn.id")
	attrAttempt         = attribute.Key("parley.attempt")
	attrOutcome         = attribute.Key("parley.outcome")
	attrStep            = attribute.Key("parley.step")
	attrCall            = attribute.Key("parley.call.id")
	attrReasoningTokens = attribute.Key("parley.usage.reasoning_tokens")
	attrReasoningEffort = attribute.Key("parley.request.reasoning_effort")
	attrFirstToken      = attribute.Key("parley.first_token_seconds")
	attrCost            = attribute.Key("parley.cost_dollars")
	attrRequestID       = attribute.Key("parley.request.id")
	attrWait            = attribute.Key("parley.retry.wait_seconds")
)

// The operations.
const (
	operationAgent = "invoke_agent"
	operationChat  = "chat"
	operationTool  = "execute_tool"
)

// eventRetry is the span event of a repeated call.
const eventRetry = "parley.retry"
