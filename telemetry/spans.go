package telemetry

import (
	"context"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"example.org/parley"
	"example.org/parley/observe"
	"example.org/parley/store"
)

// turnKey is the context key of what a turn's spans repeat.
type turnKey struct{}

// turn begins the span of a turn's run. Its parent is the request that posted the trigger, in whatever process.
func (t *traces) turn(ctx context.Context, claim *store.Claim) context.Context {
	if parent := parley.TraceParentOf(claim.Trigger.Metadata); parent != "" {
		ctx = withParent(ctx, parent)
	}
	session := attrConversation.String(claim.Fence.SessionID.String())
	ctx = context.WithValue(ctx, turnKey{}, session)
	ctx, _ = t.tracer.Start(ctx, operationAgent+" "+claim.Agent.Name, trace.WithAttributes(
		attrOperation.String(operationAgent), session,
		attrAgentID.String(claim.Agent.ID.String()), attrAgentName.String(claim.Agent.Name),
		attrAgentVersion.String(strconv.Itoa(claim.Agent.Version)),
		attrWorkspace.String(claim.Fence.WorkspaceID.String()), attrTurn.String(claim.Fence.TurnID.String()),
		attrAttempt.Int(claim.Turn.Attempt),
	))
	return ctx
}

func sessionOf(ctx context.Context) attribute.KeyValue {
	session, _ := ctx.Value(turnKey{}).(attribute.KeyValue)
	return session
}

// turnEnded ends the span. An interruption of a turn is not an error of it.
func (t *traces) turnEnded(ctx context.Context, ended *observe.TurnRun) {
	span := trace.SpanFromContext(ctx)
	span.SetAttributes(attrOutcome.String(string(ended.Outcome)))
	if ended.Outcome == observe.RunFailed {
		failSpan(span, string(classOf(ended.Failure)))
	}
	span.End()
}

// failSpan marks a span as failed. The text is a class, never a provider's or a tool's own words, which may repeat
// contents.
func failSpan(span trace.Span, class string) {
	span.SetAttributes(attrErrorType.String(class))
	span.SetStatus(codes.Error, class)
}

func (t *traces) step(ctx context.Context, step int) context.Context {
	ctx, _ = t.tracer.Start(ctx, "step "+strconv.Itoa(step), trace.WithAttributes(attrStep.Int(step), sessionOf(ctx)))
	return ctx
}

func (t *traces) stepEnded(ctx context.Context, broken error) {
	span := trace.SpanFromContext(ctx)
	if broken != nil {
		failSpan(span, string(parley.ErrorCode(broken)))
	}
	span.End()
}

// call begins the span of one attempt at a model request.
func (t *traces) call(ctx context.Context, begun *observe.CallBegun) context.Context {
	call := begun.Call
	set := []attribute.KeyValue{
		attrOperation.String(
			operationChat,
		),
		attrProvider.String(providerName(call.Provider)),
		attrRequestModel.String(call.Model.Name()),
		sessionOf(ctx),
		attrCall.String(call.ID.String()),
		attrAttempt.Int(call.Attempt),
	}
	p := &call.Parameters
	if p.Temperature != nil {
		set = append(set, attrTemperature.Float64(*p.Temperature))
	}
	if p.TopP != nil {
		set = append(set, attrTopP.Float64(*p.TopP))
	}
	if p.MaxTokens != nil {
		set = append(set, attrMaxTokens.Int(*p.MaxTokens))
	}
	if p.Seed != nil {
		set = append(set, attrSeed.Int64(*p.Seed))
	}
	if p.ReasoningEffort != nil {
		set = append(set, attrReasoningEffort.String(*p.ReasoningEffort))
	}
	if t.contents && begun.Request != nil {
		set = append(set, attrInputMessages.String(inputMessages(begun.Request)))
		if begun.Request.System != "" {
			set = append(set, attrSystem.String(systemInstructions(begun.Request.System)))
		}
	}
	ctx, _ = t.tracer.Start(
		ctx,
		operationChat+" "+call.Model.Name(),
		trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(set...),
	)
	return ctx
}

