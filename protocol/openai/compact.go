package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/event"
	"example.org/parley/internal/history"
	"example.org/parley/protocol"
	"example.org/parley/stream"
)

const compactionPrefix = "cmp_" // the last message of what was compacted

// compactionItem stands for a conversation. What it holds is opaque to clients: which message of which session ends it.
type compactionItem struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Encrypted string `json:"encrypted_content"`
}

// compactedResponse is the answer to a request to compact.
type compactedResponse struct {
	ID        string        `json:"id"`
	Object    string        `json:"object"`
	CreatedAt int64         `json:"created_at"`
	Output    []any         `json:"output"`
	Usage     responseUsage `json:"usage"`
}

// compacted reads what a compaction item holds.
func (a *api) compacted(
	ctx context.Context, principal parley.Principal, content string,
) (*parley.Session, *parley.Message, error) {
	session, message, _ := strings.Cut(content, ".")
	of, _ := parley.ParseID(session) // zero if it is none
	last, _ := parley.ParseID(message)
	s, err := a.engine.Session(ctx, principal, of)
	var m parley.Message
	if err == nil {
		m, err = a.engine.Message(ctx, principal, last)
	}
	if parley.ErrorCode(err) == parley.CodeNotFound {
		return nil, nil, parley.Errorf(parley.CodeNotFound, "The compacted conversation was not found.")
	}
	return &s, &m, err
}

// compact summarises a conversation, and answers with an item that stands for it. The conversation stays: a response
// that begins with the item goes on with the session, whose model then sees the summary.
func (a *api) compact(x *protocol.Exchange) error {
	end, err := x.Room()
	if err != nil {
		return err
	}
	defer end()
	ctx, stop := context.WithTimeout(x.R.Context(), history.MaxWait)
	defer stop()
	p, err := a.prepareInput(x)
	if err != nil {
		return err
	}
	session, err := a.recorded(ctx, p, len(p.Said), nil)
	if err != nil {
		return err
	}
	x.W.Header().Set(SessionHeader, session.ID.String())
	usage, err := a.summarise(ctx, x, session.ID, session.LastSequence, session.LastEvent)
	if err != nil {
		return err
	}
	page, err := a.engine.Messages(ctx, x.Principal, session.ID, engine.MessageList{
		Paging: engine.Paging{Limit: maxItems}, Roles: []parley.Role{parley.RoleUser},
	})
	if err != nil {
		return err
	}
	last, err := a.engine.Messages(ctx, x.Principal, session.ID, engine.MessageList{
		Paging: engine.Paging{Limit: 1}, From: session.LastSequence,
	})
	if err != nil {
		return err
	}
	if len(last.Data) == 0 {
		return parley.InvalidField("input", "has nothing to compact")
	}
	o := compactedResponse{
		ID: responsePrefix + parley.NewID().String(), Object: "response.compaction", CreatedAt: time.Now().Unix(),
		Output: []any{}, Usage: usage,
	}
	for i := range page.Data {
		items, err := itemsOf(&page.Data[i])
		if err != nil {
			return err
		}
		o.Output = append(o.Output, items...)
	}
	id := last.Data[0].ID.String()
	o.Output = append(o.Output, compactionItem{
		compactionPrefix + id, "compaction", session.ID.String() + "." + id,
	})
	return send(x, o)
}

// prepareInput reads a request whose input is not answered: it may have none, and may end with an answer.
func (a *api) prepareInput(x *protocol.Exchange) (*prepared, error) {
	r := &responseRequest{}
	if err := decodeBody(x.Body, r, responseMembers, "a response"); err != nil {
		return nil, err
	}
	err := r.refuse()
	if err == nil && given(r.Input) {
		r.said, r.inserted, err = readInput(r.Input, history.MaxRecorded)
	}
	if err == nil {
		r.conversation, err = conversationOf(r.Conversation)
	}
	if err == nil {
		err = r.uncompact()
	}
	switch {
	case err != nil:
		return nil, err
	case r.Model == "":
		return nil, parley.InvalidField("model", "is missing: name an agent, or provider/model")
	case len(r.said) > history.MaxRecorded:
		return nil, parley.InvalidField("input", "at most %d items", history.MaxRecorded)
	case len(r.said) == 0 && r.Previous == "" && r.compacted == "" && r.conversation == "":
		return nil, parley.InvalidField("input", "is missing")
	}
	p, err := a.prepare(x, r)
	if err == nil && p.before != nil && !over(p.before.status()) {
		err = &parley.Error{
			Code: parley.CodeConflict, Field: previousMember, Message: "The previous response is " + p.before.status() +
				". Retrieve it until it is over, or cancel it.",
		}
	}
	return p, err
}

