package anthropic

import (
	"strconv"
	"strings"

	"example.org/parley"
	"example.org/parley/llm/wire"
	"example.org/parley/model"
)

// Thinking budgets in tokens, by effort. The smallest is the wire's minimum.
const (
	minBudget    = 1024
	lowBudget    = 2048
	mediumBudget = 8192
	highBudget   = 16384
	xhighBudget  = 32768
)

// thinkingPlan says how much a request thinks, and the resulting bound of its answer: on this wire max_tokens includes
// thinking and answer.
type thinkingPlan struct {
	on        bool
	adaptive  bool   // the model decides how much; effort guides it
	budget    int    // tokens, when not adaptive
	effort    string // the wire's effort, when adaptive
	maxTokens int
}

// planThinking turns Think and reasoning_effort into the wire's terms. A request thinks if its effort is set and not
// "none", or if it is told to think. It does not where the wire would refuse it: if max_tokens leaves no room for the
// smallest budget, with models older than thinking, and in the middle of a step that another model began without
// thinking blocks.
func planThinking(request model.Request) thinkingPlan {
	p := request.Parameters
	plan := thinkingPlan{maxTokens: DefaultMaxTokens}
	if p.MaxTokens != nil {
		plan.maxTokens = *p.MaxTokens
	}
	effort := "none"
	if p.ReasoningEffort != nil {
		effort = *p.ReasoningEffort
	}
	if request.Think && effort == "none" {
		effort = "medium"
	}
	name := request.Model.Name()
	if effort == "none" || beforeThinking(name) || begunWithoutThinking(request.Messages) {
		return plan
	}
	plan.budget = map[string]int{"minimal": minBudget, "low": lowBudget, "medium": mediumBudget, "high": highBudget,
		"xhigh": xhighBudget}[effort]
	if adaptive(name) {
		plan.on, plan.adaptive, plan.effort = true, true, effort
		if effort == "minimal" {
			plan.effort = "low" // the wire's minimum
		}
		if p.MaxTokens == nil {
			plan.maxTokens += plan.budget
		}
		return plan
	}
	if p.MaxTokens == nil {
		plan.maxTokens += plan.budget
	} else if plan.budget >= *p.MaxTokens {
		plan.budget = *p.MaxTokens / 2
	}
	if plan.budget < minBudget {
		plan.budget = minBudget
	}
	plan.on = plan.budget < plan.maxTokens
	return plan
}

// append appends the outcome of the plan together with the form of the answer: the wire has both in one member.
func (plan thinkingPlan) append(b []byte, format *parley.ResponseFormat) ([]byte, error) {
	effort := ""
	switch {
	case !plan.on:
	case plan.adaptive:
		b = append(wire.AppendField(b, "thinking"), `{"type":"adaptive","display":"summarized"}`...)
		effort = plan.effort
	default:
		b = append(wire.AppendField(b, "thinking"), `{"type":"enabled","budget_tokens":`...)
		b = append(strconv.AppendInt(b, int64(plan.budget), 10), '}')
	}
	if format != nil && format.Type == parley.FormatJSONObject {
		return nil, parley.InvalidField(
			"response_format", "this provider knows no json_object; give a json_schema",
		)
	}
	schema := format != nil && format.Type == parley.FormatJSONSchema
	if effort == "" && !schema {
		return b, nil
	}
	b = append(wire.AppendField(b, "output_config"), '{')
	if effort != "" {
		b = parley.AppendJSONString(append(b, `"effort":`...), effort)
	}
	if schema {
		if effort != "" {
			b = append(b, ',')
		}
		var err error
		if b, err = wire.AppendFormatSchema(
			append(b, `"format":{"type":"json_schema","schema":`...),
			*format,
		); err != nil {
			return nil, err
		}
		b = append(b, '}')
	}
	return append(b, '}'), nil
}

// beforeThinking reports whether a model belongs to the generations without thinking.
func beforeThinking(name string) bool {
	for _, family := range []string{"claude-2", "claude-instant", "claude-3-opus", "claude-3-sonnet", "claude-3-haiku",
		"claude-3-5"} {
		if strings.HasPrefix(name, family) {
			return true
		}
	}
	return false
}

// adaptive reports whether a model is 4.6 or later, "claude-<family>-<major>-<minor>": those accept effort, and later
// ones no longer a budget.
func adaptive(name string) bool {
	const dates = 100 // a number from here on is a date, not a minor version
	fields := strings.Split(name, "-")
	if len(fields) < 3 || fields[0] != "claude" {
		return false
	}
	major, err := strconv.Atoi(fields[2])
	if err != nil {
		return false
	}
	minor := 0
	if len(fields) > 3 {
		if n, err := strconv.Atoi(fields[3]); err == nil && n < dates {
			minor = n
		}
	}
	return major > 4 && major < dates || major == 4 && minor >= 6
}

// begunWithoutThinking reports whether the step under way, the assistant's calls after the last user message, begins
// without a thinking block, which the wire requires of a request with thinking.
func begunWithoutThinking(messages []model.Message) bool {
	for i := len(messages) - 1; i >= 0; i-- {
		switch messages[i].Role {
		case model.RoleUser:
			return false
		case model.RoleAssistant:
			thought, called := false, false
			for _, part := range messages[i].Parts {
				thought = thought || !called && part.Kind == model.PartReasoning && ownThinking(part.ProviderData)
				called = called || part.Kind == model.PartToolCall
			}
			if called && !thought {
				return true
			}
		}
	}
	return false
}