// providerName returns a provider's name in the conventions; Parley's own name if they do not know it.
func providerName(provider string) string {
	if provider == "dashscope" {
		return "alibaba_cloud"
	}
	return provider
}

func (t *traces) callEnded(ctx context.Context, ended *observe.CallEnded) {
	span := trace.SpanFromContext(ctx)
	defer span.End()
	if ended.Broken != nil {
		failSpan(span, string(parley.ErrorCode(ended.Broken)))
		return
	}
	settled := ended.Settled
	set := append(usageOf(&settled.Usage), attrOutcome.String(string(settled.Outcome)))
	if settled.Finish != "" {
		set = append(set, attrFinishReasons.StringSlice([]string{finishReason(settled.Finish)}))
	}
	if ended.FirstToken > 0 {
		set = append(set, attrFirstToken.Float64(ended.FirstToken.Seconds()))
	}
	if settled.Cost != nil {
		set = append(set, attrCost.Float64(float64(*settled.Cost)/nanodollars))
	}
	if ended.Status != 0 {
		set = append(set, attrHTTPStatus.Int(ended.Status))
	}
	if t.contents {
		set = append(set, attrOutputMessages.String(outputMessages(ended.Answer(), finishReason(settled.Finish))))
	}
	span.SetAttributes(set...)
	if settled.Outcome == parley.CallFailed {
		failSpan(span, string(classOf(settled.Error)))
	}
}

// finishReason returns a reason's name in the conventions.
func finishReason(reason parley.FinishReason) string {
	switch reason {
	case parley.FinishToolCalls:
		return "tool_call"
	case parley.FinishRefusal:
		return "content_filter"
	}
	return string(reason)
}

func usageOf(usage *parley.Usage) []attribute.KeyValue {
	var set []attribute.KeyValue
	for _, counted := range [...]struct {
		key    attribute.Key
		tokens *int64
	}{
		{attrInputTokens, usage.InputTokens}, {attrOutputTokens, usage.OutputTokens},
		{attrCacheRead, usage.CachedTokens},
		{attrCacheCreation, usage.CacheWriteTokens}, {attrReasoningTokens, usage.ReasoningTokens},
	} {
		if counted.tokens != nil {
			set = append(set, counted.key.Int64(*counted.tokens))
		}
	}
	return set
}

func (t *traces) callRetried(ctx context.Context, notice store.RetryNotice) {
	trace.SpanFromContext(ctx).AddEvent(eventRetry, trace.WithAttributes(
		attrErrorType.String(
			string(notice.Class),
		),
		attrAttempt.Int(notice.Attempt),
		attrWait.Float64(notice.Wait.Seconds()),
	))
}

func (t *traces) tool(ctx context.Context, begun *observe.ToolBegun) context.Context {
	set := []attribute.KeyValue{
		attrOperation.String(operationTool), attrToolName.String(begun.Name), attrToolCallID.String(begun.Call.ID),
		attrToolType.String("function"), sessionOf(ctx),
	}
	if t.contents {
		set = append(set, attrToolArguments.String(parley.Clip(string(begun.Call.Arguments), MaxContentBytes)))
	}
	ctx, _ = t.tracer.Start(ctx, operationTool+" "+begun.Name, trace.WithAttributes(set...))
	begun.Call.TraceParent = traceParent(ctx)
	return ctx
}

func (t *traces) toolEnded(ctx context.Context, ended *observe.ToolEnded) {
	span := trace.SpanFromContext(ctx)
	span.SetAttributes(attrOutcome.String(string(ended.Outcome)))
	if t.contents && ended.Result != nil {
		span.SetAttributes(attrToolResult.String(parley.Clip(ended.Result.Plain(), MaxContentBytes)))
	}
	if ended.Outcome != observe.ToolSucceeded {
		failSpan(span, string(ended.Outcome))
	}
	span.End()
}