// recorded returns a session that holds what a request goes on with and the first messages of its input: a new one, or
// a fork, unless nothing is added to one that exists.
func (a *api) recorded(ctx context.Context, p *prepared, first int, tags []string) (*parley.Session, error) {
	session, at := p.session, p.after
	if p.before != nil {
		at = p.before.last()
	}
	principal := p.X.Principal
	switch {
	case session == nil || session.LastSequence == 0:
		opened, err := a.engine.OpenSession(ctx, principal, engine.SessionInput{
			AgentID: p.own.ID.String(), Tags: tags,
		}, a.book.Once(p.Request))
		if err != nil {
			return nil, err
		}
		session = &opened.Session
	case first > 0 || tags != nil || at != nil && at.Sequence != session.LastSequence:
		fork := engine.ForkInput{}
		if at != nil {
			fork.At = at.ID
		}
		opened, err := a.engine.Fork(ctx, principal, session.ID, fork, a.book.Once(p.Request))
		if err != nil {
			return nil, err
		}
		session = &opened.Session
		if tags != nil {
			patch := engine.SessionPatch{}
			patch.Tags.Set, patch.Tags.Value = true, tags
			if _, err := a.engine.UpdateSession(ctx, principal, session.ID, patch); err != nil {
				return nil, err
			}
		}
	}
	for i := range first {
		if err := a.book.Record(ctx, p.Request, session.ID, i, 0); err != nil {
			return nil, err
		}
	}
	s, err := a.engine.Session(ctx, principal, session.ID)
	return &s, err
}

// summarise has a session summarised, and waits for it. Where there is nothing to summarise, nothing happens.
func (a *api) summarise(
	ctx context.Context, x *protocol.Exchange, session parley.ID, through, event int64,
) (usage responseUsage, err error) {
	watch, err := a.streams.Open(ctx, x.Principal, stream.Request{
		Sessions: []stream.Place{{SessionID: session, After: event}}, Flush: history.MaxWait,
	})
	if err != nil {
		return usage, err
	}
	defer watch.Close()
	asked, err := a.engine.CompactSession(ctx, x.Principal, session, engine.CompactInput{Through: through})
	if parley.ErrorCode(err) == parley.CodeConflict {
		return usage, nil
	}
	for err == nil {
		var frame stream.Frame
		if frame, err = watch.Next(ctx); err != nil || frame.Kind != stream.EventFrame {
			continue
		}
		call, over, wrong := compactionEnd(&frame.Event, asked.ID)
		if wrong != nil || over {
			if !call.IsZero() {
				usage = a.usageOfCall(ctx, x, call)
			}
			return usage, wrong
		}
	}
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		err = parley.Errorf(parley.CodeUnavailable, "The summary takes longer than a request may wait. It goes on; "+
			"ask again later.")
	}
	return usage, err
}

// compactionEnd reads whether an event ends a compaction, by which call.
func compactionEnd(e *parley.Event, id parley.ID) (call parley.ID, over bool, err error) {
	switch e.Type {
	case parley.EventCompactionCompleted:
		done, err := event.Read[event.CompactionCompleted](e)
		return done.CallID, done.CompactionID == id, err
	case parley.EventCompactionFailed:
		var failed event.CompactionFailed
		if err = json.Unmarshal(e.Data, &failed); err == nil && failed.CompactionID == id && !failed.Again {
			err = parley.Errorf(parley.CodeUnavailable, "No summary was written: %s", failed.Error.Sentence)
		}
	}
	return call, false, err
}

func (a *api) usageOfCall(ctx context.Context, x *protocol.Exchange, id parley.ID) (usage responseUsage) {
	detail, err := a.engine.Call(ctx, x.Principal, id)
	if err == nil {
		usage.Input = parley.ValueOf(detail.Usage.InputTokens)
		usage.InputDetails.Cached = parley.ValueOf(detail.Usage.CachedTokens)
		usage.Output = parley.ValueOf(detail.Usage.OutputTokens)
		usage.Total = usage.Input + usage.Output
	}
	return usage
}

// inputTokens is the answer to a request to count.
type inputTokens struct {
	Object string `json:"object"`
	Tokens int    `json:"input_tokens"`
}

// countTokens estimates the request that a response would send, by the path that the response would take: in a session
// that is purged at once.
func (a *api) countTokens(x *protocol.Exchange) error {
	ctx := x.R.Context()
	p, err := a.prepareInput(x)
	if err != nil {
		return err
	}
	last := len(p.Said) - 1
	if last < 0 || p.Said[last].Role != "user" {
		return parley.InvalidField("input", "must end with a message of the user to be counted")
	}
	a.purgeForgotten(ctx, x.Principal)
	session, err := a.recorded(ctx, p, last, []string{discardedTag})
	if err != nil {
		return err
	}
	defer func() { // also when the client is gone; see purgeForgotten
		_ = a.engine.DeleteSession(context.WithoutCancel(ctx), x.Principal, session.ID)
	}()
	input, err := a.book.LastInput(ctx, p.Request)
	if err != nil {
		return err
	}
	preview, err := a.engine.Preview(ctx, x.Principal, session.ID, engine.PreviewInput{MessageInput: input})
	if err != nil {
		return err
	}
	return send(x, inputTokens{"response.input_tokens", preview.EstimatedTokens})
}
