package sqlite_test

import (
	"encoding/json"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// everyScript returns scripts plus those of an outside agent.
func everyScript() map[string][]move {
	completed := &store.TurnEnd{Status: parley.TurnCompleted}
	opened := simple("open", func(a *actor) error {
		m := a.say("")
		m.Role, m.Streaming, m.Timeout, m.Model = parley.RoleAssistant, true, time.Hour, "outside/one"
		return a.post(m, parley.ID{})
	})
	grows := func(kind parley.ContentKind, offset int, text string) move {
		return simple("append "+text, func(a *actor) error {
			return ok(
				a.store.AppendOutside(
					a.ctx,
					a.scope,
					a.posted.ID,
					store.OutsideAppend{Kind: kind, Offset: offset, Text: text},
				),
			)
		})
	}
	all := scripts()
	all["outside"] = []move{
		create(),
		beginStep(1, false),
		settle("finish", false, completed),
		opened,
		grows(parley.KindReasoning, 0, "hm"),
		grows(
			parley.KindText,
			0,
			"half",
		),
		grows(parley.KindText, 4, " and half"),
		simple("settle", func(a *actor) error {
			n := int64(7)
			call := a.say("")
			call.Role, call.TurnID, call.ToolCallID, call.ToolName, call.Content = parley.RoleToolCall, parley.ID{},
				"c", "look", json.RawMessage(
					`{"arguments":{},"id":"c","name":"look"}`,
				)
			return ok(
				a.store.SettleOutside(
					a.ctx,
					a.scope,
					a.posted.ID,
					store.OutsideSettle{
						Status: parley.MessageCompleted,
						Usage:  &parley.Usage{InputTokens: &n},
						Calls:  []store.NewMessage{call},
					},
				),
			)
		}),
		opened,
		grows(parley.KindText, 0, "more"),
		simple("cancel", func(a *actor) error {
			return ok(a.store.RequestCancel(a.ctx, a.scope, a.session, parley.ID{}, false))
		}),
	}
	all["outside, deleted"] = []move{
		create(),
		beginStep(1, false),
		settle("finish", false, completed),
		opened,
		grows(parley.KindText, 0, "half"),
		simple("delete", func(a *actor) error { return a.store.DeleteSession(a.ctx, a.scope, a.session) }),
	}
	return all
}
