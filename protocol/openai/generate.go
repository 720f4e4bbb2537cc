package openai

import (
	"context"
	"strconv"
	"strings"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/protocol"
)

// prepares reports whether the request only records its input: nothing is generated.
func (r *responseRequest) prepares() bool { return r.Generate != nil && !*r.Generate }

// prepareResponse records the input of a request that generates nothing, so that a later one continues from it. Its
// response has no message of its own: its id names the session and the last message at that time.
func (a *api) prepareResponse(x *protocol.Exchange, p *prepared) (*responding, error) {
	ctx, k := x.R.Context(), keptOf(x.R.Context())
	switch {
	case k == nil:
		return nil, parley.InvalidField("generate", "must be true: false goes over the WebSocket")
	case p.note.Conversation:
		return nil, parley.InvalidField("generate", "must be true in a conversation: add items to it instead")
	case p.before != nil && !over(p.before.status()):
		return nil, &parley.Error{
			Code: parley.CodeConflict, Field: previousMember, Message: "The previous response is " + p.before.status() +
				". Wait until it is over.",
		}
	case p.before != nil && p.before.turn.Status == parley.TurnWaiting:
		return nil, parley.InvalidField(
			"generate",
			"must be true: the previous response waits for outputs of functions",
		)
	}
	var tags []string
	if p.note.Discarded {
		tags = []string{discardedTag}
		a.purgeForgotten(ctx, x.Principal)
	} else if p.before != nil && p.before.note.Discarded {
		tags = []string{} // the fork is stored
	}
	session, err := a.recorded(ctx, p, len(p.Said), tags)
	if err != nil {
		return nil, err
	}
	name := responsePrefix + session.ID.String() + "." + strconv.FormatInt(session.LastSequence, 10)
	r, err := a.preparedResponse(ctx, x.Principal, name)
	if err != nil {
		return nil, err
	}
	r.note, r.settings = p.note, p.Settings
	_, r.metadata, _ = noteOf(&parley.Message{Metadata: p.Note})
	if p.note.Discarded {
		a.purge(ctx, x.Principal, k.keep(name, session.ID))
	}
	return &responding{response: r, api: a, x: x, after: -1, done: map[parley.ID]bool{}}, nil
}

// preparedResponse reads one by its id.
func (a *api) preparedResponse(ctx context.Context, principal parley.Principal, name string) (*response, error) {
	of, at, _ := strings.Cut(name, ".")
	sequence, err := strconv.ParseInt(at, 10, 64)
	if err != nil || sequence < 0 {
		return nil, noResponse(name)
	}
	session, err := a.engine.Session(ctx, principal, idOf(of, responsePrefix))
	if parley.ErrorCode(err) == parley.CodeNotFound || err == nil && sequence > session.LastSequence {
		return nil, noResponse(name)
	}
	if err != nil {
		return nil, err
	}
	r := &response{name: name, anchor: parley.Message{SessionID: session.ID, CreatedAt: session.CreatedAt}}
	r.event, r.note.Discarded = session.LastEvent, isUnstored(&session)
	if sequence > 0 {
		page, err := a.engine.Messages(ctx, principal, session.ID, engine.MessageList{
			Paging: engine.Paging{Limit: 1}, From: sequence,
		})
		if err != nil {
			return nil, err
		}
		if len(page.Data) == 0 || page.Data[0].Sequence != sequence {
			return nil, noResponse(name)
		}
		r.anchor = page.Data[0]
	}
	agent, err := a.engine.Agent(ctx, principal, session.AgentID.String())
	r.note.Model = agent.Slug
	return r, err
}
